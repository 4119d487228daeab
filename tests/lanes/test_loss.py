"""The chunked loss against torch's own."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from octavo.lanes.loss import head_loss


@pytest.mark.parametrize("chunk", [1, 7, 64])
def test_losses_and_gradient_are_torchs(chunk: int):
    torch.manual_seed(0)
    head, hidden = nn.Linear(8, 31, bias=False), torch.randn(20, 8, requires_grad=True)
    target, weight = torch.randint(0, 31, (20,)), torch.rand(20)
    losses, grad = head_loss(head, hidden.detach(), target, weight, chunk)
    wanted = F.cross_entropy(head(hidden), target, reduction="none")
    (expected,) = torch.autograd.grad((wanted * weight).sum(), hidden)
    torch.testing.assert_close(losses, wanted.detach())
    torch.testing.assert_close(grad, expected)


def test_no_gradient_is_made_when_none_is_asked():
    head = nn.Linear(8, 31)
    losses, grad = head_loss(head, torch.randn(5, 8), torch.arange(5), None)
    assert grad is None
    assert losses.shape == (5,)


def test_a_nan_row_leaves_the_others():
    torch.manual_seed(0)
    head, hidden = nn.Linear(8, 31), torch.randn(6, 8)
    target, weight = torch.randint(0, 31, (6,)), torch.ones(6)
    clean = head_loss(head, hidden, target, weight)
    hidden[2] = torch.nan
    dirty = head_loss(head, hidden, target, weight)
    rest = [0, 1, 3, 4, 5]
    assert torch.equal(dirty[0][rest], clean[0][rest])
    assert torch.equal(dirty[1][rest], clean[1][rest])
    assert torch.isnan(dirty[0][2])


def test_nothing_labelled_gives_nothing():
    losses, grad = head_loss(
        nn.Linear(8, 31), torch.randn(0, 8), torch.zeros(0, dtype=torch.int64), torch.zeros(0)
    )
    assert losses.shape == (0,)
    assert grad.shape == (0, 8)
