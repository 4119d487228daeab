"""Who answers: the finished adapters of one base and the base itself, each in a lane; or a model that trained whole."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from octavo.errors import InputError
from octavo.lanes.adapters import AdapterBank, AdapterSpec
from octavo.lanes.base import BaseModel
from octavo.lanes.peft_io import Matrices, load_adapter, nonfinite_count


class Contestants:
    """Adapters loaded into lanes; the last lane has none and answers as the base.

    Arguments:
        base: the frozen model.
        base_name: how the base is called in results: `base:<name>`.
        adapters: (name, folder) of each finished run.

    Attributes:
        lanes: {name: lane}, the base's `base:<name>` included; names are what `whole` is given, where that made it. An
            adapter that changes nothing is the base and reads in the base's lane.

    Raises:
        InputError: an adapter is not finite, cannot be read, or is of another base.
    """

    def __init__(self, base: BaseModel, base_name: str, adapters: Sequence[tuple[str, Path]]) -> None:
        self.base = base
        self.base_key = f"base:{base_name}"
        self.lanes = {name: lane for lane, (name, _) in enumerate(adapters)} | {self.base_key: len(adapters)}
        loaded = [load_adapter(folder, base.model) for _, folder in adapters]
        for (name, folder), (_, matrices) in zip(adapters, loaded, strict=True):
            if bad := nonfinite_count(matrices):
                raise InputError(
                    f"{folder}: {bad} numbers of the adapter '{name}' are not finite; train it again"
                )
            if _changes_nothing(matrices):
                self.lanes[name] = self.lanes[self.base_key]
        self.bank: AdapterBank | None = None
        self._install(loaded)

    @classmethod
    def whole(cls, model: BaseModel, name: str) -> Contestants:
        """A run that trained all weights: its own model answers, and nobody else."""
        found = cls(model, name, [])
        found.lanes = {name: 0}
        return found

    def _install(self, loaded: Sequence[tuple[AdapterSpec, Matrices]]) -> None:
        """Give every adapter its lane."""
        if loaded:
            specs = [spec for spec, _ in loaded]
            self.bank = AdapterBank(self.base.model, specs, len(loaded) + 1, trainable=False)
            for lane, (spec, matrices) in enumerate(loaded):
                self.bank.occupy(lane, spec)
                self.bank.write(lane, matrices)

    def close(self) -> None:
        """Take the adapters off the model."""
        if self.bank is not None:
            self.bank.remove()


def _changes_nothing(matrices: Matrices) -> bool:
    """Whether every update is exactly zero: one of its two factors is."""
    return all(not a.any() or not b.any() for a, b in matrices.values())
