"""Bytes that a study's tensors take, from the model's config alone: what one token leaves behind, and the rest.

Widths: W of the residual stream, Q of all query heads together, KV of all key heads together, I of the MLP. Bytes of
a number: s in the base's dtype.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from octavo.lanes.kernels import kernels_for
from octavo.lanes.loss import CHUNK_ROWS

_FLOAT = 4  # bytes of a float32
# resident over counted bytes of a micro-step, by device: `bench/memory.py` on the embedded model; the probe replaces it
_RESIDENT = {"cpu": 1.35}
# float32 parameter, gradient and two moments (optimizer.py), and the last good parameters (loop.py)
BYTES_PER_ADAPTER_PARAMETER = 5 * _FLOAT


@dataclass(frozen=True)
class Shape:
    """The sizes of a decoder.

    Attributes:
        width, query, kv, inner: W, Q, KV and I above. heads: of the queries. layers, vocabulary: their numbers.
    """

    width: int
    query: int
    kv: int
    inner: int
    heads: int
    layers: int
    vocabulary: int

    @classmethod
    def of(cls, config: Any) -> Shape:
        """From a transformers config; families without grouped heads or a gated MLP name fewer sizes."""
        text = config.get_text_config()
        width, heads = int(text.hidden_size), int(text.num_attention_heads)
        head = int(getattr(text, "head_dim", None) or width // heads)
        return cls(
            width=width,
            query=heads * head,
            kv=head * int(getattr(text, "num_key_value_heads", None) or heads),
            inner=int(getattr(text, "intermediate_size", None) or 4 * width),
            heads=heads,
            layers=int(text.num_hidden_layers),
            vocabulary=int(text.vocab_size),
        )


def bytes_of(dtype: torch.dtype) -> int:
    """Bytes of a number."""
    return torch.empty(0, dtype=dtype).element_size()


@dataclass(frozen=True)
class Kept:
    """What decides which tensors a layer keeps.

    Attributes:
        size, attention_size: bytes of a number of the base, and of one inside attention (float32 on a CPU).
        targets: kinds of layers with an adapter, as the last part of their names.
        dropout: whether a lane drops inputs. rank: the largest.
    """

    size: int
    attention_size: int
    targets: frozenset[str]
    dropout: bool
    rank: int

    def any(self, *kinds: str) -> bool:
        """Has one of these kinds an adapter? GPT-2's own names stand beside Llama's."""
        return any(kind in self.targets for kind in kinds)


def generic_tensors(shape: Shape, kept: Kept) -> dict[str, int]:
    """Bytes a token and layer that `transformers`' own modules keep for the backward pass, by tensor.

    Counted for pre-norm decoders with a gated MLP (Llama, Qwen, Mistral, Gemma). Frozen weights keep no input; a
    layer with adapters keeps its input (q, k and v one together), a byte an input of dropout mask, and A x.
    """
    s, a, widths = kept.size, kept.attention_size, shape
    found = {
        "norm inputs, float32": 2 * (_FLOAT * widths.width + _FLOAT),
        "q, k, v": a * (widths.query + 2 * widths.kv),
        "attention output": a * widths.query,
        "log-sum-exp of attention": _FLOAT * widths.heads,
        "gate, up, activated gate": 3 * s * widths.inner,
    }
    if kept.any("o_proj"):
        found["input of o"] = s * widths.query
    return found | _kept_by_adapters(shape, kept)


def native_tensors(shape: Shape, kept: Kept) -> dict[str, int]:
    """Bytes a token and layer that the native decoder (`octavo.lanes.native`) keeps, by tensor.

    Norms keep the stream in the base's dtype, attention works in float32 on one sequence at a time and keeps nothing
    of that, and its output is o's input.
    """
    s, widths = kept.size, shape
    return {
        "stream after each addition": 2 * s * widths.width,
        "rotated q and k, v": s * (widths.query + 2 * widths.kv),
        "attention output": s * widths.query,
        "log-sum-exp of attention": _FLOAT * widths.heads,
        "gate, up": 2 * s * widths.inner,
    } | _kept_by_adapters(shape, kept)


def _kept_by_adapters(shape: Shape, kept: Kept) -> dict[str, int]:
    """What every path keeps where a layer has an adapter; the input of o is left to the path."""
    s, found = kept.size, {}
    if kept.any("q_proj", "k_proj", "v_proj", "c_attn"):
        found["input of q, k, v"] = s * shape.width
    if kept.any("gate_proj", "up_proj", "c_fc"):
        found["input of gate, up"] = s * shape.width
    if kept.any("down_proj"):
        found["input of down"] = s * shape.inner
    inputs = _adapted_inputs(shape, kept)
    if kept.dropout:
        found["dropout masks"] = sum(inputs)
    found["A x"] = s * kept.rank * len(inputs)
    return found


def _adapted_inputs(shape: Shape, kept: Kept) -> list[int]:
    """Input widths of a layer's linear modules that have adapters."""
    of_width = ("q_proj", "k_proj", "v_proj", "gate_proj", "up_proj", "c_attn", "c_fc")
    found = [shape.width for kind in of_width if kind in kept.targets]
    found += [shape.query] if kept.any("o_proj") else []
    return found + ([shape.inner] if kept.any("down_proj") else [])


# a function a path of the forward pass (`BaseModel.path`), each listing what that path keeps; one sequence after the
# other goes through the model's own modules, and what all of them leave behind is there at once
SAVED: dict[str, Callable[[Shape, Kept], dict[str, int]]] = {
    "native": native_tensors,
    "generic": generic_tensors,
    "one at a time": generic_tensors,
}


def activation_bytes_per_token(
    config: Any,
    dtype: torch.dtype,
    targets: Sequence[str],
    path: str = "generic",
    device: str = "cpu",
    dropout: bool = True,
    rank: int = 8,
) -> int:
    """Bytes that one token leaves behind in the forward pass for the backward pass, in all layers together.

    Arguments:
        targets: full names of the layers with adapters.
        path: which forward pass, a key of `SAVED`.
        device: attention works in float32 on a CPU whatever the base's dtype is.
    """
    size = bytes_of(dtype)
    kinds = frozenset(name.rsplit(".", 1)[-1] for name in targets)
    kept = Kept(size, _FLOAT if device == "cpu" else size, kinds, dropout, rank)
    shape = Shape.of(config)
    return shape.layers * sum(SAVED[path](shape, kept).values())


def resident(counted: int, device: str) -> int:
    """What a process holds for so many bytes of tensors: more on a CPU, where glibc's heap is torn by sizes that
    change from step to step and huge pages are had whole."""
    return round(counted * _RESIDENT.get(device, 1.0))


def backward_bytes_per_token(config: Any, dtype: torch.dtype) -> int:
    """Bytes a token that the backward pass of one layer works in: the MLP's gradients and one being made."""
    shape = Shape.of(config)
    return bytes_of(dtype) * (4 * shape.inner + 4 * shape.width)


def head_bytes(config: Any, dtype: torch.dtype, rows: int = CHUNK_ROWS) -> int:
    """A chunk of logits with its gradient.

    Compiled (`octavo.lanes.kernels`), both are there in the base's dtype and nothing else. Eagerly the logits stand
    beside softmax, difference to the target and its product with the weights in float32, and a byte that marks the
    target.
    """
    shape, size = Shape.of(config), bytes_of(dtype)
    each = 2 * size if kernels_for(shape.width).compiled else size + 3 * _FLOAT + 1
    return min(rows, CHUNK_ROWS) * shape.vocabulary * each


def scoring_bytes(config: Any, dtype: torch.dtype, tokens: int) -> int:
    """Held-out scoring of `tokens` at once, no gradients: one layer's tensors and a chunk of logits."""
    shape = Shape.of(config)
    size = bytes_of(dtype)
    layer = max(3 * size * shape.inner, (_FLOAT + size) * (2 * shape.query + 2 * shape.kv))
    residual = 2 * size * shape.width + _FLOAT * shape.width
    return tokens * (layer + residual) + head_bytes(config, dtype)


def cache_bytes_per_token(config: Any, dtype: torch.dtype, device: str = "cpu") -> int:
    """Keys and values of one token in all layers; float32 on a CPU, as attention reads them."""
    shape = Shape.of(config)
    return 2 * shape.layers * shape.kv * (_FLOAT if device == "cpu" else bytes_of(dtype))


def generation_bytes(
    config: Any, dtype: torch.dtype, prompts: int, prompt_tokens: int, new_tokens: int, device: str = "cpu"
) -> int:
    """Continuing `prompts` of together `prompt_tokens`: their first reading, then all keys and values.

    Logits of every prompt's last token stand in the base's dtype and in float32.
    """
    shape = Shape.of(config)
    reading = scoring_bytes(config, dtype, prompt_tokens) - head_bytes(config, dtype)
    logits = prompts * shape.vocabulary * (bytes_of(dtype) + 2 * _FLOAT)
    per_token = cache_bytes_per_token(config, dtype, device)
    first = per_token * prompt_tokens + max(reading, logits)
    return max(first, per_token * (prompt_tokens + prompts * new_tokens) + logits)


def adapter_bytes(parameters: int, dtype: torch.dtype, trained: bool = True) -> int:
    """One lane's adapter: 20 bytes a number while it trains, 4 when it answers, and a copy for the products of a
    base that is not float32."""
    copy = 0 if dtype == torch.float32 else bytes_of(dtype)
    return parameters * ((BYTES_PER_ADAPTER_PARAMETER if trained else _FLOAT) + copy)
