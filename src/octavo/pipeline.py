"""The stages of a study, one function each, and all of them in a row.

Each stage reads only what the stage before it has written, so each can be run again alone.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from octavo.artifacts import Folder, write_json_atomic
from octavo.errors import InputError
from octavo.progress import Progress, Silent
from octavo.study import Study
from octavo.study_folder import claim, study_lock

if TYPE_CHECKING:
    from octavo.models.resolve import BaseSource
    from octavo.training.loop import PackTrainer
    from octavo.training.preview import Preview

Out = str | os.PathLike[str]


def run(
    study: Study,
    out: Out,
    progress: Progress | None = None,
    after_window: Callable[[PackTrainer], None] | None = None,
    opened: Callable[[PackTrainer], None] | None = None,
) -> dict[str, Any]:
    """Data, training, evaluation, results and report of a study; goes on where an earlier call was stopped.

    Returns:
        the content of results.json.

    Raises:
        InputError: the study, its data or the output folder is wrong.
        MachineError: the disk is full or a file cannot be had.
    """
    from octavo.evaluation.chosen import check_suites

    check_suites(study)
    study.refuse_missing()
    with _opened(study, out, progress) as work:
        work.data()
        work.train(after_window, opened)
        work.evaluate()
        return work.report()


def stage_data(study: Study, out: Out, progress: Progress | None = None) -> dict[str, Any]:
    """Write data/<variant>/{train,heldout}.jsonl and quality.json of every variant; returns the cards by variant."""
    from octavo.corpus.stage import read_card

    study.refuse_missing()
    with _opened(study, out, progress) as work:
        work.data()
        return {variant.name: read_card(work.folder, variant.name) for variant in study.variants}


def stage_train(
    study: Study,
    out: Out,
    progress: Progress | None = None,
    after_window: Callable[[PackTrainer], None] | None = None,
    opened: Callable[[PackTrainer], None] | None = None,
) -> None:
    """Train all runs that have not ended; needs the data stage."""
    with _opened(study, out, progress) as work:
        work.train(after_window, opened)


def stage_evaluate(study: Study, out: Out, progress: Progress | None = None) -> None:
    """Score the completed runs and the bases; needs the training stage."""
    with _opened(study, out, progress) as work:
        work.evaluate()


def stage_report(study: Study, out: Out, progress: Progress | None = None) -> dict[str, Any]:
    """Gather results.json and draw report.html from what is there."""
    with _opened(study, out, progress) as work:
        return work.report()


def stage_plan(
    study: Study, out: Out | None = None, progress: Progress | None = None, probe: bool = False
) -> list[Preview]:
    """What the study will take: a plan a base. Needs no study folder and writes nothing.

    Arguments:
        out: a study folder, for its data; without it the datasets are made for the occasion.
        probe: measure two steps on the loaded bases, which corrects the memory and predicts the time.
    """
    from octavo.training.preview import preview

    with progress or Silent() as shown:
        for note in study.notes:
            shown.message(note)
        if out is None:
            study.refuse_missing()
        work = _Work(study, Folder(out or "."), shown)
        folder = None if out is None else work.folder
        return preview(study, work.sources(), work.encoders(), shown, folder, probe)


@contextmanager
def _opened(study: Study, out: Out, progress: Progress | None) -> Iterator[_Work]:
    """The study folder, locked for this process and claimed for this study."""
    folder = Folder(out)
    with study_lock(folder):
        _sweep(folder)
        claim(folder, study)
        with progress or Silent() as shown:
            for note in study.notes:
                shown.message(note)
            yield _Work(study, folder, shown)


def _sweep(folder: Folder) -> None:
    """Delete the half-written temporary files of a killed process; under the lock nobody is writing."""
    for path in folder.out.rglob(".*.????????.tmp"):
        path.unlink(missing_ok=True)


class _Work:
    """One process at work on one study folder."""

    def __init__(self, study: Study, folder: Folder, progress: Progress) -> None:
        self.study, self.folder, self.progress = study, folder, progress
        self._sources: dict[str, BaseSource] = {}

    def sources(self) -> dict[str, BaseSource]:
        """Every base of the study as a local folder."""
        from octavo.models.resolve import resolve_base

        for base in self.study.bases:
            if base.name not in self._sources:
                self._sources[base.name] = resolve_base(base, self.study.directory)
        return self._sources

    def encoders(self) -> dict[str, Any]:
        """An encoder for every base."""
        from octavo.corpus.encode import Encoder
        from octavo.models.load import load_tokenizer

        found = {}
        for base in self.study.bases:
            tokenizer = load_tokenizer(self.sources()[base.name])
            found[base.name] = Encoder(tokenizer, None, base.eos, base.pad)
        return found

    def data(self) -> None:
        from octavo.corpus.stage import build_datasets

        self.progress.stage("data")
        encoders = self.encoders()
        for name, encoder in encoders.items():
            if encoder.has_template:
                self.progress.message(
                    f"{name}: a turn ends with {encoder.end_of_turn}, which is learned and stops generation"
                )
            for note in encoder.notes:
                self.progress.message(f"{name}: {note}")
        build_datasets(self.study, self.folder, encoders, self.progress)

    def train(
        self,
        after_window: Callable[[PackTrainer], None] | None,
        opened: Callable[[PackTrainer], None] | None = None,
    ) -> None:
        from octavo.training.stage import train

        train(self.study, self.folder, self.sources(), self.encoders(), self.progress, after_window, opened)

    def evaluate(self) -> None:
        from octavo.evaluation.stage import evaluate

        evaluate(self.study, self.folder, self.sources(), self.encoders(), self.progress)

    def report(self) -> dict[str, Any]:
        from octavo.report import write_report
        from octavo.results import collect
        from octavo.training.device import describe, pick_device

        if not any(path.exists() for path in (self.folder.ledger, self.folder.out / "data")):
            raise InputError(f"{self.folder.out}: nothing has been made here yet; run `octavo run` first")
        self.progress.stage("report")
        results = collect(self.study, self.folder, describe(pick_device()))
        write_json_atomic(self.folder.results, results)
        path: Path = write_report(self.folder)
        self.progress.message(f"report: {path}")
        return results
