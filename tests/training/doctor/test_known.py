"""What an examination has found is used by the trainings that follow."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from octavo.lanes import varlen
from octavo.training.attention_kernels import avoid
from octavo.training.doctor.children import Probed, Result
from octavo.training.doctor.known import known_results, record_path, save
from tests.training.doctor.fakes import GPU, Devices

CUDA = SimpleNamespace(type="cuda")
BAD = {"flash:bfloat16": "crashed: SIGSEGV"}


@pytest.fixture(autouse=True)
def _a_gpu(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("OCTAVO_CACHE", str(tmp_path))
    monkeypatch.delenv("HSA_OVERRIDE_GFX_VERSION", raising=False)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda _device: "A GPU")
    monkeypatch.setattr(torch, "__version__", "2.13.0")
    yield
    varlen._refused = False
    for switch in ("flash", "mem_efficient", "cudnn", "math"):
        getattr(torch.backends.cuda, f"enable_{switch}_sdp")(True)


def examined(results: dict[str, str]) -> Probed:
    return Probed("cuda", GPU, {}, [Result(probe, result) for probe, result in results.items()])


def test_nothing_is_asked_of_a_cpu():
    assert known_results(torch.device("cpu"), print) == {}


def test_what_was_found_is_kept_for_this_card_torch_and_override(monkeypatch):
    save(examined(BAD), {})
    assert known_results(CUDA, print) == BAD
    monkeypatch.setenv("HSA_OVERRIDE_GFX_VERSION", "11.0.0")
    assert known_results(CUDA, print) == {}
    monkeypatch.delenv("HSA_OVERRIDE_GFX_VERSION")
    monkeypatch.setattr(torch, "__version__", "2.14.0")
    assert known_results(CUDA, print) == {}


def test_rocm_is_examined_before_its_first_training_and_only_then(monkeypatch):
    monkeypatch.setattr(torch.version, "hip", "7.0")
    devices, said = Devices(BAD), []
    found = known_results(CUDA, said.append, devices)
    assert found["flash:bfloat16"] == "crashed: SIGSEGV"
    assert "tried in a child process first" in said[0]
    known_results(CUDA, said.append, devices)
    assert len(devices.calls) == len(said) == 1


def test_a_damaged_record_is_as_none(monkeypatch):
    record_path().write_text("{")
    assert known_results(CUDA, print) == {}


def test_crashing_kernels_are_turned_off_and_named():
    good, said = avoid(torch.bfloat16, {**BAD, "varlen:bfloat16": "nan", "math:bfloat16": "ok"})
    assert good
    assert not torch.backends.cuda.flash_sdp_enabled()
    assert varlen._refused
    assert said == [
        "attention in bfloat16 gave NaN: the varlen kernel is not used",
        "attention in bfloat16 gave an error (crashed: SIGSEGV): the flash kernel is not used",
    ]


def test_a_dtype_with_none_left_is_not_tried():
    known = dict.fromkeys(("flash:bfloat16", "efficient:bfloat16", "math:bfloat16"), "crashed: SIGSEGV")
    good, said = avoid(torch.bfloat16, known)
    assert not good
    assert said == ["attention in bfloat16 has no kernel on this device that is right"]
    assert torch.backends.cuda.flash_sdp_enabled()
