"""Training all weights of one model: the loop, records and checkpoints of a run without adapters."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from safetensors.torch import load_file, save_file
from torch import Tensor, isfinite

from octavo.artifacts import replacing
from octavo.lanes.adapters import AdapterBank
from octavo.lanes.optimizer import LaneOptimizer
from octavo.lanes.pack import Sample
from octavo.lanes.peft_io import Matrices
from octavo.lanes.trace import Fault
from octavo.models.resolve import BaseSource
from octavo.training.checkpoint import Checkpoints
from octavo.training.export_model import export_model, withdraw_model
from octavo.training.full_weights import FullBank, FullModel, FullOptimizer
from octavo.training.loop import LaneState, PackTrainer, Recorder
from octavo.training.recorder import LAST_GOOD, FileRecorder
from octavo.training.tasks import Task
from octavo.training.watch import Watch, WatchPlan


class FullTrainer(PackTrainer):
    """The loop of `PackTrainer` over all weights of a model; one run, the same windows, guard and records.

    Arguments:
        base: the run's own copy of the model.
        bank: its weights.
        task, micro_step_tokens, recorder, after_window, vitals: as `PackTrainer` takes them.
    """

    def __init__(
        self,
        base: FullModel,
        bank: FullBank,
        task: Task,
        micro_step_tokens: int,
        recorder: Recorder,
        after_window: Callable[[PackTrainer], None] | None = None,
        vitals: WatchPlan | None = None,
    ) -> None:
        self.weights = bank
        super().__init__(base, [task], 1, micro_step_tokens, recorder, after_window, vitals)

    def make_bank(self, lanes: int) -> AdapterBank:  # noqa: ARG002 - a model has one set of weights
        """The weights."""
        return self.weights

    def make_optimizer(self) -> LaneOptimizer:
        """AdamW on all of them."""
        return FullOptimizer(self.weights)

    def make_watch(self, vitals: WatchPlan) -> Watch:
        """What reads the vitals of a model without adapters."""
        return Watch(vitals, self.base, self.bank, self.optimizer, whole=True, objective=self.objective)

    def find_fault(self, lane: int, samples: Sequence[Sample]) -> Fault:
        """Find the first tensor that is not finite: a parameter, an activation, the loss or a gradient."""
        for name, value in self.weights.values().items():
            if not bool(isfinite(value).all()):
                return Fault("parameter", f"parameter {name}")
        fault = super().find_fault(lane, samples)
        if fault.kind != "not found":
            return fault
        for name, grad in self.weights.gradients().items():
            if not bool(isfinite(grad).all()):
                return Fault("gradient", f"gradient of {name}")
        return fault


class ReplicaRecorder(FileRecorder):
    """The records of a run that has a model of its own."""

    def place(self, lane: int) -> str:  # noqa: ARG002 - there is one
        """Where the run trains."""
        return "a model of its own"


class FullRecorder(ReplicaRecorder):
    """Exports a model folder instead of an adapter.

    Arguments:
        source: the base that the run began with.
        bank: the weights.
    """

    def __init__(self, *arguments: Any, source: BaseSource, bank: FullBank) -> None:
        super().__init__(*arguments)
        self.source, self.weights = source, bank

    def _withdraw(self, run_id: str) -> None:
        super()._withdraw(run_id)
        withdraw_model(self.folder.model(run_id))

    def quarantined(self, task: Task, state: LaneState, evidence: str, snapshot: Matrices | None) -> None:  # noqa: ARG002
        """Keep the last good weights beside the checkpoints if they are finite; nothing is exported."""
        if not self.weights.nonfinite():
            write_large(self.folder.checkpoints(task.run.id) / LAST_GOOD, self.weights.values())
        super().quarantined(task, state, evidence, None)

    def export(self, task: Task, matrices: Matrices) -> None:  # noqa: ARG002 - there are none
        """Write runs/<run>/model."""
        place = self.folder.model(task.run.id)
        export_model(place, self.model, self.weights.values(), self.source, task, self.base.model, self.study)


class FullCheckpoints(Checkpoints):
    """Checkpoints of three times the model's size: written from and read into memory with no copy beside it."""

    def write_tensors(self, path: Path, tensors: Mapping[str, Tensor]) -> str:
        """Write the file; returns its SHA-256."""
        return write_large(path, tensors)

    def read_tensors(self, path: Path, digest: str) -> dict[str, Tensor]:
        """The file's tensors, mapped; raises ValueError where it is not what was written."""
        if _digest(path) != digest:
            raise ValueError(f"{path.relative_to(self.folder.out)} is not what was written")
        return load_file(path)


def write_large(path: Path, tensors: Mapping[str, Tensor]) -> str:
    """Write tensors whole or not at all, straight from where they lie; returns the file's SHA-256."""
    with replacing(path) as temporary:
        save_file({name: tensor.cpu() for name, tensor in tensors.items()}, temporary)
        return _digest(temporary)


def _digest(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
