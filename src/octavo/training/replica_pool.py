"""Threads that each train a run on a model of its own: how many at once, how far apart, and not before memory is free.

Nothing here knows what a run is; a job is a function that is called in a thread.
"""

from __future__ import annotations

import ctypes
import errno
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import torch

from octavo.errors import OctavoError
from octavo.lanes.shortage import SampleTooLarge, give_back, is_out_of_memory
from octavo.sizes import in_words
from octavo.training.interrupt import stop_between_windows
from octavo.training.limits import device_limit, held

# how often the pool looks at its threads and at memory
_LOOK_SECONDS = 0.05
# other programs may hold what is missing: after so long a replica is tried all the same
_PATIENCE_SECONDS = 60.0
# on what the replicas before have really taken
_MARGIN = 1.1
_DISK_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS)


@dataclass
class Job:
    """One run.

    Attributes:
        name: for messages.
        kind: jobs of one kind take about the same memory.
        bytes: that it is predicted to take.
        work: what is done; its argument is set when it should come to an end between two windows.
        failed: told of an error that ended it, and whether it is tried again.
    """

    name: str
    kind: str
    bytes: int
    work: Callable[[threading.Event], None]
    failed: Callable[[str, bool], None]


@dataclass
class Memory:
    """What replicas take: by prediction, and by measurement once one of their kind has ended.

    Arguments:
        device: where they live. limit: bytes that all of them may take together.
    """

    device: torch.device
    limit: int
    measured: dict[str, float] = field(default_factory=dict)
    _seen: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.start = held(self.device)

    @property
    def used(self) -> int:
        """Bytes over what the process held at the start."""
        return max(0, held(self.device) - self.start)

    def look(self, active: Sequence[Job]) -> None:
        """Note the share of one replica while all that are active are of one kind."""
        kinds = {job.kind for job in active}
        if len(kinds) == 1:
            kind = kinds.pop()
            self._seen[kind] = max(self._seen.get(kind, 0.0), self.used / len(active))

    def ended(self, job: Job) -> None:
        """A replica has been through all that it does: what was seen of its kind counts from here on."""
        if job.kind in self._seen:
            self.measured[job.kind] = self._seen[job.kind] * _MARGIN

    def need(self, job: Job) -> int:
        """Bytes that a replica is expected to take."""
        return int(self.measured.get(job.kind, job.bytes))

    def room(self, active: Sequence[Job]) -> int:
        """Bytes for one more: those that are active are granted what they have not taken yet."""
        used = self.used
        free = max(0, device_limit(self.device) - held(self.device))
        return min(self.limit, used + free) - max(used, sum(self.need(job) for job in active))


class ReplicaPool:
    """Works jobs off in threads.

    Arguments:
        memory: of the device.
        parallel: most threads at once.
        stagger_seconds: between two starts.
        say: receives messages.
        clock: seconds.
    """

    def __init__(
        self,
        memory: Memory,
        parallel: int,
        stagger_seconds: float,
        say: Callable[[str], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.memory, self.parallel, self.stagger_seconds = memory, parallel, stagger_seconds
        self.say, self.clock = say, clock
        self.stop = threading.Event()
        self.fatal: BaseException | None = None
        self.again: list[Job] = []
        self._unwell: list[Job] = []
        self.active: dict[threading.Thread, Job] = {}
        self._last_start = -float("inf")
        self._waiting_since: float | None = None

    def run(self, jobs: Sequence[Job]) -> bool:
        """All jobs; those that ran out of memory once more, each alone, after the others.

        Returns:
            whether a person has asked to stop.

        Raises:
            what concerns all jobs: an `OctavoError`, a full disk, a lost device. The others end between two windows
            before it is raised.
        """
        with stop_between_windows() as asked:
            self.stop = asked
            self._work_off(deque(jobs), self.parallel)
            for job in self.again:
                self.say(f"{job.name}: out of memory beside others; tried again alone")
                self._work_off(deque([job]), 1, last=True)
            stopped = asked.is_set()
        if self.fatal is not None:
            raise self.fatal
        return stopped

    def _work_off(self, pending: deque[Job], parallel: int, last: bool = False) -> None:
        try:
            while (pending and not self.stop.is_set()) or self.active:
                self._bury()
                if pending and not self.stop.is_set() and self._may_start(pending[0], parallel):
                    self._start(pending.popleft(), last)
                self.memory.look(list(self.active.values()))
                time.sleep(_LOOK_SECONDS)
        except BaseException:  # a second Ctrl-C above all: no thread may be left behind
            self._end_all()
            raise

    def _may_start(self, job: Job, parallel: int) -> bool:
        now = self.clock()
        if len(self.active) >= parallel or now - self._last_start < self.stagger_seconds:
            return False
        need, room = self.memory.need(job), self.memory.room(list(self.active.values()))
        if need <= room:
            return True
        if self._waiting_since is None:
            self._waiting_since = now
            self.say(
                f"{job.name}: waits for {in_words(need)} of memory; {in_words(max(0, room))} are free now"
            )
        if self.active or now - self._waiting_since < _PATIENCE_SECONDS:
            return False
        self.say(f"{job.name}: no memory has become free; tried all the same")
        return True

    def _start(self, job: Job, last: bool) -> None:
        give_back(self.memory.device)
        self._last_start, self._waiting_since = self.clock(), None
        thread = threading.Thread(target=self._call, args=(job, last), name=job.name)
        self.active[thread] = job
        thread.start()

    def _bury(self) -> None:
        """Take leave of the threads that have ended and clear what they held."""
        for thread in [thread for thread in self.active if not thread.is_alive()]:
            thread.join()
            job = self.active.pop(thread)
            if job not in self._unwell:
                self.memory.ended(job)
            give_back(self.memory.device)

    def _call(self, job: Job, last: bool) -> None:
        """In a thread: no error leaves it, and none keeps the tensors of the frames that it came through."""
        try:
            job.work(self.stop)
        except KeyboardInterrupt:
            return
        except Exception as error:
            traceback.clear_frames(error.__traceback__)
            self._unwell.append(job)
            short = isinstance(error, SampleTooLarge) or is_out_of_memory(error)
            if not short and concerns_all(error):
                self.fatal = self.fatal or error
                self.stop.set()
                return
            again = short and not last
            if again:
                self.again.append(job)
            job.failed(f"{type(error).__name__}: {error}", again)

    def _end_all(self) -> None:
        """Raise KeyboardInterrupt in every thread; it comes through when the operation under way has ended."""
        self.stop.set()
        for thread in self.active:
            if thread.ident is not None:
                ctypes.pythonapi.PyThreadState_SetAsyncExc(
                    ctypes.c_ulong(thread.ident), ctypes.py_object(KeyboardInterrupt)
                )
        for thread in self.active:
            thread.join()
        self.active.clear()


def concerns_all(error: BaseException) -> bool:
    """Would the error meet every other run too: a mistake in the study, a full disk, a lost device?"""
    if isinstance(error, OSError):
        return isinstance(error, PermissionError) or error.errno in _DISK_ERRORS
    return isinstance(error, OctavoError) or type(error).__name__ == "AcceleratorError"
