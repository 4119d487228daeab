"""Spectra: how many directions a matrix really has."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from octavo.lanes.attention import visible
from octavo.lanes.pattern import Pattern


def effective_rank(singular: Tensor) -> Tensor:
    """exp(H(s / sum s)) over the last dimension (Roy and Vetterli 2007); nan for a zero matrix."""
    share = singular / singular.sum(dim=-1, keepdim=True)
    return torch.special.entr(share).sum(dim=-1).exp()


def stable_rank(singular: Tensor) -> Tensor:
    """||M||_F^2 / sigma_1^2 over the last dimension (Rudelson and Vershynin 2007); nan for a zero matrix."""
    return singular.square().sum(dim=-1) / singular[..., 0].square()


def product_singular_values(a_RI: Tensor, b_OR: Tensor) -> Tensor:
    """Singular values of B A, [..., R], in float64, from QR of the two and the SVD of R x R.

    B A = Q_b (R_b R_a^T) Q_a^T. Matrices with a number that is not finite get nan: the SVD itself would raise.
    """
    good = a_RI.isfinite().all(-1).all(-1) & b_OR.isfinite().all(-1).all(-1)
    mask = good[..., None, None]
    r_a = torch.linalg.qr(torch.where(mask, a_RI, 0).mT, mode="r").R
    r_b = torch.linalg.qr(torch.where(mask, b_OR, 0), mode="r").R
    found = torch.linalg.svdvals(r_b.double() @ r_a.double().mT)
    return torch.where(good[..., None], found, torch.nan)


def singular_values(matrix: Tensor) -> Tensor:
    """Singular values in float64, descending; nan where the matrix holds a number that is not finite."""
    good = matrix.isfinite().all(-1).all(-1)
    found = torch.linalg.svdvals(torch.where(good[..., None, None], matrix, 0).double())
    return torch.where(good[..., None], found, torch.nan)


def eigenvalue_sizes(matrix: Tensor) -> Tensor:
    """|lambda| of square matrices in float64, descending; nan where a number is not finite."""
    good = matrix.isfinite().all(-1).all(-1)
    safe = torch.where(good[..., None, None], matrix, 0).double()
    found = torch.linalg.eigvals(safe).abs().sort(dim=-1, descending=True).values
    return torch.where(good[..., None], found, torch.nan)


def seen_by(pattern: Pattern, length: int, window: int | None, device: torch.device) -> Tensor:
    """Which keys each row of a sequence in one part sees, bool [L, L]; a window is one of causal attention."""
    if pattern.causal:
        return visible(length, length, window, device)
    seen_LL = pattern.visible(torch.arange(length, device=device))
    return torch.ones(length, length, dtype=torch.bool, device=device) if seen_LL is None else seen_LL


def attention_weights(q: Tensor, k: Tensor, scaling: float | None, seen_LL: Tensor) -> Tensor:
    """Attention [H, L, L] of one sequence in float32: q [1, H, L, D], k [1, H_kv, L, D]; `seen_LL` of `seen_by`."""
    k = k.repeat_interleave(q.shape[1] // k.shape[1], dim=1)
    scores = q.float() @ k.float().mT * (q.shape[-1] ** -0.5 if scaling is None else scaling)
    return torch.softmax(scores.masked_fill(~seen_LL, -math.inf), dim=-1)[0]


def row_entropy(weights_HLL: Tensor, seen_LL: Tensor) -> Tensor:
    """Mean over heads and rows of H(row) / ln n, n the keys that the row sees; rows that see one key have none.

    0: every row looks at one token; 1: at all alike. nan where nothing has two keys, or a weight is not finite.
    """
    seen_L = seen_LL.sum(dim=-1)
    share_HL = torch.special.entr(weights_HLL).sum(dim=-1) / seen_L.clamp_min(2).log()
    return share_HL[:, seen_L > 1].mean()
