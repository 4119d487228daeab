"""The plain way to train one adapter: PEFT, torch's AdamW, transformers' schedules; causal models in padded batches."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.optim.lr_scheduler import LRScheduler

from octavo.lanes.peft_io import Matrices
from octavo.training.data import Tokens
from octavo.training.tasks import Task
from octavo.verification.masked_reference import masked_losses


def train_reference(model: Any, task: Task, start: Matrices) -> Matrices:
    """Train a task without any of our lanes; only its data order and draws are ours.

    Arguments:
        model: the frozen model with its own attention; it is copied.
        start: the matrices to begin with.

    Returns:
        {layer: (A, B)} after the task's steps.
    """
    with warnings.catch_warnings():
        # peft asks transformers for gradient checkpointing by a name that will go
        warnings.simplefilter("ignore", FutureWarning)
        adapted = adapt(copy.deepcopy(model), task, start).train()
    layers = dict(adapted.base_model.model.named_modules())
    a = [layers[name].lora_A.default.weight for name in task.adapter.targets]
    b = [layers[name].lora_B.default.weight for name in task.adapter.targets]
    optimizer = _optimizer(a, b, task)
    scheduler = _scheduler(optimizer, task)
    for step in range(task.total_steps):
        optimizer.zero_grad()
        for part in _losses[task.feed.objective.name](adapted, task, step):
            part.backward()
        if task.optimizer.max_grad_norm is not None:
            torch.nn.utils.clip_grad_norm_([*a, *b], task.optimizer.max_grad_norm)
        optimizer.step()
        scheduler.step()
    return {
        name: (layers[name].lora_A.default.weight.detach(), layers[name].lora_B.default.weight.detach())
        for name in task.adapter.targets
    }


def _causal_losses(model: Any, task: Task, step: int) -> Iterator[Tensor]:
    """The parts that a step's loss is the sum of, one a micro-batch."""
    batches = [[task.feed.rows[i] for i in batch] for batch in task.feed.batches(step)]
    targets = sum(row.targets for batch in batches for row in batch)
    for batch in batches:
        yield _summed_loss(model, batch).div(targets)


_losses: dict[str, Callable[[Any, Task, int], Iterator[Tensor]]] = {
    "causal": _causal_losses,
    "masked_diffusion": masked_losses,
}


def adapt(model: Any, task: Task, start: Matrices) -> Any:
    """The model with the task's adapter put on by PEFT, in place, no dropout; its matrices are those of `start`."""
    import peft

    config = peft.LoraConfig(
        r=task.adapter.rank,
        lora_alpha=task.adapter.alpha,  # type: ignore[arg-type]
        lora_dropout=0.0,
        target_modules=list(task.adapter.targets),
        use_rslora=task.adapter.rank_scaling == "sqrt",
    )
    adapted: Any = peft.get_peft_model(model, config)
    layers: dict[str, Any] = dict(adapted.base_model.model.named_modules())
    for name, (a, b) in start.items():
        layers[name].lora_A.default.weight.data.copy_(a)
        layers[name].lora_B.default.weight.data.copy_(b)
    return adapted


def _optimizer(a: list[Tensor], b: list[Tensor], task: Task) -> torch.optim.Optimizer:
    rate, spec = task.run.train.learning_rate, task.optimizer
    groups = [{"params": a, "lr": rate}, {"params": b, "lr": rate * spec.ratio_b}]
    return torch.optim.AdamW(groups, betas=spec.betas, eps=spec.eps, weight_decay=spec.weight_decay)


def _scheduler(optimizer: torch.optim.Optimizer, task: Task) -> LRScheduler:
    from transformers import optimization as hf

    schedule, total = task.run.train.schedule, task.total_steps
    warmup = schedule.warmup_steps
    if schedule.kind == "constant":
        return hf.get_constant_schedule_with_warmup(optimizer, warmup)
    if schedule.kind == "linear":
        return hf.get_linear_schedule_with_warmup(optimizer, warmup, total)
    if schedule.kind == "cosine":
        return hf.get_cosine_schedule_with_warmup(optimizer, warmup, total)
    return hf.get_wsd_schedule(
        optimizer,
        num_warmup_steps=warmup,
        num_decay_steps=int(schedule.decay_steps or 0),
        num_training_steps=total,
        decay_type=schedule.decay,
        min_lr_ratio=schedule.floor,
    )


def _summed_loss(model: Any, batch: Sequence[Tokens]) -> Tensor:
    """Cross-entropy summed over the targets of a right-padded batch with an attention mask."""
    longest = max(len(row.ids) for row in batch)
    ids = torch.tensor([[*row.ids, *[0] * (longest - len(row.ids))] for row in batch])
    mask = torch.tensor([[1] * len(row.ids) + [0] * (longest - len(row.ids)) for row in batch])
    is_label = torch.tensor([[*row.labels, *[False] * (longest - len(row.ids))] for row in batch])
    logits = model(input_ids=ids, attention_mask=mask).logits[:, :-1]
    return F.cross_entropy(logits[is_label[:, 1:]].float(), ids[:, 1:][is_label[:, 1:]], reduction="sum")
