"""A tiny base, two adapters with something to say, and a study folder that they are runs of."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from peft import LoraConfig, get_peft_model

from octavo.artifacts import Folder
from octavo.models.load import load_model
from octavo.models.quiet import quiet
from octavo.models.resolve import BaseSource
from octavo.study import Study
from tests.training.studies import load_study, settings, write_corpus


def write_adapter(
    base: BaseSource, folder: Path, seed: int, names_base: bool = True, size: float = 0.3
) -> Path:
    """A random adapter, large enough to change what is said, written by `peft` itself."""
    with quiet():
        model = load_model(base, torch.float32)
        config = LoraConfig(
            task_type="CAUSAL_LM", r=4, lora_alpha=8, target_modules=["q_proj", "v_proj", "up_proj"]
        )
        adapted = get_peft_model(model, config)
        torch.manual_seed(seed)
        for name, weight in adapted.named_parameters():
            if "lora_" in name:
                weight.data.normal_().mul_(size)
        adapted.save_pretrained(folder)
    config_file = folder / "adapter_config.json"
    written = json.loads(config_file.read_text(encoding="utf-8"))
    written["base_model_name_or_path"] = str(base.folder) if names_base else None
    config_file.write_text(json.dumps(written), encoding="utf-8")
    return folder


@pytest.fixture(scope="session")
def adapters(tiny: BaseSource, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    root = tmp_path_factory.mktemp("adapters")
    return [write_adapter(tiny, root / name, seed) for seed, name in enumerate(("one", "two"))]


@pytest.fixture(scope="session")
def trained(tiny: BaseSource, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a study of two runs, one of which has been exported."""
    root = tmp_path_factory.mktemp("trained")
    study: Study = load_study(
        root / "study.yaml", settings(tiny.folder, write_corpus(root / "c.jsonl"), seeds=[0])
    )
    folder = Folder(root / "out")
    folder.out.mkdir()
    study.freeze(folder.study)
    write_adapter(tiny, folder.adapter(study.expand()[0].id), 7)
    return folder.out
