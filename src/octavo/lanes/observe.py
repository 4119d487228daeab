"""Looking at attention from outside: who observes is handed the queries and keys of every sequence."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from torch import Tensor, nn

# (the model's attention module, number of the sequence in the pack, q [1, H, L, D], k [1, H_kv, M, D], scaling, window)
Observer = Callable[[nn.Module, int, Tensor, Tensor, float | None, int | None], None]

_current: ContextVar[Observer | None] = ContextVar("octavo_observer", default=None)


def attention_observer() -> Observer | None:
    """Who observes in this thread, None where nobody does."""
    return _current.get()


@contextmanager
def observe_attention(observer: Observer) -> Iterator[None]:
    """Hand the queries and keys (after RoPE) of packs read inside the block to `observer`.

    The model's own forward pass reads them then. Not called where scores are more than q k (caps, sinks), nor by a
    model that keeps its own attention.
    """
    token = _current.set(observer)
    try:
        yield
    finally:
        _current.reset(token)
