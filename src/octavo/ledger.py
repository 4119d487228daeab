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
    checkpoint,  -- the step of the last one
    message TEXT
)
"""
_CHANGEABLE = ("state", "verdict", "rescued", "worker", "lease", "checkpoint", "message")


class Ledger:
    """The rows of a study's runs; each call is one transaction and safe beside other processes.

    **Raises** `InputError` when the file is no ledger or cannot be opened, `MachineError` for a bad disk.
    """

    def __init__(self, path: Path):
        self.path = Path(path)
        self._kept: sqlite3.Connection | None = None

    def __enter__(self) -> Ledger:
        """Keep one connection open until the end of the `with`; without it each call opens its own."""
        self._kept = self._connect()
        return self

    def __exit__(self, *_: object) -> None:
        """Close the connection."""
        if self._kept is not None:
            self._kept.close()
            self._kept = None

    def ensure(self, runs: Iterable[Run]) -> None:
        """Give every run a row, `queued`; a run that has one keeps it."""
        rows = [(run.id, run.variant, run.base, run.seed) for run in runs]
        with self._open() as connection:
            connection.executemany(
                "INSERT INTO runs (run, variant, base, seed) VALUES (?, ?, ?, ?) "
                "ON CONFLICT (run) DO NOTHING",
                rows,
            )

    def set(self, run_id: str, **columns: Any) -> None:
        """Change a run's state, verdict, rescued, worker, lease (unix seconds), checkpoint or message.

        **Raises** `KeyError` for a run without a row, `ValueError` for an unknown column, state or verdict.
        """
        unknown = [column for column in columns if column not in _CHANGEABLE]
        if unknown or not columns:
            raise ValueError(f"set one of {', '.join(_CHANGEABLE)}; not {', '.join(unknown) or 'nothing'}")
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
        connection = self._kept or self._connect()
        try:
            with connection:
                yield connection
        except sqlite3.DatabaseError as error:
            raise self._explained(error) from error
        finally:
            if connection is not self._kept:
                connection.close()

    def _connect(self) -> sqlite3.Connection:
        connection = None
        try:
            connection = sqlite3.connect(self.path, timeout=_WAIT_SECONDS)
            connection.row_factory = sqlite3.Row
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute(_SCHEMA)
            connection.commit()
        except sqlite3.DatabaseError as error:
            if connection is not None:
                connection.close()
            raise self._explained(error) from error
        return connection

    def _explained(self, error: sqlite3.DatabaseError) -> Exception:
        name = getattr(error, "sqlite_errorname", "")
        if name.startswith(("SQLITE_FULL", "SQLITE_IOERR")):
            return MachineError(f"{self.path}: {error}; free disk space, then the same command continues")
        if name.startswith("SQLITE_BUSY"):
            return InputError(f"{self.path}: another program holds it ({error}); close that program")
        return InputError(f"{self.path}: is no usable ledger ({error}); is it a file of another program?")
