"""Each chain against torch or transformers, its backward pass against autograd."""

import pytest
import torch
import torch.nn.functional as F
from transformers.models.llama.modeling_llama import LlamaRMSNorm, apply_rotary_pos_emb

from octavo.lanes import kernels as k

ROWS, WIDTH, EPS = 7, 16, 1e-5


def draw(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape)), requires_grad=True)


def rms_norm() -> LlamaRMSNorm:
    layer = LlamaRMSNorm(WIDTH, EPS).requires_grad_(False)
    layer.weight.copy_(torch.linspace(0.5, 2.0, WIDTH))
    return layer


def test_norm_and_its_gradient_are_those_of_transformers():
    layer, x, dy = rms_norm(), draw(ROWS, WIDTH), torch.randn(ROWS, WIDTH)
    wanted = layer(x)
    torch.testing.assert_close(k.norm(x.detach(), layer.weight, EPS), wanted)
    (dx,) = torch.autograd.grad(wanted, x, dy)
    torch.testing.assert_close(k.norm_backward(dy, x.detach(), layer.weight, EPS), dx)


def test_the_stream_with_a_branch_gets_both_gradients():
    layer, x, branch = rms_norm(), draw(ROWS, WIDTH), torch.randn(ROWS, WIDTH)
    dtotal, dy = torch.randn(ROWS, WIDTH), torch.randn(ROWS, WIDTH)
    total, normed = k.add_norm(x.detach(), branch, layer.weight, EPS)
    torch.testing.assert_close((total, normed), (x + branch, layer(x + branch)))
    (dx,) = torch.autograd.grad((x + branch, layer(x + branch)), x, (dtotal, dy))
    torch.testing.assert_close(k.add_norm_backward(dtotal, dy, total, layer.weight, EPS), dx)


def test_rotation_is_that_of_transformers():
    x, dy = draw(ROWS, 3, 8), torch.randn(3, ROWS, 8)
    angles = torch.outer(torch.arange(ROWS) * 1.0, torch.tensor([1.0, 0.3, 0.1, 0.03])).repeat(1, 2)
    cos, sin = angles.cos(), angles.sin()
    wanted = apply_rotary_pos_emb(x.transpose(0, 1)[None], x.transpose(0, 1)[None], cos[None], sin[None])[0][
        0
    ]
    torch.testing.assert_close(k.rotate(x.detach(), cos, sin), wanted)
    (dx,) = torch.autograd.grad(wanted, x, dy)
    torch.testing.assert_close(k.rotate_backward(dy, cos, sin), dx)


def test_swiglu_and_its_gradients_are_torchs():
    gate, up, dy = draw(ROWS, WIDTH), draw(ROWS, WIDTH + 0), torch.randn(ROWS, WIDTH)
    up = (up.detach() * 2 + 1).requires_grad_()
    wanted = F.silu(gate) * up
    torch.testing.assert_close(k.swiglu(gate.detach(), up.detach()), wanted)
    expected = torch.autograd.grad(wanted, (gate, up), dy)
    torch.testing.assert_close(k.swiglu_backward(dy, gate.detach(), up.detach()), expected)


def test_losses_and_their_gradients_are_torchs_cross_entropy():
    logits = (draw(ROWS, 50).detach() * 30).requires_grad_()
    target, weight = torch.arange(ROWS) * 7, torch.rand(ROWS)
    losses, totals = k.target_losses(logits.detach(), target)
    wanted = F.cross_entropy(logits, target, reduction="none")
    torch.testing.assert_close(losses, wanted)
    (dlogits,) = torch.autograd.grad((wanted * weight).sum(), logits)
    torch.testing.assert_close(k.target_gradients(logits.detach(), totals, target, weight), dlogits)


@pytest.mark.real
def test_compiled_chains_give_what_the_eager_ones_give():
    compiled = k.Kernels(True)
    for rows in (37, 64):  # the second size must not need other code
        x, branch, dy = (draw(rows, 256 + n).detach()[:, :256].contiguous() for n in range(3))
        weight = torch.linspace(0.5, 2.0, 256)
        for name, arguments in {
            "add_norm": (x, branch, weight, EPS),
            "add_norm_backward": (branch, dy, x, weight, EPS),
            "swiglu_backward": (dy, x, branch),
        }.items():
            found, wanted = getattr(compiled, name)(*arguments), getattr(k.EAGER, name)(*arguments)
            torch.testing.assert_close(found, wanted, rtol=1e-5, atol=1e-5)
    assert not k.FAILURES
