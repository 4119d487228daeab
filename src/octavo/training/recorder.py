"""Writes what the loop tells: metrics and event lines, exported adapters, ledger and screen."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from safetensors.torch import save

from octavo.artifacts import (
    Folder,
    append_jsonl,
    json_safe,
    read_jsonl,
    write_bytes_atomic,
    write_text_atomic,
)
from octavo.lanes.peft_io import CONFIG, WEIGHTS, Matrices, adapter_files
from octavo.ledger import Ledger
from octavo.progress import Progress
from octavo.settings import Base
from octavo.training.card import model_card
from octavo.training.loop import LaneState
from octavo.training.tasks import Task
from octavo.yaml_text import dump_yaml

# a worker that has said nothing for so long is taken to be gone
LEASE_SECONDS = 900
# the adapter of a quarantined run as its last finite step left it, beside its checkpoints
LAST_GOOD = "last-good.safetensors"
# events of many runs at once, which the stage says in one line
_SAID_ELSEWHERE = ("resumed", "out_of_memory")
# a verdict that changes nothing: in the files and the report, not on the screen
_WRITTEN_ONLY = ("verdict",)


class FileRecorder:
    """The recorder of a study folder.

    Arguments:
        model: the frozen model, for the names of layers in exported adapters.
        parameters: trainable parameters of each run.
    """

    def __init__(
        self,
        folder: Folder,
        ledger: Ledger,
        base: Base,
        study: str,
        model: Any,
        parameters: Mapping[str, int],
        progress: Progress,
    ) -> None:
        self.folder, self.ledger, self.base, self.study = folder, ledger, base, study
        self.model, self.parameters, self.progress = model, parameters, progress

    def admitted(self, task: Task, lane: int) -> None:
        """Write run.yaml, begin the run's files and take the lease."""
        run = task.run
        self._withdraw(run.id)
        for path in (self.folder.metrics(run.id), self.folder.events(run.id)):
            write_text_atomic(path, "")
        text = dump_yaml(
            {
                "id": run.id,
                "variant": run.variant,
                "base": run.base,
                "seed": run.seed,
                "total_steps": task.total_steps,
                "trainable_parameters": self.parameters[run.id],
                "train": run.train.model_dump(mode="json"),
            }
        )
        write_text_atomic(self.folder.run_settings(run.id), text)
        life = {"state": "training", "verdict": None, "checkpoint": None, "message": self.place(lane)}
        self.ledger.set(run.id, rescued=False, **life, **self._lease())
        self.progress.update(run.id, step=0, total=task.total_steps, loss=None, state="training")

    def place(self, lane: int) -> str:
        """Where a run trains, for the ledger."""
        return f"lane {lane}"

    def resumed(self, task: Task, state: LaneState) -> None:
        """Cut the run's files back to its checkpoint, so that every step has one line, and say what is repeated."""
        again = self._cut_back(self.folder.metrics(task.run.id), state.step)
        self._cut_back(self.folder.events(task.run.id), state.step)
        life = "quarantined" if state.quarantined else "training"
        self.progress.update(task.run.id, step=state.step, total=task.total_steps, loss=None, state=life)
        if state.quarantined:
            verdict = state.verdict or "dead"  # checkpoints of earlier versions do not say
            self.ledger.set(task.run.id, state=life, verdict=verdict, rescued=state.rescued, lease=None)
            return
        self._withdraw(task.run.id)
        evidence = f"continues after step {state.step}; {again} steps are repeated"
        health = {"verdict": state.verdict, "rescued": state.rescued}
        self.ledger.set(task.run.id, state=life, message=evidence, **health, **self._lease())
        self.event(task, state.step, "resumed", evidence, "none")

    def _cut_back(self, path: Path, step: int) -> int:
        """Drop the rows after `step`, and say how many there were."""
        rows = read_jsonl(path) if path.exists() else []
        kept = [row for row in rows if row["step"] <= step]
        text = "".join(json.dumps(json_safe(row), ensure_ascii=False) + "\n" for row in kept)
        write_text_atomic(path, text)
        return len(rows) - len(kept)

    def _withdraw(self, run_id: str) -> None:
        """A run that trains has no adapter: what an earlier try has exported or kept is not this try's."""
        (self.folder.adapter(run_id) / CONFIG).unlink(missing_ok=True)
        (self.folder.adapter(run_id) / WEIGHTS).unlink(missing_ok=True)
        (self.folder.checkpoints(run_id) / LAST_GOOD).unlink(missing_ok=True)

    def queued(self, run_id: str, message: str | None = None) -> None:
        """A run waits: for a lane, or for the same command to continue it."""
        self.ledger.set(
            run_id, state="queued", verdict=None, rescued=False, worker=None, lease=None, message=message
        )

    def failed(self, run_id: str, error: BaseException) -> None:
        """An exception ended the pack of a run; the same command tries again."""
        message = f"{type(error).__name__}: {error}"
        self.ledger.set(run_id, state="failed", lease=None, message=message)

    def step(self, task: Task, row: dict[str, Any]) -> None:
        """A metrics line and the run's line on the screen."""
        append_jsonl(self.folder.metrics(task.run.id), row)
        self.progress.update(
            task.run.id,
            step=row["step"],
            total=task.total_steps,
            loss=row["loss"],
            heldout=row["heldout_loss"],
        )

    def event(
        self,
        task: Task,
        step: int,
        kind: str,
        evidence: str,
        action: str,
        found: Mapping[str, Any] | None = None,
    ) -> None:
        """An event line; what is more than routine is also said."""
        row = {"step": step, "kind": kind, "evidence": evidence, "action": action, **(found or {})}
        append_jsonl(self.folder.events(task.run.id), row)
        if kind not in (*_SAID_ELSEWHERE, *_WRITTEN_ONLY):
            self.progress.message(f"{task.run.id}: {evidence}")

    def verdict(self, task: Task, health: str) -> None:
        """The ledger's verdict."""
        self.ledger.set(task.run.id, verdict=health)

    def rescued(self, task: Task) -> None:
        """The ledger's flag."""
        self.ledger.set(task.run.id, rescued=True)

    def quarantined(self, task: Task, state: LaneState, evidence: str, snapshot: Matrices | None) -> None:
        """Keep the last good adapter numbers beside the checkpoints; nothing is exported."""
        if snapshot is not None:
            tensors = {f"{n}.{k}": m for n, pair in snapshot.items() for k, m in zip("AB", pair, strict=True)}
            path = self.folder.checkpoints(task.run.id) / LAST_GOOD
            write_bytes_atomic(path, save(tensors))
        verdict = state.verdict or "dead"
        self.ledger.set(task.run.id, state="quarantined", verdict=verdict, message=evidence, lease=None)
        self.progress.update(
            task.run.id, step=state.step, total=task.total_steps, loss=None, state="quarantined"
        )

    def completed(self, task: Task, state: LaneState, matrices: Matrices) -> None:
        """Export what was trained, then say so."""
        self.export(task, matrices)
        self.ledger.set(task.run.id, state="completed", message=None, lease=None)
        self.progress.update(
            task.run.id, step=state.step, total=task.total_steps, loss=None, state="completed"
        )

    def export(self, task: Task, matrices: Matrices) -> None:
        """Write the adapter; its config is written last, so that a folder without one is no adapter."""
        files = adapter_files(task.adapter, matrices, self.base.model, self.model)
        config = files.pop(CONFIG)
        card = model_card(task, self.base.model, self.study, self.parameters[task.run.id])
        place = self.folder.adapter(task.run.id)
        for name, content in {**files, "README.md": card.encode(), CONFIG: config}.items():
            write_bytes_atomic(place / name, content)

    def checkpointed(self, run_id: str, step: int) -> None:
        """Renew the lease of a run whose numbers have just been saved."""
        self.ledger.set(run_id, checkpoint=step, **self._lease())

    def _lease(self) -> dict[str, Any]:
        return {"worker": f"process {os.getpid()}", "lease": time.time() + LEASE_SECONDS}
