"""Probing a device through child processes: a crash, a hang and a NaN are results, not the end."""

from __future__ import annotations

import json
import queue
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import IO, Any

COMMAND = (sys.executable, "-m", "octavo.training.doctor.child")
# importing torch from a slow disk and making a device ready come on top of the first probe
_START_SECONDS = 120.0
START = "start"


@dataclass(frozen=True)
class Result:
    """What one probe came to.

    Attributes:
        probe: KERNEL:DTYPE, "allocator", or START where not even torch came up.
        result: ok, nan, wrong, absent, or "failed: ...", "crashed: SIGNAL", "hung: ...".
    """

    probe: str
    result: str

    @property
    def bad(self) -> bool:
        """Is this a finding? What is not there is none."""
        return self.result not in ("ok", "absent")


@dataclass
class Probed:
    """A device.

    Attributes:
        facts: what it is, None where torch sees none. build: what torch was built for, known even then.
        results: a probe each.
    """

    device: str
    facts: dict[str, Any] | None = None
    build: dict[str, Any] = field(default_factory=dict)
    results: list[Result] = field(default_factory=list)

    def result(self, probe: str) -> str:
        """The result of a probe; "absent" where it was not made."""
        return next((r.result for r in self.results if r.probe == probe), "absent")


def probe_device(
    device: str,
    probes: Sequence[str],
    environ: Mapping[str, str],
    seconds: float = 60.0,
    command: Sequence[str] = COMMAND,
) -> Probed:
    """Facts and results of a device; a child that dies or hangs is followed by another for the rest.

    Arguments:
        device: "cpu" or "cuda" (which is also ROCm's name in torch).
        seconds: that a probe may take.
        command: of the child (tests have their own).
    """
    found = Probed(device)
    left = list(probes)
    while True:
        ended = _one_child(found, left, environ, seconds, [*command, device, *left])
        if ended is None:
            return found
        found.results.append(ended)
        if ended.probe == START:
            return found
        left = left[left.index(ended.probe) + 1 :]
        if not left:
            return found


def _one_child(
    found: Probed, probes: Sequence[str], environ: Mapping[str, str], seconds: float, words: Sequence[str]
) -> Result | None:
    """Take a child's results; what ended it before its time, or None."""
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as errors:
        child = subprocess.Popen(
            words, stdout=subprocess.PIPE, stderr=errors, env=dict(environ), text=True, errors="replace"
        )
        try:
            return _listen(found, child, probes, seconds, errors)
        finally:
            child.kill()
            child.wait()
            if child.stdout is not None:
                child.stdout.close()


def _listen(
    found: Probed, child: subprocess.Popen[str], probes: Sequence[str], seconds: float, errors: IO[str]
) -> Result | None:
    lines: queue.Queue[str | None] = queue.Queue()
    threading.Thread(target=_read, args=(child, lines), daemon=True).start()
    under_way, done = START, 0
    while True:
        patience = seconds if under_way != START else max(seconds, _START_SECONDS)
        try:
            line = lines.get(timeout=patience)
        except queue.Empty:
            return Result(under_way, f"hung: no answer within {patience:g} s")
        if line is None:
            code = child.wait()
            if code == 0 and (found.facts is None or done == len(probes)):
                return None
            return Result(under_way, _death(code, errors))
        told = _parsed(line)
        if "facts" in told:
            found.facts = told["facts"]
            found.build = {k: (told["facts"] or told).get(k) for k in ("torch", "cuda", "hip")}
        elif "begin" in told:
            under_way = told["begin"]
        elif "end" in told:
            found.results.append(Result(told["end"], told["result"]))
            done += 1


def _read(child: subprocess.Popen[str], lines: queue.Queue[str | None]) -> None:
    try:
        for line in child.stdout or ():
            lines.put(line)
    except ValueError:  # closed under us: the child hung and was killed
        pass
    lines.put(None)


def _parsed(line: str) -> dict[str, Any]:
    """A line of the protocol; libraries that print something of their own are passed over."""
    try:
        told = json.loads(line)
    except ValueError:
        return {}
    return told if isinstance(told, dict) else {}


def _death(code: int, errors: IO[str]) -> str:
    if code < 0:
        try:
            return f"crashed: {signal.Signals(-code).name}"
        except ValueError:
            return f"crashed: signal {-code}"
    errors.seek(0)
    said = [line for line in errors.read().splitlines() if line.strip()]
    return f"failed: exit code {code}{': ' + said[-1].strip()[:200] if said else ''}"
