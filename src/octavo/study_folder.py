"""Taking a study folder for one study and one process."""

from __future__ import annotations

import copy
import errno
import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from octavo.artifacts import Folder, write_json_atomic, write_text_atomic
from octavo.errors import InputError
from octavo.yaml_text import dump_yaml

if TYPE_CHECKING:
    from octavo.study import Study


@contextmanager
def study_lock(folder: Folder) -> Iterator[None]:
    """Hold a study folder, making it if it is not there; the kernel lets go when the process ends, however.

    **Raises** `InputError` when another process holds it (naming its id) or the folder cannot be written.
    """
    make_writable(folder)
    handle = os.open(folder.lock, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        _take(handle, folder)
        os.ftruncate(handle, 0)
        os.pwrite(handle, f"{os.getpid()}\n".encode(), 0)
        yield
    finally:
        os.close(handle)


def _take(handle: int, folder: Folder) -> None:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        holder = os.pread(handle, 32, 0).decode("ascii", "replace").strip() or "unknown"
        raise InputError(
            f"{folder.out}: another octavo (process {holder}) works on this folder; wait for it, stop it, "
            "or choose another --out"
        ) from None


def make_writable(folder: Folder) -> None:
    """Make the folder if it is not there. **Raises** `InputError` when it cannot be made or written."""
    try:
        folder.out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EIO):
            raise  # the machine's fault, not the user's
        raise InputError(f"{folder.out}: cannot be made ({error.strerror}); choose another --out") from error
    if not os.access(folder.out, os.W_OK | os.X_OK):
        raise InputError(f"{folder.out}: cannot be written; choose another --out or change its permissions")


def claim(folder: Folder, study: Study) -> None:
    """Make the folder this study's own: freeze the study into it, or find the same one there.

    To be called under `study_lock`.

    **Raises** `InputError` when the folder holds another study (`lanes.memory` and comparisons aside), naming the
    first key that differs.
    """
    from octavo.study import Study

    if not folder.study.exists():
        study.freeze(folder.study)
        return
    frozen = Study.load(folder.study).resolved()
    there, here = copy.deepcopy(frozen), study.resolved()
    declared, asked = there["evaluate"]["comparisons"], here["evaluate"]["comparisons"]
    begun = (folder.out / "runs").exists()
    # comparisons are declared until training begins; after that the frozen ones stand
    there["evaluate"]["comparisons"] = here["evaluate"]["comparisons"] = declared if begun else asked
    # a plan changes how a window is cut, never what it adds up to: who ran out of memory may go on with less
    there["lanes"]["memory"] = here["lanes"]["memory"]
    difference = first_difference(there, here)
    nothing_made = not any(p.exists() for p in (folder.out / "data", folder.ledger, folder.out / "runs"))
    if difference is not None and not nothing_made:
        key, old, new = difference
        raise InputError(
            f"{folder.out}: holds another study: {key} is {old!r} there and {new!r} here; "
            "choose another --out, or take back the change"
        )
    if begun:
        _note_exploratory(folder, declared or [], asked or [])
    if here != frozen:
        # a study mended before anything was made, another memory, comparisons declared before training
        write_text_atomic(folder.study, dump_yaml(here))


def _note_exploratory(folder: Folder, declared: list[Any], asked: list[Any]) -> None:
    """Keep what was asked for after training had begun: it is shown, and never as declared."""
    later = read_exploratory(folder)
    new = [one for one in asked if one not in declared and one not in later]
    if new:
        write_json_atomic(folder.exploratory, [*later, *new])


def read_exploratory(folder: Folder) -> list[dict[str, Any]]:
    """The comparisons that were asked for after training had begun, as the study file has them."""
    if not folder.exploratory.exists():
        return []
    found: list[dict[str, Any]] = json.loads(folder.exploratory.read_text(encoding="utf-8"))
    return found


def first_difference(there: Any, here: Any, key: str = "") -> tuple[str, Any, Any] | None:
    """The first dotted key at which two resolved studies differ, with both values; None if they are equal."""
    if isinstance(there, dict) and isinstance(here, dict):
        for name in [*there, *(name for name in here if name not in there)]:
            inner = f"{key}.{name}" if key else str(name)
            if found := first_difference(there.get(name), here.get(name), inner):
                return found
        return None
    if isinstance(there, list) and isinstance(here, list) and len(there) == len(here):
        pairs = enumerate(zip(there, here, strict=True))
        return next((found for i, (a, b) in pairs if (found := first_difference(a, b, f"{key}[{i}]"))), None)
    return None if there == here else (key, there, here)
