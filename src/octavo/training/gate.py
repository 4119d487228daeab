"""What threads that train may do at the same time, and what each must do alone.

Loading a model sets torch's default dtype, which is the whole process's: a tensor that another thread makes meanwhile
without naming its type (the first numbers of an adapter) would be of the wrong one. And a kernel is compiled at the
first call with tensors of its kind: threads that come to one together compile it once each, until torch refuses.
"""

from __future__ import annotations

import threading
from collections.abc import Hashable, Iterator
from contextlib import contextmanager

# how often torch compiles one function before it refuses (torch._dynamo.config.recompile_limit)
_FOR_ONE_THREAD = 8


def allow_compilations(threads: int) -> None:
    """Let a function be compiled as often for each of several threads as for one; to be called in each of them.

    Tensors of a kind that no first window has shown (a view where there was none) still meet several threads at once.
    The setting is the calling thread's own.
    """
    import torch._dynamo.config as settings

    settings.recompile_limit = max(settings.recompile_limit, _FOR_ONE_THREAD * threads)


class Gate:
    """Many threads inside `turn`, or one inside `alone`; who wants to be alone goes before who does not."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._inside = 0
        self._waiting = 0
        self._alone = False
        self._passed: set[Hashable] = set()

    @contextmanager
    def alone(self) -> Iterator[None]:
        """A part during which no other thread is inside."""
        with self._changed:
            self._waiting += 1
            try:
                self._changed.wait_for(lambda: not self._alone and not self._inside)
                self._alone = True
            finally:
                self._waiting -= 1
        try:
            yield
        finally:
            with self._changed:
                self._alone = False
                self._changed.notify_all()

    @contextmanager
    def turn(self, kind: Hashable) -> Iterator[None]:
        """A part that others may be in too, once one part of its kind has been done alone to a good end."""
        if kind not in self._passed:
            with self.alone():
                yield
                self._passed.add(kind)
            return
        with self._changed:
            self._changed.wait_for(lambda: not self._alone and not self._waiting)
            self._inside += 1
        try:
            yield
        finally:
            with self._changed:
                self._inside -= 1
                self._changed.notify_all()
