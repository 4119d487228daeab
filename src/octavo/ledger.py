"""The ledger of a study folder: one row a run, with its life (state) and its health (verdict).

SQLite, because several processes (workers, the report, a person with `sqlite3`) read it while one writes.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from octavo.errors import InputError, MachineError

if TYPE_CHECKING:
    from octavo.expand import Run

State = Literal["queued", "training", "completed", "stopped", "quarantined", "failed"]
Verdict = Literal["healthy", "watch", "diverging", "collapsed", "dead"]

STATES: tuple[str, ...] = get_args(State)
VERDICTS: tuple[str, ...] = get_args(Verdict)

_WAIT_SECONDS = 30.0  # for another process that is just writing its row


def _one_of(column: str, values: tuple[str, ...]) -> str:
    return f"CHECK ({column} IN ({', '.join(repr(value) for value in values)}))"


_SCHEMA = f"""
CREATE TABLE IF NOT EXISTS runs (
    run TEXT PRIMARY KEY,
    variant TEXT NOT NULL,
    base TEXT NOT NULL,
    seed INTEGER NOT NULL,
    state TEXT NOT NULL DEFAULT 'queued' {_one_of("state", STATES)},
    verdict TEXT {_one_of("verdict", VERDICTS)},
    rescued INTEGER NOT NULL DEFAULT 0 CHECK (rescued IN (0, 1)),
    worker TEXT,
    lease REAL,
    checkpoint TEXT,
    message TEXT
)
"""
_CHANGEABLE = ("state", "verdict", "rescued", "worker", "lease", "checkpoint", "message")


class Ledger:
    """The rows of a study's runs; each call is one transaction and safe beside other processes.

    **Raises** `InputError` when the file is no ledger or cannot be opened, `MachineError` when the disk fails.
    """

    def __init__(self, path: Path):
        self.path = Path(path)

    def ensure(self, runs: Iterable[Run]) -> None:
        """Give every run a row, `queued`; a run that has one keeps it."""
        rows = [(run.id, run.variant, run.base, run.seed) for run in runs]
        with self._open() as connection:
            connection.executemany(
                "INSERT INTO runs (run, variant, base, seed) VALUES (?, ?, ?, ?) ON CONFLICT (run) DO NOTHING",
                rows,
            )

    def set(self, run_id: str, **columns: Any) -> None:
        """Change columns of a run: state, verdict, rescued, worker, lease (unix seconds), checkpoint, message.

        **Raises** `KeyError` for a run without a row, `ValueError` for a column, state or verdict that is none.
        """
        unknown = [column for column in columns if column not in _CHANGEABLE]
        if unknown or not columns:
            raise ValueError(
                f"columns to set are {', '.join(_CHANGEABLE)}; not {', '.join(unknown) or 'none'}"
            )
        assignments = ", ".join(f"{column} = :{column}" for column in columns)
        with self._open() as connection:
            try:
                done = connection.execute(
                    f"UPDATE runs SET {assignments} WHERE run = :run", {**columns, "run": run_id}
                )
            except sqlite3.IntegrityError as error:
                raise ValueError(f"{run_id}: {columns} is no life of a run: {error}") from error
            if done.rowcount == 0:
                raise KeyError(run_id)

    def rows(self) -> list[dict[str, Any]]:
        """Every row in the order of the study, `rescued` as a bool; empty where nothing was written yet."""
        if not self.path.exists():
            return []
        with self._open() as connection:
            found = connection.execute("SELECT * FROM runs ORDER BY rowid").fetchall()
        return [dict(row) | {"rescued": bool(row["rescued"])} for row in found]

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        try:
            connection = sqlite3.connect(self.path, timeout=_WAIT_SECONDS)
        except sqlite3.OperationalError as error:
            raise InputError(f"{self.path}: {error}; check the folder and its permissions") from error
        connection.row_factory = sqlite3.Row
        try:
            with connection:
                connection.execute("PRAGMA synchronous = FULL")
                connection.execute(_SCHEMA)
                yield connection
        except sqlite3.DatabaseError as error:
            raise self._explained(error) from error
        finally:
            connection.close()

    def _explained(self, error: sqlite3.DatabaseError) -> Exception:
        name = getattr(error, "sqlite_errorname", "")
        if name.startswith(("SQLITE_FULL", "SQLITE_IOERR")):
            return MachineError(
                f"{self.path}: {error}; free some disk space, then the same command continues"
            )
        if name.startswith("SQLITE_BUSY"):
            return InputError(f"{self.path}: another program holds it ({error}); close that program")
        return InputError(
            f"{self.path}: cannot be used as a ledger ({error}); is it a file of another program?"
        )
