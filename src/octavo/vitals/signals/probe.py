"""What the model still says to fixed prompts: the collapse of what it can do, seen from outside."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from octavo.lanes.pack import Sample, build_pack
from octavo.vitals.signal import LaneMoment, Watched

_ROWS = 256  # of logits at a time: 50 MB in float32 with a vocabulary of 49,152


class Probe:
    """`probe_nll`, `probe_entropy` (nats a token) and `probe_share`, at step 0 and every 10.

    Formula, over the n predicted tokens of the fixed prompts: mean of -ln p(token); mean of -sum p ln p; distinct most
    likely tokens / n. At step 0 B is zero, so that its reading is the base model's own. One pack for all lanes, no
    dropout, no gradient. A logit that is not finite makes all three of its lane nan.
    """

    name = "probe"

    def __init__(self, watched: Watched) -> None:
        self.base, self.prompts, self.every = watched.base, watched.prompts, watched.cadence.probe_every

    def due(self, step: int) -> bool:
        """Before the first step and every few."""
        return bool(self.prompts) and step % self.every == 0

    @torch.no_grad()
    def measure(self, lanes: Sequence[LaneMoment]) -> dict[str, Tensor]:
        """The three figures of each lane, [k, 3]."""
        samples = [Sample(one.lane, ids, [True] * len(ids)) for one in lanes for ids in self.prompts]
        pack = build_pack(samples, self.base.device)
        hidden_NH = self.base.hidden(pack)[pack.label_index_N]
        parts = zip(hidden_NH.split(_ROWS), pack.target_N.split(_ROWS), strict=True)
        figures_3N = torch.cat([_figures(self.base.head(h), t) for h, t in parts], dim=1)
        # a pack is sorted by lane, and every lane has the same prompts in the same order
        order = sorted(range(len(lanes)), key=lambda i: lanes[i].lane)
        nll, entropy, choice = figures_3N.view(3, len(lanes), -1)
        sorted_kn = choice.sort(dim=1).values
        distinct_k = (sorted_kn.diff(dim=1) != 0).sum(dim=1) + 1
        share_k = distinct_k.double() / choice.shape[1]
        nll_k = nll.mean(dim=1)
        share_k = torch.where(nll_k.isfinite(), share_k, torch.full_like(share_k, torch.nan))
        found = torch.stack([nll_k, entropy.mean(dim=1), share_k], dim=1)
        places = torch.tensor(sorted(range(len(lanes)), key=lambda i: order[i]))
        return {"figures": found[places.to(found.device)]}

    def report(self, lanes: Sequence[LaneMoment], host: Mapping[str, Tensor]) -> list[dict[str, Any]]:  # noqa: ARG002
        """The figures by name."""
        names = ("probe_nll", "probe_entropy", "probe_share")
        return [dict(zip(names, row, strict=True)) for row in host["figures"].tolist()]


def _figures(logits_NV: Tensor, target_N: Tensor) -> Tensor:
    """Negative log-likelihood, entropy and most likely token of each row, float64 [3, N]."""
    log_p = torch.log_softmax(logits_NV.float(), dim=-1)
    nll = -log_p.gather(1, target_N[:, None])[:, 0]
    entropy = torch.special.entr(log_p.exp()).sum(dim=-1)
    return torch.stack([nll.double(), entropy.double(), logits_NV.argmax(dim=-1).double()])


def make(watched: Watched) -> Probe:
    """The signal."""
    return Probe(watched)
