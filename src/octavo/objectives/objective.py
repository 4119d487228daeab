"""What an objective is to the loop, and how one is made from a study's settings.

A new objective is a new file here with a function `make`, and its name in `Base.objective`.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

from octavo.lanes.base import BaseModel
from octavo.lanes.pack import Sample
from octavo.lanes.scoring import score_all

if TYPE_CHECKING:
    from octavo.models.resolve import BaseSource
    from octavo.settings import Base, Train


class Row(Protocol):
    """A tokenised example.

    Attributes:
        id: of the example: variants of one example share it.
        ids, labels: tokens, and which of them are learned. targets: how many can be predicted.
        units: for each token the number of the symbol that it is part of, -1 for none; None: not looked for.
    """

    @property
    def id(self) -> str: ...  # noqa: D102

    @property
    def ids(self) -> Sequence[int]: ...  # noqa: D102

    @property
    def labels(self) -> Sequence[bool]: ...  # noqa: D102

    @property
    def targets(self) -> int: ...  # noqa: D102

    @property
    def units(self) -> Sequence[int] | None: ...  # noqa: D102


# the examples of a micro-batch with their places in the data
Batch = Sequence[tuple[int, Row]]


class Objective(Protocol):
    """Turns examples into samples.

    Attributes:
        name: as the study file spells it.
        bound: are its held-out losses upper bounds of the negative log-likelihood, and not that itself?
        writes: can a model that has learned it write answers, by this version?
        said: the objective with what belongs to it, for model cards.
    """

    @property
    def name(self) -> str: ...  # noqa: D102

    @property
    def bound(self) -> bool: ...  # noqa: D102

    @property
    def writes(self) -> bool: ...  # noqa: D102

    @property
    def said(self) -> str: ...  # noqa: D102

    def window(self, batches: Sequence[Batch], seed: int, step: int, lane: int) -> list[list[Sample]]:
        """The samples of one optimizer step, weighted so that their losses add up to the step's loss.

        A function of its arguments alone, so that a resumed run and another cut draw the same.

        Arguments:
            seed: of the run. step: counted from 0.
        """
        ...

    def outline(self, row: Row, lane: int, key: int = 0) -> Sample:
        """The sample of a row that takes the most: all that may be a target is one. For memory plans."""
        ...

    def heldout(self, row: Row, lane: int) -> list[Sample]:
        """What is scored of a held-out row, the same for every run and step; the sum is the row's loss in nats."""
        ...

    def glance(self, row: Row, lane: int) -> Sample:
        """One reading of a row, the same for every run and step, weighted so that its losses add up to the row's."""
        ...


def make_objective(base: Base, source: BaseSource, train: Train) -> Objective:
    """The objective of a run.

    Arguments:
        base: its section of the study. source: the base as it was resolved, with its mask token.
        train: the run's settings.
    """
    module = importlib.import_module(f"octavo.objectives.{base.objective}")
    return module.make(base, source, train)


def score_rows(
    base: BaseModel,
    pairs: Sequence[tuple[Objective, int, Row]],
    token_budget: int,
    progress: Callable[[int], None] | None = None,
    halved: Callable[[int], None] | None = None,
) -> list[float]:
    """Held-out loss of rows in nats, summed over their targets, in the caller's order.

    Arguments:
        pairs: (objective, lane, row) each.
        token_budget, halved: as `score_all` takes them. progress: called with the rows that are done.

    Raises:
        MachineError: one sample alone does not fit.
    """
    samples: list[Sample] = []
    ends = []
    for objective, lane, row in pairs:
        samples += objective.heldout(row, lane)
        ends.append(len(samples))

    def told(done: int) -> None:
        if progress is not None:
            progress(sum(end <= done for end in ends))

    losses, _ = score_all(base, samples, token_budget, told, halved)
    return [sum(losses[start:end]) for start, end in zip([0, *ends], ends, strict=False)]
