"""Where every file of a study folder lives, and how files are written: whole or not at all."""

from __future__ import annotations

import contextlib
import json
import math
import os
import tempfile
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_MASK_LOCK = threading.Lock()


@dataclass(frozen=True)
class Folder:
    """The files of one study; nothing is made until something is written."""

    out: Path

    def __init__(self, out: str | os.PathLike[str]):
        object.__setattr__(self, "out", Path(out).expanduser().absolute())

    @property
    def study(self) -> Path:
        """The resolved, frozen study."""
        return self.out / "study.yaml"

    @property
    def plan(self) -> Path:
        """Predicted and measured memory, lanes, seconds."""
        return self.out / "plan.json"

    @property
    def ledger(self) -> Path:
        """A row a run."""
        return self.out / "ledger.sqlite"

    @property
    def exploratory(self) -> Path:
        """Comparisons that were asked for after training had begun."""
        return self.out / "exploratory.json"

    @property
    def lock(self) -> Path:
        """Held by the process that works on the folder."""
        return self.out / ".lock"

    @property
    def results(self) -> Path:
        """What the report is drawn from."""
        return self.out / "results.json"

    @property
    def report(self) -> Path:
        """The report, one file."""
        return self.out / "report.html"

    def data(self, variant: str) -> Path:
        """Folder of a variant's train.jsonl, heldout.jsonl and quality.json."""
        return self.out / "data" / variant

    def run(self, run_id: str) -> Path:
        """Folder of a run."""
        return self.out / "runs" / run_id

    def run_settings(self, run_id: str) -> Path:
        """The run's resolved settings."""
        return self.run(run_id) / "run.yaml"

    def metrics(self, run_id: str) -> Path:
        """A line a step."""
        return self.run(run_id) / "metrics.jsonl"

    def events(self, run_id: str) -> Path:
        """A line an event."""
        return self.run(run_id) / "events.jsonl"

    def checkpoints(self, run_id: str) -> Path:
        """Folder of a run's checkpoints."""
        return self.run(run_id) / "checkpoints"

    def adapter(self, run_id: str) -> Path:
        """Folder of the exported adapter, as peft reads it."""
        return self.run(run_id) / "adapter"

    def model(self, run_id: str) -> Path:
        """Folder of the exported model of a run that trained all weights, as transformers reads it."""
        return self.run(run_id) / "model"

    def evaluation(self, suite: str) -> Path:
        """A line an item and run."""
        return self.out / "evaluation" / f"{suite}.jsonl"

    @property
    def suites(self) -> Path:
        """What is to be known of each suite beside its lines: rule, version, chance."""
        return self.out / "evaluation" / "suites.json"

    def basins(self, name: str) -> Path:
        """One basin measurement."""
        return self.out / "basins" / f"{name}.json"


def write_bytes_atomic(path: str | os.PathLike[str], data: bytes) -> None:
    """Write a file so that a reader, or a machine after a power cut, finds the old one or the new one whole.

    Makes the folder if it is not there. The mode follows the umask, as `open` does it.
    """
    with replacing(path) as temporary, open(temporary, "wb") as file:
        file.write(data)


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary file beside `path` to be written in the block; it takes the name when the block has ended well."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:100]}.", suffix=".tmp")
    os.close(handle)
    try:
        yield Path(temporary)
        _settle(temporary)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    sync_folder(path.parent)


def write_text_atomic(path: str | os.PathLike[str], text: str) -> None:
    """`write_bytes_atomic` of UTF-8 text, line ends as given."""
    write_bytes_atomic(path, text.encode("utf-8"))


def write_json_atomic(path: str | os.PathLike[str], value: Any) -> None:
    """Write strict JSON: a number that is not finite becomes the text "nan", "inf" or "-inf"."""
    write_text_atomic(
        path, json.dumps(json_safe(value), ensure_ascii=False, allow_nan=False, indent=1) + "\n"
    )


def json_safe(value: Any) -> Any:
    """`value` with non-finite floats as text, tuples as lists and keys as text: JSON for every reader.

    A number of another library (numpy, a torch scalar) is taken by its `item()`.
    """
    if isinstance(value, Mapping):
        return {str(key): json_safe(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [json_safe(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(float(value))
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if value is None or isinstance(value, str | int | float):
        return value
    if hasattr(value, "item"):
        return json_safe(value.item())
    raise TypeError(f"{type(value).__name__} has no JSON form")


def append_jsonl(path: str | os.PathLike[str], row: Mapping[str, Any]) -> None:
    """Add one row to a JSONL file and wait until it is on the disk."""
    line = json.dumps(json_safe(row), ensure_ascii=False, allow_nan=False) + "\n"
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "ab") as file:
        file.write(line.encode("utf-8"))
        file.flush()
        os.fsync(file.fileno())


def read_jsonl(path: str | os.PathLike[str]) -> list[dict[str, Any]]:
    """The rows of a JSONL file that this package wrote.

    Lines end at \\n only: U+2028, U+2029 and U+0085 are text. A last line without its \\n is what a killed
    process left; it is passed over.

    **Raises** `ValueError` that names the line of anything else that is no JSON.
    """
    lines = Path(path).read_bytes().split(b"\n")[:-1]
    return [_row(line, path, count) for count, line in enumerate(lines, 1) if line.strip()]


def _row(line: bytes, path: str | os.PathLike[str], count: int) -> dict[str, Any]:
    try:
        return json.loads(line)
    except ValueError as error:
        raise ValueError(f"{os.fspath(path)}, line {count}: {error}") from error


def sync_folder(folder: Path) -> None:
    """Put a rename in `folder` on the disk; where folders cannot be opened (Windows) nothing is to do."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(handle)
    except OSError:  # some network file systems refuse to sync a folder; the rename itself is done
        pass
    finally:
        os.close(handle)


def _settle(path: str) -> None:
    """Give a new file the mode that `open` would have given it, and wait until it is on the disk."""
    handle = os.open(path, os.O_RDWR)
    try:
        os.fchmod(handle, 0o666 & ~_umask())
        os.fsync(handle)
    finally:
        os.close(handle)


def _umask() -> int:
    """The process's mask. Linux tells it; elsewhere it can only be set and set back, by one thread at a time."""
    try:
        status = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
        return int(status.partition("\nUmask:")[2].split(maxsplit=1)[0], 8)
    except (OSError, ValueError, IndexError):
        with _MASK_LOCK:
            mask = os.umask(0)
            os.umask(mask)
            return mask
