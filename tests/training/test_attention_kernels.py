"""Attention kernels are tried before training; what gives NaN or wrong values is not used, and that is said."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

from octavo.errors import MachineError
from octavo.lanes import varlen
from octavo.training import attention_kernels, device
from octavo.training.attention_kernels import ABSENT, NAN, OK, WRONG, attempt
from tests.lanes.tiny import NanBackward

CPU = torch.device("cpu")


@pytest.fixture(autouse=True)
def _afresh():
    """Each test on a device of which nothing is known."""
    attention_kernels._settle.cache_clear()
    yield
    attention_kernels._settle.cache_clear()
    varlen._refused = False
    for switch in ("flash", "mem_efficient", "cudnn"):
        getattr(torch.backends.cuda, f"enable_{switch}_sdp")(True)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("kernel", ["sdpa", "flash", "math", "eager"])
def test_what_a_cpu_has_is_right(kernel: str, dtype: torch.dtype):
    assert attempt(kernel, CPU, dtype) == OK


@pytest.mark.filterwarnings("ignore:.*ernel")  # torch says why it has none
@pytest.mark.parametrize("kernel", ["efficient", "varlen"])
def test_what_a_cpu_has_not_is_absent_not_a_failure(kernel: str):
    assert attempt(kernel, CPU, torch.float32) == ABSENT


@pytest.mark.parametrize(
    ("damage", "outcome"),
    [(lambda out: out * torch.nan, NAN), (torch.zeros_like, WRONG), (lambda out: out * 1.3, WRONG)],
)
def test_damaged_attention_is_seen(monkeypatch: pytest.MonkeyPatch, damage, outcome: str):
    plain = F.scaled_dot_product_attention
    monkeypatch.setattr(F, "scaled_dot_product_attention", lambda *a, **k: damage(plain(*a, **k)) + 0 * a[0])
    assert attempt("sdpa", CPU, torch.float32) == outcome


def test_a_nan_in_the_backward_pass_alone_is_seen(monkeypatch: pytest.MonkeyPatch):
    plain = F.scaled_dot_product_attention
    monkeypatch.setattr(F, "scaled_dot_product_attention", lambda *a, **k: NanBackward.apply(plain(*a, **k)))
    assert attempt("sdpa", CPU, torch.float32) == NAN


def test_a_kernel_that_raises_has_failed_but_a_full_device_says_nothing_of_it(
    monkeypatch: pytest.MonkeyPatch,
):
    def raising(error: Exception):
        def call(*_args, **_kwargs):
            raise error

        return call

    monkeypatch.setattr(F, "scaled_dot_product_attention", raising(RuntimeError("bad launch\nmore")))
    assert attempt("sdpa", CPU, torch.float32) == "failed: bad launch"
    monkeypatch.setattr(F, "scaled_dot_product_attention", raising(torch.OutOfMemoryError("full")))
    with pytest.raises(torch.OutOfMemoryError):
        attempt("sdpa", CPU, torch.float32)


def test_a_kernel_with_nan_is_turned_off_and_the_next_is_taken(monkeypatch: pytest.MonkeyPatch):
    def trial(kernel, _device, _dtype):
        if kernel == "varlen":
            return NAN
        return NAN if torch.backends.cuda.flash_sdp_enabled() else OK

    monkeypatch.setattr(attention_kernels, "attempt", trial)
    said: list[str] = []
    assert device.pick_dtype("bfloat16", CPU, said.append) is torch.bfloat16
    assert said == [
        "attention in bfloat16 gave NaN: the varlen kernel is not used",
        "attention in bfloat16 gave NaN: the flash kernel is not used",
    ]
    assert varlen._refused
    assert torch.backends.cuda.mem_efficient_sdp_enabled()


def test_a_dtype_in_which_every_kernel_gives_nan_is_left_for_float32(monkeypatch: pytest.MonkeyPatch):
    def trial(kernel, _device, dtype):
        return OK if dtype == torch.float32 else NAN

    monkeypatch.setattr(attention_kernels, "attempt", trial)
    said: list[str] = []
    assert device.pick_dtype("bfloat16", CPU, said.append) is torch.float32
    assert said[-1] == "attention in bfloat16 gives NaN with every kernel of this device"
    assert torch.backends.cuda.flash_sdp_enabled()  # float32 may use it


def test_a_device_without_a_finite_kernel_trains_nothing(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(attention_kernels, "attempt", lambda *_: WRONG)
    with pytest.raises(MachineError, match=r"wrong values with every kernel .* `octavo doctor` tells more"):
        device.pick_dtype("auto", CPU)
