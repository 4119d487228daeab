"""What the model still says to fixed prompts: the collapse of what it can do, seen from outside.

Where tokens are hidden, each prompt is read once with the same ones hidden for every run and step.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from octavo.lanes.pack import build_pack
from octavo.vitals.signal import LaneMoment, Watched

_ROWS = 256  # of logits at a time: 50 MB in float32 with a vocabulary of 49,152


class Probe:
    """`probe_nll`, `probe_entropy` (nats a token) and `probe_share`, at step 0 and every 10.

    Formula, over the n predicted tokens of the fixed prompts: mean of -ln p(token), of -sum p ln p; distinct most
    likely tokens / n. Hidden tokens count with their weights in the means, so that the first is the bound of masked
    diffusion; its share is null: a base that has not learned it yet guesses the commonest token for a while, which is
    no harm. At step 0 B is zero, so that its reading is the base model's own. One pack for all lanes, no
    dropout, no gradient. A logit that is not finite makes all three of its lane nan.
    """

    name = "probe"

    def __init__(self, watched: Watched) -> None:
        self.base, self.every, self.objective = watched.base, watched.cadence.probe_every, watched.objective
        self.prompts = [_Prompt(f"prompt {i}", ids) for i, ids in enumerate(watched.prompts)]

    def due(self, step: int) -> bool:
        """Before the first step and every few."""
        return bool(self.prompts) and step % self.every == 0

    @torch.no_grad()
    def measure(self, lanes: Sequence[LaneMoment]) -> dict[str, Tensor]:
        """The three figures of each lane, [k, 3]."""
        samples = [self.objective.glance(prompt, one.lane) for one in lanes for prompt in self.prompts]
        pack = build_pack(samples, self.base.device)
        hidden_NH = self.base.hidden(pack)[pack.label_index_N]
        parts = zip(hidden_NH.split(_ROWS), pack.target_N.split(_ROWS), strict=True)
        figures_3N = torch.cat([_figures(self.base.head(h), t) for h, t in parts], dim=1)
        # a pack is sorted by lane, and every lane has the same prompts in the same order
        order = sorted(range(len(lanes)), key=lambda i: lanes[i].lane)
        nll, entropy, choice = figures_3N.view(3, len(lanes), -1)
        weight_kn = pack.weight_N.double().view(len(lanes), -1)
        share_of_kn = weight_kn / weight_kn.sum(dim=1, keepdim=True)
        sorted_kn = choice.sort(dim=1).values
        distinct_k = (sorted_kn.diff(dim=1) != 0).sum(dim=1) + 1
        share_k = distinct_k.double() / choice.shape[1]
        nll_k = (nll * share_of_kn).sum(dim=1)
        share_k = torch.where(nll_k.isfinite(), share_k, torch.full_like(share_k, torch.nan))
        found = torch.stack([nll_k, (entropy * share_of_kn).sum(dim=1), share_k], dim=1)
        places = torch.tensor(sorted(range(len(lanes)), key=lambda i: order[i]))
        return {"figures": found[places.to(found.device)]}

    def report(self, lanes: Sequence[LaneMoment], host: Mapping[str, Tensor]) -> list[dict[str, Any]]:  # noqa: ARG002
        """The figures by name."""
        names = ("probe_nll", "probe_entropy", "probe_share")
        found: list[dict[str, Any]] = [dict(zip(names, row, strict=True)) for row in host["figures"].tolist()]
        return [row | {"probe_share": None} for row in found] if self.objective.bound else found


@dataclass(frozen=True)
class _Prompt:
    """A prompt as a row of data, all of it to be predicted."""

    id: str
    ids: Sequence[int]
    units: None = None

    @property
    def labels(self) -> Sequence[bool]:
        return [True] * len(self.ids)

    @property
    def targets(self) -> int:
        return len(self.ids) - 1


def _figures(logits_NV: Tensor, target_N: Tensor) -> Tensor:
    """Negative log-likelihood, entropy and most likely token of each row, float64 [3, N]."""
    log_p = torch.log_softmax(logits_NV.float(), dim=-1)
    nll = -log_p.gather(1, target_N[:, None])[:, 0]
    entropy = torch.special.entr(log_p.exp()).sum(dim=-1)
    return torch.stack([nll.double(), entropy.double(), logits_NV.argmax(dim=-1).double()])


def make(watched: Watched) -> Probe:
    """The signal."""
    return Probe(watched)
