"""Checkpoints of a whole pack: lanes, queue, clocks and moments, so that a killed study goes on bit for bit.

A lane's numbers lie beside its run (`runs/<run>/checkpoints/step-<n>.safetensors`), and so does its last good snapshot
(`good-<n>.safetensors`) where its vitals are watched; a manifest names the set that
belongs together, with the SHA-256 of each file, and is written last. What a manifest does not name does not count.
Random states need no saving: data order and dropout are functions of (run seed, step, example).
"""

from __future__ import annotations

import hashlib
import json
from collections import deque
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from safetensors.torch import load, save
from torch import Tensor

from octavo.artifacts import Folder, write_bytes_atomic, write_json_atomic
from octavo.training.loop import LaneState, PackTrainer
from octavo.training.watch import Snapshot, Trace

_FORMAT = 1


class Checkpoints:
    """Writes and reads the checkpoints of one base's pack.

    Arguments:
        folder: of the study.
        pack: name of the base.
        keep: how many manifests (and the files they name) stay.
        say: receives messages about checkpoints that are passed over.
    """

    def __init__(self, folder: Folder, pack: str, keep: int, say: Callable[[str], None]) -> None:
        self.folder, self.keep, self.say = folder, keep, say
        self.place = folder.out / "packs" / pack

    def save(self, trainer: PackTrainer) -> None:
        """Write the pack as it is between two windows."""
        lanes = [self._save_lane(trainer, lane) for lane in range(trainer.bank.lanes)]
        manifest = {
            "format": _FORMAT,
            "window": trainer.window_number,
            "totals": trainer.totals,
            "lanes": lanes,
            "queue": list(trainer.queue),
            "finished": trainer.finished,
        }
        sealed = manifest | {"sha256": _seal(manifest)}
        write_json_atomic(self.place / f"window-{trainer.window_number:08d}.json", sealed)
        self._prune()

    def _save_lane(self, trainer: PackTrainer, lane: int) -> dict[str, Any] | None:
        state = trainer.states[lane]
        if state is None:
            return None
        vitals = self._save_vitals(trainer, lane, state)
        if state.quarantined:
            # its rows stay in the pack, its numbers reach nobody: none are kept
            return {"state": state.to_json(), "clock": 0, "file": None, "sha256": None, "vitals": vitals}
        tensors = {
            "value": trainer.bank.flat_KP[lane],
            "mean": trainer.optimizer.mean_KP[lane],
            "square": trainer.optimizer.square_KP[lane],
        }
        path = self.folder.checkpoints(state.run) / f"step-{state.step:08d}.safetensors"
        digest = self.write_tensors(path, tensors)
        return {
            "state": state.to_json(),
            "clock": trainer.optimizer.clock[lane],
            "file": str(path.relative_to(self.folder.out)),
            "sha256": digest,
            "vitals": vitals,
        }

    def _save_vitals(self, trainer: PackTrainer, lane: int, state: LaneState) -> dict[str, Any] | None:
        """What the run was read to, and its good snapshot; with those of the manifests kept, two are on the disk."""
        if trainer.watch is None:
            return None
        good = trainer.watch.snapshots[lane]
        kept = None
        if good is not None and not state.quarantined:
            path = self.folder.checkpoints(state.run) / f"good-{good.step:08d}.safetensors"
            digest = self.write_tensors(path, good.tensors)
            file = str(path.relative_to(self.folder.out))
            kept = {
                "step": good.step,
                "clock": good.clock,
                "trace": good.trace,
                "file": file,
                "sha256": digest,
            }
        return {"trace": trainer.watch.traces[lane].to_json(), "good": kept}

    def write_tensors(self, path: Path, tensors: Mapping[str, Tensor]) -> str:
        """Write a lane's file whole or not at all; returns its SHA-256."""
        content = save({name: t.cpu().clone() for name, t in tensors.items()})
        write_bytes_atomic(path, content)
        return hashlib.sha256(content).hexdigest()

    def read_tensors(self, path: Path, digest: str) -> dict[str, Tensor]:
        """The tensors of a lane's file; raises ValueError where it is not what was written."""
        content = path.read_bytes()
        if hashlib.sha256(content).hexdigest() != digest:
            raise ValueError(f"{path.relative_to(self.folder.out)} is not what was written")
        return load(content)

    def restore(self, trainer: PackTrainer) -> bool:
        """Set the trainer to the newest whole checkpoint; False where there is none.

        Damaged ones that are passed over are deleted: they are newer than what comes next and would count as kept.
        """
        damaged = False
        for path in self._newest_first():
            try:
                manifest, lanes = self._read(path)
                goods = self._read_goods(manifest)
            except PermissionError:
                raise
            except (OSError, ValueError, KeyError, TypeError) as error:
                self.say(f"checkpoint {path.name} is damaged ({error}); going back to the one before it")
                path.unlink()
                damaged = True
                continue
            trainer.window_number = manifest["window"]
            trainer.totals = dict(manifest["totals"])
            trainer.queue = deque(manifest["queue"])
            trainer.finished = dict(manifest["finished"])
            for lane, entry in enumerate(manifest["lanes"]):
                if entry is not None:
                    self._restore_lane(trainer, lane, entry, lanes[lane])
                    _restore_vitals(trainer, lane, entry.get("vitals"), goods[lane])
            trainer.bank.refresh()
            trainer.keep_good()
            return True
        if damaged:
            self.say("no whole checkpoint is left: training begins anew")
        return False

    def _restore_lane(
        self, trainer: PackTrainer, lane: int, entry: dict[str, Any], tensors: dict[str, Tensor] | None
    ) -> None:
        state = LaneState(**entry["state"])
        trainer.occupy(lane, trainer.tasks[state.run], state)
        if tensors is None:
            return
        trainer.bank.flat_KP[lane].copy_(tensors["value"])
        trainer.optimizer.mean_KP[lane].copy_(tensors["mean"])
        trainer.optimizer.square_KP[lane].copy_(tensors["square"])
        trainer.optimizer.clock[lane] = entry["clock"]

    def _read(self, path: Path) -> tuple[dict[str, Any], list[dict[str, Tensor] | None]]:
        """A manifest and the tensors of its files; raises where one is missing or not what was written."""
        manifest = _read_manifest(path)
        contents: list[dict[str, Tensor] | None] = []
        for entry in manifest["lanes"]:
            if entry is None or entry["file"] is None:
                contents.append(None)
                continue
            contents.append(self.read_tensors(self.folder.out / entry["file"], entry["sha256"]))
        return manifest, contents

    def _read_goods(self, manifest: Mapping[str, Any]) -> list[dict[str, Tensor] | None]:
        """The tensors of the lanes' good snapshots; raises as `_read`."""
        goods = [_good_of(entry) for entry in manifest["lanes"]]
        return [
            None if one is None else self.read_tensors(self.folder.out / one["file"], one["sha256"])
            for one in goods
        ]

    def _newest_first(self) -> list[Path]:
        return sorted(self.place.glob("window-*.json"), reverse=True)

    def _prune(self) -> None:
        """Delete damaged manifests, those beyond `keep`, and lane files that no manifest names any more."""
        kept: list[dict[str, Any]] = []
        for path in self._newest_first():
            try:
                manifest = _read_manifest(path)
            except (ValueError, KeyError, TypeError):
                path.unlink()
                continue
            if len(kept) == self.keep:
                path.unlink()
            else:
                kept.append(manifest)
        named: set[Path] = set()
        runs: set[str] = set()
        for manifest in kept:
            for entry in manifest["lanes"]:
                if entry is not None:
                    runs.add(entry["state"]["run"])
                    named.add(self.folder.out / (entry["file"] or ""))
                    if (good := _good_of(entry)) is not None:
                        named.add(self.folder.out / good["file"])
            runs.update(manifest["finished"])
        for run in runs:
            for kind in ("step", "good"):
                for file in self.folder.checkpoints(run).glob(f"{kind}-*.safetensors"):
                    if file not in named:
                        file.unlink()


def _good_of(entry: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Where a lane's good snapshot is; None where it has none, as in manifests of earlier versions."""
    return ((entry or {}).get("vitals") or {}).get("good")


def _restore_vitals(
    trainer: PackTrainer, lane: int, found: Mapping[str, Any] | None, tensors: dict[str, Tensor] | None
) -> None:
    if trainer.watch is None or found is None:
        return
    trainer.watch.traces[lane] = Trace.from_json(found["trace"])
    if tensors is not None:
        good, device = found["good"], trainer.bank.device
        here = {name: tensor.to(device) for name, tensor in tensors.items()}
        trainer.watch.snapshots[lane] = Snapshot(good["step"], good["clock"], good["trace"], here)


def _read_manifest(path: Path) -> dict[str, Any]:
    """A manifest as it was written; raises ValueError, KeyError or TypeError where it is not."""
    manifest = json.loads(path.read_text(encoding="utf-8"))
    if manifest["format"] != _FORMAT:
        raise ValueError(f"format {manifest['format']} is not {_FORMAT}")
    seal = manifest.pop("sha256")
    if _seal(manifest) != seal:
        raise ValueError("its content is not what was written")
    return manifest


def _seal(manifest: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(manifest, sort_keys=True).encode()).hexdigest()
