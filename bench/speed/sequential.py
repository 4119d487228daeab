"""One run after the other, as they are trained without Octavo: transformers' Trainer, and TRL's SFTTrainer.

Both get the examples of a run in its own order, the same initial matrices, optimizer, schedule and clipping; nothing is
logged, evaluated or saved. Only `train()` counts, from its first batch to its last step.
"""

from __future__ import annotations

import tempfile
import time
import warnings
from collections.abc import Sequence
from typing import Any

import torch

from octavo.lanes.peft_io import Matrices
from octavo.training.tasks import Task
from octavo.verification.reference import adapt

IGNORED = -100  # transformers: a label that is no target


class Peft:
    """`transformers.Trainer` and PEFT, padded batches.

    Arguments:
        model: the base in the dtype of the arm. starts: initial matrices of each run.
        autocast: products in bfloat16 by autocast.
    """

    def __init__(
        self,
        model: Any,
        tasks: Sequence[Task],
        starts: dict[str, Matrices],
        tokenizer: Any,
        autocast: bool = False,
    ) -> None:
        self.model, self.tasks, self.starts, self.tokenizer = model, tasks, starts, tokenizer
        self.autocast = autocast

    def run(self) -> tuple[float, dict[str, Matrices]]:
        """Train all runs; seconds of training and what they ended with."""
        import transformers

        seconds, ended = 0.0, {}
        with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
            # peft asks transformers for gradient checkpointing by a name that will go
            warnings.simplefilter("ignore", FutureWarning)
            for task in self.tasks:
                adapted = adapt(self.model, task, self.starts[task.run.id])
                clock = Clock()
                trainer = self._trainer(adapted, task, folder, clock.callback())
                trainer.remove_callback(transformers.PrinterCallback)
                trainer.train()
                seconds += clock.seconds
                ended[task.run.id] = read(adapted, task)
                adapted.unload()
                self.model.__dict__.pop(
                    "forward", None
                )  # wrapped by TRL: its next trainer would wrap the wrapper
        return seconds, ended

    def _trainer(self, adapted: Any, task: Task, folder: str, callback: Any) -> Any:
        import transformers

        arguments: Any = transformers.TrainingArguments
        return transformers.Trainer(
            model=adapted,
            args=arguments(**common_arguments(task, folder), bf16=self.autocast),
            train_dataset=examples(task),
            data_collator=Padded(self.tokenizer.pad_token_id or 0),
            callbacks=[callback],
        )


class Trl(Peft):
    """TRL's SFTTrainer and PEFT, padded or padding-free.

    Arguments:
        padding_free: concatenate the examples of a batch.
    """

    padding_free = False

    def _trainer(self, adapted: Any, task: Task, folder: str, callback: Any) -> Any:
        import datasets
        import trl

        rows = examples(task)
        config: Any = trl.SFTConfig
        return trl.SFTTrainer(
            model=adapted,
            args=config(
                **common_arguments(task, folder),
                bf16=self.autocast,
                gradient_checkpointing=False,
                max_length=None,
                padding_free=self.padding_free,
                dataset_kwargs={"skip_prepare_dataset": True},
            ),
            train_dataset=datasets.Dataset.from_list(rows),
            processing_class=self.tokenizer,
            callbacks=[callback],
        )


class TrlPaddingFree(Trl):
    """TRL's SFTTrainer, padding-free."""

    padding_free = True


def common_arguments(task: Task, folder: str) -> dict[str, Any]:
    """The settings of a run as TrainingArguments has them."""
    train = task.run.train
    return {
        "output_dir": folder,
        "per_device_train_batch_size": train.batch_size,
        "gradient_accumulation_steps": train.accumulation,
        "max_steps": task.total_steps,
        "learning_rate": train.learning_rate,
        "lr_scheduler_type": train.schedule.kind,
        "warmup_steps": train.schedule.warmup_steps,
        "weight_decay": train.weight_decay,
        "adam_beta1": train.betas[0],
        "adam_beta2": train.betas[1],
        "adam_epsilon": train.eps,
        "max_grad_norm": 0.0 if train.max_grad_norm is None else train.max_grad_norm,
        "train_sampling_strategy": "sequential",
        "dataloader_num_workers": 0,
        "dataloader_pin_memory": False,
        "use_cpu": not torch.cuda.is_available(),
        "report_to": "none",
        "save_strategy": "no",
        "logging_strategy": "no",
        "disable_tqdm": True,
        "log_level": "error",
        "seed": task.run.seed,
    }


def examples(task: Task) -> list[dict[str, list[int]]]:
    """The examples of all steps in the order of the run."""
    order = [i for step in range(task.total_steps) for batch in task.feed.batches(step) for i in batch]
    found = []
    for row in (task.feed.rows[i] for i in order):
        labels = [token if target else IGNORED for token, target in zip(row.ids, row.labels, strict=True)]
        found.append({"input_ids": list(row.ids), "labels": labels})
    return found


class Padded:
    """Makes right-padded batches with an attention mask."""

    def __init__(self, pad: int) -> None:
        self.pad = pad

    def __call__(self, rows: list[dict[str, list[int]]]) -> dict[str, torch.Tensor]:
        """A batch of examples."""
        longest = max(len(row["input_ids"]) for row in rows)

        def filled(values: list[list[int]], filler: int) -> torch.Tensor:
            return torch.tensor([v + [filler] * (longest - len(v)) for v in values])

        ids = [row["input_ids"] for row in rows]
        return {
            "input_ids": filled(ids, self.pad),
            "attention_mask": filled([[1] * len(row) for row in ids], 0),
            "labels": filled([row["labels"] for row in rows], IGNORED),
        }


class Clock:
    """Wall time between the first batch and the last step of a trainer."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.began = 0.0

    def callback(self) -> Any:
        """A callback that sets `seconds`."""
        from transformers import TrainerCallback

        clock = self

        class Watch(TrainerCallback):
            def on_train_begin(self, *_: Any, **__: Any) -> None:
                clock.began = time.perf_counter()

            def on_train_end(self, *_: Any, **__: Any) -> None:
                synchronise()
                clock.seconds = time.perf_counter() - clock.began

        return Watch()


def synchronise() -> None:
    """Wait for the GPU, where there is one."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def read(adapted: Any, task: Task) -> Matrices:
    """Copies of the trained matrices."""
    layers = dict(adapted.base_model.model.named_modules())
    return {
        name: (
            layers[name].lora_A.default.weight.detach().float().cpu().clone(),
            layers[name].lora_B.default.weight.detach().float().cpu().clone(),
        )
        for name in task.adapter.targets
    }
