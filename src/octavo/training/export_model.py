"""A trained model as a folder that plain `transformers` loads, with its tokenizer and a card."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torch import Tensor

from octavo.artifacts import sync_folder, write_json_atomic
from octavo.models.load import load_tokenizer
from octavo.models.quiet import quiet
from octavo.models.resolve import BaseSource
from octavo.training.card import FACTS, card_facts
from octavo.training.tasks import Task

_CARD = (
    """---
library_name: transformers
base_model: {base}
tags: [octavo]
---
# {run}

`{base}` with all its weights trained, by Octavo as one run of the study `{study}`.

"""
    + FACTS
    + """| trainable parameters | {parameters:,} |
| type of the weights | float32 |

## Loading

```python
from transformers import AutoModelForCausalLM, AutoTokenizer

model = AutoModelForCausalLM.from_pretrained("PATH OF THIS FOLDER")
tokenizer = AutoTokenizer.from_pretrained("PATH OF THIS FOLDER")
```
"""
)


def export_model(
    place: Path,
    model: Any,
    values: Mapping[str, Tensor],
    source: BaseSource,
    task: Task,
    base: str,
    study: str,
) -> None:
    """Write a model folder; it has its name only when it is whole and on the disk.

    Arguments:
        model: the transformers model, for its config and the names of its weights.
        values: {parameter: float32 numbers}, tied ones once.
        source: of the base, for the tokenizer.
        base: the model that the study names, for the card.
    """
    withdraw_model(place)
    temporary = _unfinished(place)
    temporary.mkdir(parents=True)
    state = {name: value.cpu() for name, value in values.items()}
    with quiet():
        model.save_pretrained(temporary, state_dict=state)
        load_tokenizer(source).save_pretrained(temporary)
    config = temporary / "config.json"
    # the products may have been in another type; the numbers in the file are what counts
    write_json_atomic(config, json.loads(config.read_text(encoding="utf-8")) | {"dtype": "float32"})
    parameters = sum(value.numel() for value in values.values())
    card = _CARD.format(**card_facts(task, base, study, parameters))
    (temporary / "README.md").write_text(card, encoding="utf-8")
    for path in temporary.rglob("*"):
        if path.is_file():
            _sync(path)
    sync_folder(temporary)
    temporary.rename(place)
    sync_folder(place.parent)


def withdraw_model(place: Path) -> None:
    """Take away a model folder and what a killed process left of one."""
    for folder in (place, _unfinished(place)):
        if folder.exists():
            shutil.rmtree(folder)


def _unfinished(place: Path) -> Path:
    return place.with_name(f".{place.name}.unfinished")


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
