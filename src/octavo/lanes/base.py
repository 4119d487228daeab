"""The frozen model as the lanes see it: packed ids in, hidden states out, and a head that makes logits of rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from octavo.errors import InputError
from octavo.lanes import attention
from octavo.lanes.loss import head_loss
from octavo.lanes.pack import Pack, Sample, build_pack, use_pack

# largest gap, in units of the largest logit, that the check at load takes for rounding (measured on the families of
# the tests: at most 2e-6 in float32; bfloat16 has eight bits)
TOLERANCE = {torch.float32: 1e-4, torch.bfloat16: 5e-2, torch.float16: 1e-2, torch.float64: 1e-8}


class BaseModel:
    """A `transformers` causal LM, frozen, reading packs.

    Arguments:
        model: loaded with any attention implementation; it is switched to the lanes' own.

    Raises:
        InputError: the model does not honour packs or its head cannot be called apart; the message says which.
    """

    def __init__(self, model: Any, check: bool = True) -> None:
        attention.register()
        self.model: Any = model.eval().requires_grad_(False)
        self.config: Any = model.config
        self.decoder: Any = self.model.base_model
        self.output: Any = self.model.get_output_embeddings()
        if self.output is None or self.decoder is self.model:
            raise InputError(f"{type(model).__name__} is not a causal language model with an output head")
        expected = self._plain_logits() if check else None
        self.model.set_attn_implementation(attention.NAME)
        weight = next(self.model.parameters())
        self.device, self.dtype = weight.device, weight.dtype
        if expected is not None:
            self._check_packs(expected)

    def hidden(self, pack: Pack) -> Tensor:
        """Last hidden states of a pack, [T, width]; gradients flow to the installed adapters."""
        with use_pack(pack):
            out = self.decoder(
                input_ids=pack.ids_T[None], position_ids=pack.positions_T[None], use_cache=False
            )
        return out.last_hidden_state[0]

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
        """Summed negative log-likelihood (nats) and number of targets of each sample, in the caller's order."""
        pack = build_pack(samples, self.device)
        hidden_NH = self.hidden(pack)[pack.label_index_N]
        losses_N, _ = head_loss(self.head, hidden_NH, pack.target_N, None)
        sums = torch.zeros(len(samples), dtype=torch.float64, device=self.device)
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
        return [self.model(input_ids=ids[None]).logits[0].float() for ids in self._probe_ids()]

    def _probe_ids(self) -> list[Tensor]:
        weight = next(self.model.parameters())
        vocabulary = int(self.config.get_text_config().vocab_size)
        draw = torch.Generator().manual_seed(0)
        return [torch.randint(0, vocabulary, (n,), generator=draw).to(weight.device) for n in (7, 12)]

    @torch.no_grad()
    def _check_packs(self, expected: list[Tensor]) -> None:
        """Two sequences in one pack must give the logits that each has alone."""
        samples = [Sample(0, ids.tolist(), [True] * len(ids)) for ids in self._probe_ids()]
        packed = self.head(self.hidden(build_pack(samples, self.device))).float()
        for alone, rows in zip(expected, packed.split([len(s.ids) for s in samples]), strict=True):
            gap = float((rows - alone).abs().max() / alone.abs().max().clamp_min(1e-12))
            if not gap <= TOLERANCE.get(self.dtype, 1e-2):
                raise InputError(
                    f"{type(self.model).__name__}: packed sequences do not get the logits that each has alone "
                    f"(largest gap {gap:.2g} of the largest logit). Its attention is not one that lanes can take "
                    "over; choose another base."
                )
