"""Traces in a file, a pack of runs at a time: a long bench is made in slices, and its traces can be judged again."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from octavo.artifacts import json_safe


@dataclass
class Trace:
    """What was seen of a run.

    Attributes:
        name, rate, seed: of the run. fault: its name, None of a healthy one. step: of the fault, from 1; 0: all.
        rows: metrics lines from step 0 on. contents: keys of the texts that each step read.
        cause: of a run whose values stopped being finite, found by replay in that step.
        corrupted: steps that were taken on what was not finite, or that left such parameters.
    """

    name: str
    rate: float
    seed: int
    fault: str | None
    step: int
    rows: list[dict[str, Any]] = field(default_factory=list)
    contents: list[list[int]] = field(default_factory=list)
    cause: str | None = None
    evidence: str | None = None
    corrupted: int = 0

    @property
    def losses(self) -> list[float]:
        """Of each step."""
        return [float(row["loss"]) for row in self.rows[1:]]

    @property
    def norms(self) -> list[float]:
        """Gradient norms before clipping, of each step."""
        return [float(row["grad_norm"]) for row in self.rows[1:]]


class Record:
    """Packs of traces by name, kept in a file of one line a pack, or in memory alone.

    Arguments:
        path: None: nothing is written.
        fresh: forget what the file holds.
    """

    def __init__(self, path: Path | None, fresh: bool = False) -> None:
        self.path = path
        self.packs: dict[str, list[Trace]] = {}
        self.rescues: dict[str, dict[str, Any]] = {}
        if path is not None and path.exists():
            if fresh:
                path.unlink()
            else:
                for line in path.read_text(encoding="utf-8").splitlines():
                    row = json.loads(line)
                    if "rescue" in row:
                        self.rescues[row["rescue"]] = row["ended"]
                    else:
                        self.packs[row["pack"]] = [Trace(**one) for one in row["traces"]]

    def add(self, name: str, traces: Sequence[Trace]) -> None:
        """Keep a pack."""
        self.packs[name] = list(traces)
        self._write({"pack": name, "traces": [vars(one) for one in traces]})

    def add_rescue(self, name: str, ended: Mapping[str, Any]) -> None:
        """Keep how the runs of a pack ended under rescue."""
        self.rescues[name] = dict(ended)
        self._write({"rescue": name, "ended": dict(ended)})

    def _write(self, row: Mapping[str, Any]) -> None:
        if self.path is not None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(json_safe(dict(row))) + "\n")

    def traces(self) -> list[Trace]:
        """Of all packs."""
        return [one for traces in self.packs.values() for one in traces]
