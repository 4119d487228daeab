"""Studies run in processes of their own, which die at chosen moments.

A fork server imports torch and the stages once; each study then starts in milliseconds. Everything a child does
beyond running the study is in a `Fault`, so that the program itself knows nothing of the tests.
"""

from __future__ import annotations

import importlib
import multiprocessing
import os
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_PRELOADED = [
    "tests.training.children",
    "octavo.evaluation.stage",
    "octavo.training.stage",
    "octavo.corpus.stage",
    "octavo.report",
    "peft",
    "transformers.models.llama.modeling_llama",
    "transformers.models.auto.modeling_auto",
]


@dataclass(frozen=True)
class Fault:
    """What happens to a child.

    Attributes:
        at: "step" (a metrics line of `run` at `count` is on the disk), "lane file", "manifest" or "export" (the
            `count`-th such file is half written), "exported" (the `count`-th adapter is whole, the ledger and the
            checkpoint do not know of it).
        signal: sent to the process itself.
    """

    at: str
    count: int
    run: str = ""
    signal: int = signal.SIGKILL


def run_child(study: Path, out: Path, fault: Fault | None = None, timeout: float = 120) -> tuple[int, str]:
    """`octavo run` in a process of its own. Returns its exit code (-9: killed) and what it wrote on stderr."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(_PRELOADED)
    log = study.parent / "child.log"
    child = context.Process(target=_main, args=(str(study), str(out), fault, str(log)))
    child.start()
    child.join(timeout)
    if child.is_alive():
        child.kill()
        child.join()
        raise TimeoutError(log.read_text(encoding="utf-8"))
    code = child.exitcode
    child.close()
    assert code is not None
    return code, log.read_text(encoding="utf-8")


def _main(study: str, out: str, fault: Fault | None, log: str) -> None:
    import torch

    from octavo.cli import main

    torch.set_num_threads(1)
    handle = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(handle, 1)
    os.dup2(handle, 2)
    if fault is not None:
        _arm(fault)
    sys.argv = ["octavo", "run", study, "--out", out]
    main()


def _arm(fault: Fault) -> None:
    if fault.at == "step":
        _after("octavo.training.recorder", "append_jsonl", fault, _is_step(fault))
    elif fault.at == "exported":
        _after(
            "octavo.training.recorder", "write_bytes_atomic", fault, _counted(fault, "adapter_config.json")
        )
    elif fault.at == "export":
        _halfway("octavo.training.recorder", fault, "adapter_model.safetensors")
    elif fault.at == "lane file":
        _halfway("octavo.training.checkpoint", fault, ".safetensors")
    elif fault.at == "manifest":
        # through write_json_atomic, which finds the writer of bytes in its own module
        _halfway("octavo.artifacts", fault, ".json", folder="packs")
    else:
        raise ValueError(fault.at)


def _is_step(fault: Fault) -> Callable[..., bool]:
    return lambda path, row: path.parts[-2:] == (fault.run, "metrics.jsonl") and row["step"] == fault.count


def _counted(fault: Fault, ending: str, folder: str = "") -> Callable[..., bool]:
    left = [fault.count]

    def due(path: Any, _content: Any) -> bool:
        path = Path(path)
        if path.name.endswith(ending) and (not folder or folder in path.parts):
            left[0] -= 1
            return left[0] == 0
        return False

    return due


def _after(module: str, name: str, fault: Fault, due: Callable[..., bool]) -> None:
    """Send the signal when the call that is due has returned."""
    place = importlib.import_module(module)
    original = getattr(place, name)

    def wrapped(path: Any, content: Any) -> None:
        original(path, content)
        if due(path, content):
            os.kill(os.getpid(), fault.signal)

    setattr(place, name, wrapped)


def _halfway(module: str, fault: Fault, ending: str, folder: str = "") -> None:
    """Send the signal when half of a file's bytes lie under its temporary name."""
    place: Any = importlib.import_module(module)
    original = place.write_bytes_atomic
    due = _counted(fault, ending, folder)

    def wrapped(path: Any, content: bytes) -> None:
        if due(path, content):
            path = Path(path)
            path.parent.mkdir(parents=True, exist_ok=True)
            (path.parent / f".{path.name}.half0000.tmp").write_bytes(content[: len(content) // 2])
            os.kill(os.getpid(), fault.signal)
        original(path, content)

    place.write_bytes_atomic = wrapped
