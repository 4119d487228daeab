"""The frozen model as the lanes see it: packed ids in, hidden states out, and a head that makes logits of rows."""

from __future__ import annotations

import inspect
import math
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from octavo.errors import InputError
from octavo.lanes import attention
from octavo.lanes.kernels import FAILURES, kernels_for
from octavo.lanes.loss import head_loss
from octavo.lanes.native import NativeDecoder, native_decoder
from octavo.lanes.observe import attention_observer
from octavo.lanes.pack import Pack, Sample, build_pack, pack_of_one, use_pack
from octavo.lanes.pattern import additive, pattern_of

# largest gap, in units of the largest logit, that the check at load takes for rounding (measured on the families of
# the tests: at most 2e-6 in float32; bfloat16 has eight bits)
TOLERANCE = {torch.float32: 1e-4, torch.bfloat16: 5e-2, torch.float16: 1e-2, torch.float64: 1e-8}


class BaseModel:
    """A `transformers` causal LM, frozen, reading packs.

    A model whose attention the lanes can take over reads a pack at once; models of the Llama family do so through
    the faster native decoder. Any other reads it a sequence at a time, with its own attention: slower, and right for
    every architecture.

    Arguments:
        model: loaded with any attention implementation.
        check: compare packed with plain logits and choose the path by that; without it packs are trusted.

    Attributes:
        pattern: who attends to whom, from the config's `attention_mode` and `block_size`; causal without them.
        packed: whether packs are read at once. notes: why not, for people.
        native: the native decoder, None where the model's own forward pass reads the packs.
        kernels: for the elementwise work beside the decoder.

    Raises:
        InputError: the model has no output head, its head cannot be called apart from it, or its attention cannot
            be made to look ahead where the config asks for that.
    """

    def __init__(self, model: Any, check: bool = True) -> None:
        attention.register()
        self.model: Any = model.eval().requires_grad_(False)
        self.config: Any = model.config
        self.decoder: Any = self.model.base_model
        self.output: Any = self.model.get_output_embeddings()
        if self.output is None or self.decoder is self.model:
            raise InputError(f"{type(model).__name__} is not a causal language model with an output head")
        weight = next(self.model.parameters())
        self.device, self.dtype = weight.device, weight.dtype
        self.notes: list[str] = []
        self.pattern = pattern_of(self.config)
        self.packed = True
        self.kernels = kernels_for(int(self.config.get_text_config().hidden_size))
        self.native: NativeDecoder | None = None
        self._windows: set[int] = set()
        self._own_attention = self.config._attn_implementation
        expected = self._plain_logits() if check else None
        reason = self._take_over(expected)
        if reason is not None:
            if not self.pattern.causal:
                raise InputError(
                    f"{type(model).__name__}: {reason}, so attention: {self.pattern.kind} cannot be had of it. "
                    + self._other_ways()
                )
            self.packed = False
            self.model.set_attn_implementation(self._own_attention)
            self.notes.append(f"{type(model).__name__}: {reason}; its sequences are read one at a time")
            if expected is not None and not self._gap(expected) <= TOLERANCE.get(self.dtype, 1e-2):
                raise InputError(
                    f"{type(model).__name__}: the logits of its hidden states through its output head are not those "
                    "of the model; it changes them in a way that is not known here. Choose another base."
                )
            return
        self.native = native_decoder(self.decoder, self.config)
        if self.native is not None and expected is not None:
            self._try_native(expected)

    def _other_ways(self) -> str:
        """What to do where packs cannot look ahead.

        A causal model that is made to look ahead is far from what it has learned, so that bfloat16's rounding alone
        may move its logits by half of the largest (SmolLM2-135M-Instruct: 0.45 between two kernels of torch's own).
        """
        if self.dtype == torch.float32:
            return "Choose another base, or attention: causal."
        return "It may be rounding: take dtype: float32. If that is refused too, another base, or attention: causal."

    def _try_native(self, expected: list[Tensor]) -> None:
        """Keep the native decoder if it gives the model's own logits and its kernels compile."""
        gap = self._gap(expected)
        reason = None
        if self.kernels.compiled and FAILURES:
            name, why = next(iter(FAILURES.items()))
            reason = f"'{name}' could not be compiled: {why}"
        elif not gap <= TOLERANCE.get(self.dtype, 1e-2):
            reason = f"its logits are {gap:.2g} of the largest logit away"
        if reason is not None:
            self.native = None
            self.notes.append(f"the faster native decoder is not used: {reason}")

    @property
    def path(self) -> str:
        """Which forward pass reads packs: "native", "generic" or "one at a time"."""
        if not self.packed:
            return "one at a time"
        return "generic" if self.native is None else "native"

    def close(self) -> None:
        """Give the model its own attention back."""
        self.model.set_attn_implementation(self._own_attention)

    def hidden(self, pack: Pack) -> Tensor:
        """Last hidden states of a pack, [T, width]; gradients flow to the installed adapters."""
        pack.pattern = self.pattern
        if self.packed:
            return self._read(pack)
        return torch.cat([self._read(pack_of_one(pack, number)) for number in range(len(pack.lengths))])

    def _read(self, pack: Pack) -> Tensor:
        outside = pack.cache is not None or attention_observer() is not None
        if self.native is not None and not outside and not self.native.hooked:
            with use_pack(pack):
                return self.native(pack)
        arguments = {
            "input_ids": pack.ids_T[None],
            "position_ids": pack.positions_T[None],
            "use_cache": False,
        }
        if not self._takes_positions:
            del arguments["position_ids"]
        with use_pack(pack):
            return self.decoder(**arguments).last_hidden_state[0]

    @cached_property
    def _takes_positions(self) -> bool:
        """Models with recurrent layers or ALiBi know no position ids."""
        parameters = inspect.signature(self.decoder.forward).parameters
        return "position_ids" in parameters

    def head(self, hidden_NH: Tensor) -> Tensor:
        """Logits [N, V] of hidden states, with the scaling or cap that the model's config asks for."""
        logits = self.output(hidden_NH)
        if (divisor := getattr(self.config, "logits_scaling", None)) is not None:
            logits = logits / divisor
        if (factor := getattr(self.config, "logit_scale", None)) is not None:
            logits = logits * factor
        if (cap := getattr(self.config, "final_logit_softcapping", None)) is not None:
            logits = cap * torch.tanh(logits / cap)
        return logits

    @torch.no_grad()
    def score(self, samples: Sequence[Sample]) -> tuple[list[float], list[int]]:
        """Summed negative log-likelihood (nats) and number of targets of each sample, in the caller's order.

        Where targets have weights, the sum is of their products; a sample's own weight does not count.
        """
        pack = build_pack([replace(s, weight=1.0) for s in samples], self.device)
        hidden_NH = self.hidden(pack)[pack.label_index_N]
        losses_N, _ = head_loss(self.head, hidden_NH, pack.target_N, None, kernels=self.kernels)
        sums = torch.zeros(len(samples), dtype=torch.float64, device=self.device)
        if any(s.given is not None and s.given.weights is not None for s in samples):
            losses_N = losses_N * pack.weight_N
        sums.index_add_(0, pack.label_sequence_N, losses_N.double())
        found = sums.tolist()
        totals = [0.0] * len(samples)
        counts = [0] * len(samples)
        for place, original in enumerate(pack.order):
            totals[original] = found[place]
            counts[original] = len(samples[original].targets)
        return totals, counts

    @torch.no_grad()
    def _plain_logits(self) -> list[Tensor]:
        """Logits of two short sequences, each alone, by the model's own attention."""
        return [
            self.model(input_ids=ids[None], **self._own_mask(len(ids))).logits[0].float()
            for ids in self._probe_ids()
        ]

    def _own_mask(self, length: int) -> dict[str, Tensor]:
        """The argument that makes the model's own attention follow the pattern; models whose config knows of
        patterns, and causal ones, need none."""
        if self.pattern.causal or hasattr(type(self.config), "attention_mode"):
            return {}
        seen = self.pattern.visible(torch.arange(length, device=self.device))
        if seen is None:
            seen = torch.ones(length, length, dtype=torch.bool, device=self.device)
        return {"attention_mask": additive(seen, self.dtype)[None, None]}

    def _probe_ids(self) -> list[Tensor]:
        weight = next(self.model.parameters())
        vocabulary = int(self.config.get_text_config().vocab_size)
        draw = torch.Generator().manual_seed(0)
        return [torch.randint(0, vocabulary, (n,), generator=draw).to(weight.device) for n in (7, 12)]

    def _take_over(self, expected: list[Tensor] | None) -> str | None:
        """Switch to the lanes' attention; says why the model has to keep its own, or None."""
        try:
            self.model.set_attn_implementation(attention.NAME)
        except (ValueError, AttributeError, NotImplementedError) as error:
            return f"its attention cannot be replaced ({error})"
        if expected is None:
            return None
        kinds = set(getattr(self.config.get_text_config(), "layer_types", None) or [])
        if "chunked_attention" in kinds:
            return "it attends in chunks, which packs do not do"
        gap = self._gap(expected)
        if not gap <= TOLERANCE.get(self.dtype, 1e-2):
            return f"packed sequences do not get the logits that each has alone (gap {gap:.2g} of the largest logit)"
        return self._window_problem()

    def _window_problem(self) -> str | None:
        if self._windows and not self.pattern.causal:
            return "it has layers with a sliding window"
        if self._wants_window() and not self._windows:
            return "it does not hand its sliding window to the attention function"
        return None

    def _wants_window(self) -> bool:
        text = self.config.get_text_config()
        kinds = getattr(text, "layer_types", None)
        if kinds is not None:
            return "sliding_attention" in kinds
        return getattr(text, "sliding_window", None) is not None

    @torch.no_grad()
    def _gap(self, expected: list[Tensor]) -> float:
        """Largest difference of the logits of two sequences in one pack from those of each alone, in units of the
        largest logit."""
        samples = [Sample(0, ids.tolist(), [True] * len(ids)) for ids in self._probe_ids()]
        pack = build_pack(samples, self.device)
        try:
            packed = self.head(self.hidden(pack)).float()
        except (RuntimeError, TypeError, ValueError, AttributeError):
            return math.nan  # attention that calls for arguments or shapes that a pack does not have
        self._windows = pack.windows
        pairs = zip(expected, packed.split([len(s.ids) for s in samples]), strict=True)
        gaps = [
            float((rows - alone).abs().max() / alone.abs().max().clamp_min(1e-12)) for alone, rows in pairs
        ]
        return math.nan if any(map(math.isnan, gaps)) else max(gaps)
