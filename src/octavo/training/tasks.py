"""What the loop needs to know of one run, made once from the study's settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from torch import nn

from octavo.expand import Run
from octavo.lanes.adapters import AdapterSpec, count_parameters
from octavo.lanes.base import BaseModel
from octavo.lanes.optimizer import OptimizerSpec
from octavo.lanes.targets import features_of, resolve_targets
from octavo.objectives.causal import CAUSAL
from octavo.objectives.objective import Objective
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

    @property
    def longest(self) -> int:
        """Tokens of the longest sample that it will read."""
        rows = [*self.feed.rows, *self.heldout]
        return max(len(self.feed.objective.outline(row, 0).ids) for row in rows)

    def learning_rate(self, step: int) -> float:
        """Of the step with this number, counted from 0."""
        train = self.run.train
        return train.learning_rate * factor(train.schedule, step, self.total_steps)


def make_task(
    run: Run,
    rows: Sequence[Tokens],
    heldout: Sequence[Tokens],
    model: nn.Module,
    objective: Objective = CAUSAL,
) -> Task:
    """Resolve a run's settings against the model.

    Arguments:
        objective: of the run, from `octavo.objectives.objective.make_objective`.

    Raises:
        InputError: train.lora.targets matches no layer.
    """
    train = run.train
    # whoever trains all weights has no adapter; train.lora is not looked at
    targets = resolve_targets(model, train.lora.targets) if train.method == "lora" else []
    return Task(
        run=run,
        feed=Feed(rows, run.seed, train.batch_size, train.accumulation, train.epochs, train.steps, objective),
        heldout=heldout,
        adapter=AdapterSpec(
            rank=train.lora.rank,
            alpha=train.lora.alpha,
            dropout=train.lora.dropout if train.method == "lora" else 0.0,
            targets=tuple(targets),
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


def trainable_parameters(task: Task, model: BaseModel | nn.Module) -> int:
    """Exact count of a run's trainable numbers; tied ones count once."""
    inner = model.model if isinstance(model, BaseModel) else model
    if task.run.train.method == "full":
        return sum(p.numel() for p in inner.parameters())
    layers = [(n, *features_of(inner.get_submodule(n))) for n in task.adapter.targets]
    return count_parameters(layers, task.adapter.rank)


def wide_ranks(tasks: Sequence[Task], model: BaseModel | nn.Module) -> list[str]:
    """What to say of ranks above the smaller side of a layer: they add parameters and no freedom."""
    inner = model.model if isinstance(model, BaseModel) else model
    notes: dict[tuple[int, str], str] = {}
    for task in tasks:
        for name in task.adapter.targets:
            smaller, kind = min(features_of(inner.get_submodule(name))), name.rsplit(".", 1)[-1]
            if task.adapter.rank > smaller:
                notes[task.adapter.rank, kind] = (
                    f"train.lora.rank {task.adapter.rank} is above the {smaller} features of {kind}: a rank of "
                    f"{smaller} can express the same"
                )
    return list(notes.values())


def tell_parameters(parameters: Mapping[str, int]) -> str:
    """How many numbers a run trains, for people.

    Arguments:
        parameters: by run.
    """
    counts = sorted(set(parameters.values()))
    text = f"{counts[0]:,}" if len(counts) == 1 else f"{counts[0]:,} to {counts[-1]:,}"
    return f"trainable parameters a run: {text}"
