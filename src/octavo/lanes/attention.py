"""Attention for packs: each sequence attends to itself alone, whatever its neighbours hold.

Registered with `transformers.AttentionInterface`, so that unchanged models use it. Two sequences never share one
attention row: a block mask multiplies a neighbour's value by zero, and zero times NaN is NaN.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from octavo.lanes.observe import attention_observer
from octavo.lanes.pack import current_pack

NAME = "octavo"


def pack_attention(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,  # noqa: ARG001 - lengths say more than a mask
    scaling: float | None = None,
    dropout: float = 0.0,  # noqa: ARG001 - the base is frozen and in eval mode
    sliding_window: int | None = None,
    softcap: float | None = None,
    s_aux: Tensor | None = None,
    **_: object,
) -> tuple[Tensor, None]:
    """The attention function of the transformers interface.

    Arguments:
        query: [1, H, T, D]; key and value: [1, H_kv, T, D], the whole pack in one row.
        sliding_window, softcap, s_aux: the options that some model families pass.

    Returns:
        [1, T, H, D] and None (no weights are kept).

    Raises:
        RuntimeError: called outside of `use_pack`.
    """
    pack = current_pack()
    if pack is None:
        raise RuntimeError("the 'octavo' attention needs a pack: call the model inside lanes.pack.use_pack")
    if sliding_window is not None:
        pack.windows.add(sliding_window)
    observer = attention_observer() if softcap is None and s_aux is None else None
    lengths = pack.lengths
    dtype = query.dtype
    if query.device.type == "cpu" and dtype == torch.bfloat16:
        # float32 for all sequences at once: the backward pass of the bfloat16 kernel is two to five times slower here
        query, key, value = query.float(), key.float(), value.float()
    queries, keys, values = (t.split(lengths, dim=2) for t in (query, key, value))
    outputs = []
    for number, q in enumerate(queries):
        k, v = keys[number], values[number]
        if pack.cache is not None:
            k, v = pack.cache.extend(module, number, k, v)
        if observer is not None:
            observer(module, number, q, k, scaling, sliding_window)
        if pack.pattern.causal:
            out = attend(q, k, v, scaling, sliding_window, softcap, s_aux)
        else:
            out = attend_masked(q, k, v, pack.visible(number), scaling, softcap, s_aux)
        outputs.append(out.transpose(1, 2))
    return torch.cat(outputs, dim=1).to(dtype), None


def attend(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    scaling: float | None,
    window: int | None = None,
    softcap: float | None = None,
    sinks_H: Tensor | None = None,
) -> Tensor:
    """Causal attention of one sequence: q [1, H, L, D] over k, v [1, H_kv, M, D], M >= L, the last L its own."""
    new, seen = q.shape[2], k.shape[2]
    if softcap is not None or sinks_H is not None:
        return _by_hand(q, k, v, scaling, visible(new, seen, window, q.device), softcap, sinks_H)
    banded = window is not None and seen > window
    if new == 1 and not banded:
        return F.scaled_dot_product_attention(q, k, v, scale=scaling, enable_gqa=True)
    if new == seen and not banded:
        return F.scaled_dot_product_attention(q, k, v, is_causal=True, scale=scaling, enable_gqa=True)
    mask = visible(new, seen, window, q.device)
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask, scale=scaling, enable_gqa=True)


def attend_masked(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    visible_LL: Tensor | None,
    scaling: float | None,
    softcap: float | None = None,
    sinks_H: Tensor | None = None,
) -> Tensor:
    """Attention of one sequence, [1, H, L, D], whose rows see what the mask says (None: everything)."""
    if softcap is not None or sinks_H is not None:
        rows = q.shape[2]
        seen = torch.ones(rows, rows, dtype=torch.bool, device=q.device) if visible_LL is None else visible_LL
        return _by_hand(q, k, v, scaling, seen, softcap, sinks_H)
    return F.scaled_dot_product_attention(q, k, v, attn_mask=visible_LL, scale=scaling, enable_gqa=True)


def visible(new: int, seen: int, window: int | None, device: torch.device) -> Tensor:
    """Which of `seen` keys each of the last `new` queries sees: bool [L, M]; `window` counts the query itself."""
    query = torch.arange(seen - new, seen, device=device)[:, None]
    key = torch.arange(seen, device=device)[None, :]
    mask = key <= query
    return mask if window is None else mask & (key > query - window)


def _by_hand(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    scaling: float | None,
    visible_LM: Tensor,
    softcap: float | None,
    sinks_H: Tensor | None,
) -> Tensor:
    """Scores written out, for capped scores (Gemma 2) and attention sinks (gpt-oss)."""
    groups = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(groups, dim=1), v.repeat_interleave(groups, dim=1)
    scores = q @ k.transpose(2, 3) * (q.shape[-1] ** -0.5 if scaling is None else scaling)
    if softcap is not None:
        scores = softcap * torch.tanh(scores / softcap)
    scores = scores.masked_fill(~visible_LM, float("-inf"))
    if sinks_H is None:
        return torch.softmax(scores, dim=-1, dtype=torch.float32).to(v.dtype) @ v
    sink = sinks_H.reshape(1, -1, 1, 1).expand(1, -1, q.shape[2], 1).to(scores.dtype)
    weights = torch.softmax(torch.cat([scores, sink], dim=-1), dim=-1, dtype=torch.float32)
    return weights[..., :-1].to(v.dtype) @ v


def register() -> None:
    """Make the attention known to transformers under the name "octavo"; calling it again changes nothing."""
    from transformers import AttentionInterface

    AttentionInterface.register(NAME, pack_attention)
