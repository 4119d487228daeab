"""What the loop needs to know of one run, made once from the study's settings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from torch import nn

from octavo.expand import Run
from octavo.lanes.adapters import AdapterSpec, count_parameters
from octavo.lanes.base import BaseModel
from octavo.lanes.optimizer import OptimizerSpec
from octavo.lanes.targets import features_of, resolve_targets
from octavo.training.data import Feed, Tokens
from octavo.training.schedules import factor


@dataclass(frozen=True)
class Task:
    """A run ready for a lane.

    Attributes:
        run: id, variant, seed and settings.
        feed: its training examples in order.
        heldout: its own held-out examples.
        adapter, optimizer: its shape and its step.
    """

    run: Run
    feed: Feed
    heldout: Sequence[Tokens]
    adapter: AdapterSpec
    optimizer: OptimizerSpec

    @property
    def total_steps(self) -> int:
        """Optimizer steps until the run ends."""
        return self.feed.total_steps

    def learning_rate(self, step: int) -> float:
        """Of the step with this number, counted from 0."""
        train = self.run.train
        return train.learning_rate * factor(train.schedule, step, self.total_steps)


def make_task(run: Run, rows: Sequence[Tokens], heldout: Sequence[Tokens], model: nn.Module) -> Task:
    """Resolve a run's settings against the model.

    Raises:
        InputError: train.lora.targets matches no layer.
    """
    train = run.train
    return Task(
        run=run,
        feed=Feed(rows, run.seed, train.batch_size, train.accumulation, train.epochs, train.steps),
        heldout=heldout,
        adapter=AdapterSpec(
            rank=train.lora.rank,
            alpha=train.lora.alpha,
            dropout=train.lora.dropout,
            targets=tuple(resolve_targets(model, train.lora.targets)),
            rank_scaling=train.lora.rank_scaling,
        ),
        optimizer=OptimizerSpec(
            betas=(train.betas[0], train.betas[1]),
            eps=train.eps,
            weight_decay=train.weight_decay,
            max_grad_norm=train.max_grad_norm,
            ratio_b=train.learning_rate_ratio_b,
        ),
    )


def trainable_parameters(task: Task, model: BaseModel) -> int:
    """Exact count of a run's trainable numbers."""
    layers = [(n, *features_of(model.model.get_submodule(n))) for n in task.adapter.targets]
    return count_parameters(layers, task.adapter.rank)
