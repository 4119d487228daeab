"""The model card that lies beside an exported adapter."""

from __future__ import annotations

from octavo.training.tasks import Task

# the first rows of every card, of adapter or whole model
FACTS = """| | |
| --- | --- |
| variant | {variant} |
| seed | {seed} |
| examples | {examples} |
| optimizer steps | {steps} |
| learning rate | {learning_rate:g}, {schedule}, {warmup} warm-up steps |
| batch | {batch} sequences x {accumulation} |
| objective | {objective} |
"""

_TEXT = (
    """---
library_name: peft
base_model: {base}
tags: [lora, octavo]
---
# {run}

A LoRA adapter for `{base}`, trained by Octavo as one run of the study `{study}`.

"""
    + FACTS
    + """| rank, alpha, dropout | {rank}, {alpha:g}, {dropout:g} |
| layers | {layers} |
| trainable parameters | {parameters:,} |

## Loading

```python
from peft import PeftModel
from transformers import AutoModelForCausalLM

base = AutoModelForCausalLM.from_pretrained("FOLDER")  # `octavo base {base}` prints the folder
model = PeftModel.from_pretrained(base, "PATH OF THIS FOLDER")
```
"""
)


def model_card(task: Task, base: str, study: str, parameters: int) -> str:
    """README.md of an adapter folder; `base` is the model that the study names, `parameters` the trainable count."""
    layers = sorted({name.rsplit(".", 1)[-1] for name in task.adapter.targets})
    return _TEXT.format(
        **card_facts(task, base, study, parameters),
        rank=task.adapter.rank,
        alpha=task.adapter.alpha,
        dropout=task.adapter.dropout,
        layers=", ".join(layers),
    )


def card_facts(task: Task, base: str, study: str, parameters: int) -> dict[str, object]:
    """What every model card tells of a run, adapter or whole model."""
    train = task.run.train
    return {
        "run": task.run.id,
        "base": base,
        "study": study,
        "variant": task.run.variant,
        "seed": task.run.seed,
        "examples": len(task.feed.rows),
        "steps": task.total_steps,
        "learning_rate": train.learning_rate,
        "schedule": train.schedule.kind,
        "warmup": train.schedule.warmup_steps,
        "batch": train.batch_size,
        "accumulation": train.accumulation,
        "parameters": parameters,
        "objective": task.feed.objective.said,
    }
