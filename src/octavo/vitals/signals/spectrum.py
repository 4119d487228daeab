"""Ranks of the updates, of attention and of hidden states. Described, never tripped on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from octavo.lanes.observe import observe_attention
from octavo.lanes.pack import Sample, build_pack
from octavo.lanes.pattern import Pattern, pattern_of
from octavo.vitals.ranks import (
    attention_weights,
    effective_rank,
    eigenvalue_sizes,
    product_singular_values,
    row_entropy,
    seen_by,
    singular_values,
    stable_rank,
)
from octavo.vitals.signal import LaneMoment, Watched, or_null
from octavo.vitals.stacks import lanes_by_layout, stacks

_PROMPTS = 2
_LAYER_STEP = 4
SINGULAR_VALUES = 8  # of the attention matrices that are kept, from the largest on
_OF_ATTENTION = 2 + SINGULAR_VALUES


class Spectrum:
    """`update_ranks`, `attention` and `hidden_rank`, at step 0 (the base model's own) and every 50.

    update_ranks: {layer: [stable rank, effective rank]} of every B A, at most r; null where it is zero.
    attention: {number of a layer: {entropy, rank, singular_values}} of every fourth layer on two prompts, in which
        nothing is hidden: mean row entropy / ln n; effective rank / n; the largest singular values, each over the
        first, means over heads. Where attention looks ahead, `eigenvalues` in place of singular values: sizes of the
        largest, the first of which is 1. Those of a causal attention matrix are its diagonal and say nothing.
    hidden_rank: {number of a layer: effective rank} of what the layer puts out, less its mean over positions.
    Missing is null: a model whose attention cannot be observed has no `attention`.

    The factorisations wait for the device on their own account.
    """

    name = "spectrum"

    def __init__(self, watched: Watched) -> None:
        self.base, self.bank = watched.base, watched.bank
        self.prompts, self.every = watched.prompts[:_PROMPTS], watched.cadence.spectrum_every
        self.pattern = pattern_of(self.base.config)
        self.layers = decoder_layers(self.base)[::_LAYER_STEP]

    def due(self, step: int) -> bool:
        """Before the first step and rarely."""
        return step % self.every == 0

    @torch.no_grad()
    def measure(self, lanes: Sequence[LaneMoment]) -> dict[str, Tensor]:
        """Ranks [2, M, k] for each layout, and for each kind and layer a tensor [k, figures]."""
        found = {}
        for group in lanes_by_layout(self.bank, [one.lane for one in lanes]):
            parts = [product_singular_values(s.a_MkRI, s.b_MkOR) for s in stacks(self.bank, group)]
            ranks = [torch.stack([stable_rank(s), effective_rank(s)]) for s in parts]
            found[f"update {_key(group)}"] = torch.cat(ranks, dim=1)
        if self.prompts:
            found |= self._read_prompts([one.lane for one in lanes])
        return found

    def _read_prompts(self, lanes: Sequence[int]) -> dict[str, Tensor]:
        samples = [Sample(lane, ids, [True] * len(ids)) for lane in sorted(lanes) for ids in self.prompts]
        pack = build_pack(samples, self.base.device)
        attention: dict[int, dict[int, Tensor]] = {}
        hidden: dict[int, Tensor] = {}
        owners = {id(m): number for number, layer in self.layers for m in layer.modules()}

        def see(module: nn.Module, sequence: int, q: Tensor, k: Tensor, *rest: Any) -> None:
            if (number := owners.get(id(module))) is not None:
                attention.setdefault(number, {})[sequence] = _attention_figures(q, k, self.pattern, *rest)

        with self._watch_layers(hidden, pack.tokens), observe_attention(see):
            self.base.hidden(pack)
        found = {}
        for number, by_sequence in attention.items():
            if len(by_sequence) == len(samples):
                figures = torch.stack([by_sequence[i] for i in range(len(samples))])
                found[f"attention {number}"] = figures.view(len(lanes), len(self.prompts), -1).mean(dim=1)
        for number, states_TE in hidden.items():
            ranks = [_centred_rank(part) for part in states_TE.split(pack.lengths)]
            found[f"hidden {number}"] = torch.stack(ranks).view(len(lanes), -1).mean(dim=1)
        return found

    @contextmanager
    def _watch_layers(self, hidden: dict[int, Tensor], tokens: int) -> Iterator[None]:
        """Keep what each chosen layer puts out; nothing where it reads less than the whole pack at once."""

        def keep(number: int):
            def hook(_module: nn.Module, _inputs: object, output: Any) -> None:
                states = output[0] if isinstance(output, tuple) else output
                if states.shape[:-1].numel() == tokens:
                    hidden[number] = states.reshape(tokens, -1)

            return hook

        handles = [layer.register_forward_hook(keep(number)) for number, layer in self.layers]
        try:
            yield
        finally:
            for handle in handles:
                handle.remove()

    def report(self, lanes: Sequence[LaneMoment], host: Mapping[str, Tensor]) -> list[dict[str, Any]]:
        """The figures of each lane by layer."""
        updates: dict[int, dict[str, Any]] = {}
        for group in lanes_by_layout(self.bank, [one.lane for one in lanes]):
            names = [place.name for stack in stacks(self.bank, group[:1]) for place in stack.places]
            for place, lane in enumerate(group):
                rows = host[f"update {_key(group)}"][:, :, place].T.tolist()
                updates[lane] = dict(zip(names, [[or_null(v) for v in row] for row in rows], strict=True))
        order = sorted(one.lane for one in lanes)
        return [
            {
                "update_ranks": updates.get(one.lane),
                **_of_lane(host, order.index(one.lane), self.pattern.causal),
            }
            for one in lanes
        ]


def _of_lane(host: Mapping[str, Tensor], place: int, causal: bool) -> dict[str, Any]:
    """What was seen of one lane on the prompts; null where nothing was."""
    attention: dict[str, Any] = {}
    hidden: dict[str, Any] = {}
    for key, values in host.items():
        kind, _, number = key.partition(" ")
        if kind == "attention":
            entropy, rank, *spectrum = map(or_null, values[place].tolist())
            name = "singular_values" if causal else "eigenvalues"
            attention[number] = {"entropy": entropy, "rank": rank, name: spectrum}
        elif kind == "hidden":
            hidden[number] = or_null(values[place].item())
    return {"attention": attention or None, "hidden_rank": hidden or None}


def _attention_figures(
    q: Tensor, k: Tensor, pattern: Pattern, scaling: float | None, window: int | None
) -> Tensor:
    """Row entropy, effective rank / n and the first singular values (or eigenvalues) over the largest, of one
    sequence."""
    seen_LL = seen_by(pattern, q.shape[2], window, q.device)
    weights_HLL = attention_weights(q, k, scaling, seen_LL)
    singular_HL = singular_values(weights_HLL)
    rank = effective_rank(singular_HL).mean() / weights_HLL.shape[-1]
    spectrum_HL = singular_HL if pattern.causal else eigenvalue_sizes(weights_HLL)
    relative = (spectrum_HL / spectrum_HL[:, :1]).mean(dim=0)[:SINGULAR_VALUES]
    figures = relative.new_full((_OF_ATTENTION,), torch.nan)
    figures[0], figures[1] = row_entropy(weights_HLL, seen_LL).double(), rank
    figures[2 : 2 + len(relative)] = relative
    return figures


def _centred_rank(states_LE: Tensor) -> Tensor:
    return effective_rank(singular_values(states_LE.float() - states_LE.float().mean(dim=0)))


def decoder_layers(base: Any) -> list[tuple[int, nn.Module]]:
    """(number, module) of the decoder's layers: its first list of as many modules as the config counts layers."""
    count = getattr(base.config.get_text_config(), "num_hidden_layers", None)
    for module in base.decoder.modules():
        if isinstance(module, nn.ModuleList) and len(module) == count:
            return list(enumerate(module))
    return []


def _key(group: Sequence[int]) -> str:
    return ",".join(map(str, group))


def make(watched: Watched) -> Spectrum:
    """The signal."""
    return Spectrum(watched)
