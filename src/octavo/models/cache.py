"""The user's cache folder: finished base models, each built once, checked when opened, never half written."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from filelock import FileLock

from octavo.errors import InputError, MachineError

MANIFEST = "manifest.json"
_verified: dict[Path, tuple[tuple[str, int, int], ...]] = {}


def cache_dir() -> Path:
    """The folder for what is kept between studies: OCTAVO_CACHE, XDG_CACHE_HOME/octavo or ~/.cache/octavo.

    Raises:
        InputError: none of them is set.
    """
    if own := os.environ.get("OCTAVO_CACHE"):
        return Path(own).expanduser().absolute()
    xdg = os.environ.get("XDG_CACHE_HOME", "")
    if xdg and Path(xdg).is_absolute():  # the XDG specification has relative paths ignored
        return Path(xdg) / "octavo"
    home = os.environ.get("HOME") or os.environ.get("USERPROFILE")
    if not home:
        raise InputError(
            "HOME is not set, so there is no folder to keep base models in: set OCTAVO_CACHE to a folder."
        )
    return Path(home) / ".cache" / "octavo"


def file_sha256(path: Path) -> str:
    """Hex SHA-256 of a file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextlib.contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn the failures of writing below `path` into messages.

    Raises:
        MachineError: the disk is full.
        InputError: the place cannot be written to.
    """
    try:
        yield
    except (InputError, MachineError):
        raise
    except Exception as error:
        code = getattr(error, "errno", None)
        # safetensors wraps the operating system's error in its own class and keeps only its text
        if code in (errno.ENOSPC, errno.EDQUOT) or "No space left on device" in str(error):
            raise MachineError(
                f"The disk is full while writing {path}: free some space and run again."
            ) from error
        if code in (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.EEXIST):
            raise InputError(
                f"Cannot write to {path} ({error}): make it writable, or set OCTAVO_CACHE to another folder."
            ) from error
        raise


def build_once(folder: Path, build: Callable[[Path], None]) -> Path:
    """Return `folder`, built by `build(temporary_folder)` if it is missing or damaged.

    Two processes (or threads) may ask at once: one builds, the other waits. The folder appears under its name
    only when it is complete and on disk.

    Raises:
        InputError, MachineError: from `build`, or because the cache cannot be written.
    """
    if is_intact(folder):
        return folder
    with writing(folder.parent):
        folder.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(folder.parent / f"{folder.name}.lock"):
            if not is_intact(folder):
                _build(folder, build)
    return folder


def _build(folder: Path, build: Callable[[Path], None]) -> None:
    for stale in folder.parent.glob(f".{folder.name}-*"):  # we hold the lock: their builder was killed
        shutil.rmtree(stale, ignore_errors=True)
    temporary = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        build(temporary)
        _write_manifest(temporary)
        _sync(temporary)
        _make_readable(temporary)
        if folder.exists():
            shutil.rmtree(folder)
        temporary.rename(folder)
        _sync_path(folder.parent)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _make_readable(folder: Path) -> None:
    """Let other users of a shared cache read: mkdtemp and safetensors make things private to their user."""
    folder.chmod(0o755)
    for path in folder.rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)


def is_intact(folder: Path) -> bool:
    """Whether every file of a finished folder has the size and SHA-256 of its manifest.

    Hashes are read once a process; later calls compare sizes and times of change only.
    """
    try:
        listed = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))["files"]
        stamp = tuple((name, *_size_and_time(folder / name)) for name in sorted(listed))
        if _verified.get(folder) == stamp:
            return True
        for name, entry in listed.items():
            path = folder / name
            if path.stat().st_size != entry["bytes"] or file_sha256(path) != entry["sha256"]:
                return False
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return False
    _verified[folder] = stamp
    return True


def _size_and_time(path: Path) -> tuple[int, int]:
    stat = path.stat()
    return stat.st_size, stat.st_mtime_ns


def _write_manifest(folder: Path) -> None:
    files = {
        path.relative_to(folder).as_posix(): {"bytes": path.stat().st_size, "sha256": file_sha256(path)}
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
    (folder / MANIFEST).write_text(json.dumps({"files": files}, indent=1), encoding="utf-8")


def _sync(folder: Path) -> None:
    for path in folder.rglob("*"):
        _sync_path(path)
    _sync_path(folder)


def _sync_path(path: Path) -> None:
    if os.name == "nt" and path.is_dir():  # Windows cannot open folders
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
