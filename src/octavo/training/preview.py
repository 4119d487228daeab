"""`octavo plan`: what a study will take, before anything is trained."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from octavo.artifacts import Folder
from octavo.expand import Run
from octavo.lanes.base import BaseModel
from octavo.models.load import load_model, skeleton
from octavo.models.resolve import BaseSource
from octavo.objectives.objective import make_objective
from octavo.progress import Progress
from octavo.settings import Base
from octavo.study import Study
from octavo.training.compiler import settle_compiler
from octavo.training.data import Encoder, load_rows
from octavo.training.device import describe, pick_device, pick_dtype
from octavo.training.limits import device_limit, held, memory_limit
from octavo.training.memory import PeakMeter, settle_allocator
from octavo.training.opening import open_pack
from octavo.training.plan import Plan
from octavo.training.planning import plan_pack
from octavo.training.replica_plan import plan_replica
from octavo.training.replicas import is_replica
from octavo.training.shorter import Rows
from octavo.training.tasks import make_task, trainable_parameters


@dataclass(frozen=True)
class Preview:
    """One base's plan with what a table wants to say of it.

    Attributes:
        base, model: the study's name and the model's. runs: their ids. method: "lanes" or "replicas".
        trained: trainable numbers of each run, smallest and largest. tokens: of all runs' training, all epochs.
        device: kind, name and threads. free_bytes: what the device could give.
    """

    base: str
    model: str
    method: str
    runs: list[str]
    trained: tuple[int, int]
    tokens: int
    device: dict[str, Any]
    free_bytes: int
    plan: Plan

    def to_json(self) -> dict[str, Any]:
        """As `octavo plan --json` prints it."""
        return {**{key: value for key, value in vars(self).items() if key != "plan"}, **self.plan.to_json()}


def preview(
    study: Study,
    sources: dict[str, BaseSource],
    encoders: dict[str, Any],
    progress: Progress,
    folder: Folder | None = None,
    probe: bool = False,
) -> list[Preview]:
    """Plans of all bases of a study; nothing is written.

    Arguments:
        folder: a study folder whose data is taken where it is there; else the datasets are made for the occasion.
        probe: load the bases, measure two steps, correct the plan and predict the time.

    Raises:
        InputError: a study that does not fit, targets that match nothing, data that cannot be made.
    """
    settle_allocator(len(study.expand()))
    if folder is not None and all((folder.data(v.name) / "train.jsonl").exists() for v in study.variants):
        return _of_bases(study, folder, sources, encoders, progress, probe)
    from octavo.corpus.stage import build_datasets

    with tempfile.TemporaryDirectory() as place:
        progress.message("the datasets are made for their lengths only; nothing of them is kept")
        build_datasets(study, Folder(place), encoders, progress)
        return _of_bases(study, Folder(Path(place)), sources, encoders, progress, probe)


def _of_bases(
    study: Study,
    folder: Folder,
    sources: dict[str, BaseSource],
    encoders: dict[str, Encoder],
    progress: Progress,
    probe: bool,
) -> list[Preview]:
    found = []
    for base in study.bases:
        chosen = [run for run in study.expand() if run.base == base.name]
        fused = [run for run in chosen if not is_replica(study, run)]
        alone = [run for run in chosen if is_replica(study, run)]
        for runs, method in ((fused, "lanes"), (alone, "replicas")):
            if runs:
                rows = load_rows(runs, folder, encoders[base.name])
                found.append(_of_base(study, base, runs, rows, sources[base.name], progress, method, probe))
    return found


def _of_base(
    study: Study,
    base: Base,
    runs: Sequence[Run],
    rows: Rows,
    source: BaseSource,
    progress: Progress,
    method: str,
    probe: bool,
) -> Preview:
    device = pick_device()
    dtype = pick_dtype(base.dtype, device)
    limit, free = memory_limit(study.lanes.memory, device), device_limit(device) - held(device)
    shape = skeleton(source)
    tasks = [make_task(run, *rows[run.id], shape, make_objective(base, source, run.train)) for run in runs]
    if method == "replicas":
        plan = plan_replica(study, tasks, shape, dtype, limit, device.type, progress.message)
    elif probe:
        plan = _probed(study, runs, rows, source, base, limit, progress)
    else:
        plan = plan_pack(study, tasks, shape, dtype, limit, device.type)
    trained = [trainable_parameters(task, shape) for task in tasks]
    return Preview(
        base=base.name,
        model=base.model,
        method=method,
        runs=[run.id for run in runs],
        trained=(min(trained), max(trained)),
        tokens=sum(task.feed.total_tokens()[0] for task in tasks),
        device=describe(device),
        free_bytes=free,
        plan=plan,
    )


class _Nobody:
    """A recorder for a trainer that never trains."""

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"nothing is recorded while a study is planned, asked for {name}")


def _probed(
    study: Study,
    runs: Sequence[Run],
    rows: Rows,
    source: BaseSource,
    base: Base,
    limit: int,
    progress: Progress,
) -> Plan:
    device = pick_device()
    settle_compiler([source], device)
    meter = PeakMeter(device)
    model = BaseModel(load_model(source, pick_dtype(base.dtype, device)).to(device))
    nobody: Any = _Nobody()
    plan, trainer, _ = open_pack(
        study,
        runs,
        rows,
        model,
        limit,
        meter,
        None,
        lambda _: nobody,
        progress.message,
        objective=lambda run: make_objective(base, source, run.train),
    )
    trainer.close()
    model.close()
    return plan
