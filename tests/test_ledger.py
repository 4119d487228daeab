"""The ledger: lives and verdicts of runs, read and written by several processes."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from octavo.errors import InputError, MachineError
from octavo.expand import Run
from octavo.ledger import Ledger
from octavo.study import Train

RUNS = [Run(f"b-s{seed}", "b", "smollm2", seed, Train()) for seed in (2**63 - 1, 0)]


def test_rows_begin_queued_and_keep_what_was_set(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.sqlite")
    assert ledger.rows() == []
    ledger.ensure(RUNS)
    ledger.set(
        "b-s0", state="quarantined", verdict="dead", rescued=True, lease=1.5, checkpoint=200, message="∞"
    )
    ledger.ensure([*RUNS, Run("a-s0", "a", "smollm2", 0, Train())])
    first, second, third = ledger.rows()
    assert first == {
        "run": f"b-s{2**63 - 1}",
        "variant": "b",
        "base": "smollm2",
        "seed": 2**63 - 1,
        "state": "queued",
        "verdict": None,
        "rescued": False,
        "worker": None,
        "lease": None,
        "checkpoint": None,
        "message": None,
    }
    assert second["state"] == "quarantined"
    assert (second["verdict"], second["rescued"], second["lease"], second["checkpoint"]) == (
        "dead",
        True,
        1.5,
        200,
    )
    assert second["message"] == "∞"
    assert third["run"] == "a-s0"
    ledger.set("b-s0", verdict=None, lease=None)
    assert ledger.rows()[1]["verdict"] is None


def test_state_and_verdict_are_not_mixed(tmp_path: Path) -> None:
    with Ledger(tmp_path / "ledger.sqlite") as ledger:
        ledger.ensure(RUNS)
        for wrong in (
            {"state": "dead"},
            {"state": None},
            {"verdict": "failed"},
            {"rescued": 2},
            {"color": 1},
            {},
        ):
            with pytest.raises(ValueError, match=r"no life of a run|set one of"):
                ledger.set("b-s0", **wrong)
        with pytest.raises(KeyError):
            ledger.set("nobody", state="failed")
        assert {row["state"] for row in ledger.rows()} == {"queued"}


WRITER = """
import sys
from pathlib import Path
from octavo.ledger import Ledger
ledger = Ledger(Path(sys.argv[1]))
for step in range(20):
    ledger.set(sys.argv[2], checkpoint=step)
"""


def test_two_processes_write_at_once(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    with Ledger(path) as ledger:
        ledger.ensure(RUNS)
        writers = [subprocess.Popen([sys.executable, "-c", WRITER, str(path), run.id]) for run in RUNS]
        for step in range(20):
            ledger.set("b-s0", message=str(step))
            assert len(ledger.rows()) == 2
        assert [writer.wait(60) for writer in writers] == [0, 0]
        assert [row["checkpoint"] for row in ledger.rows()] == [19, 19]


def test_a_file_of_another_program_is_refused(tmp_path: Path) -> None:
    (tmp_path / "ledger.sqlite").write_bytes(b"not a database at all" * 100)
    with pytest.raises(InputError, match="no usable ledger"):
        Ledger(tmp_path / "ledger.sqlite").rows()
    with pytest.raises(InputError, match="unable to open"):
        Ledger(tmp_path / "nowhere" / "ledger.sqlite").ensure(RUNS)


def test_a_full_disk_is_the_machines_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = Ledger(tmp_path / "ledger.sqlite")
    ledger.ensure(RUNS)
    connect = sqlite3.connect

    def tiny(*args: object, **options: object) -> sqlite3.Connection:
        connection = connect(*args, **options)  # type: ignore[call-overload]
        connection.execute("PRAGMA max_page_count = 1")
        return connection

    monkeypatch.setattr(sqlite3, "connect", tiny)
    with pytest.raises(MachineError, match="full"):
        ledger.set("b-s0", message="x" * 100_000)
    monkeypatch.undo()
    assert ledger.rows()[0]["message"] is None
