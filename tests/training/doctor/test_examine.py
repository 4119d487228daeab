"""What follows from the results: the choice, the findings and what mends them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from octavo.artifacts import json_safe
from octavo.cli import app
from octavo.training.doctor import known, machine
from octavo.training.doctor.children import START, Probed, Result
from octavo.training.doctor.examine import NOTE, STOPS, examine
from octavo.training.doctor.text import examination_text
from tests.training.doctor.fakes import CPU, GPU, Devices


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    (tmp_path / "cache" / "bases" / "a").mkdir(parents=True)
    (tmp_path / "cache" / "bases" / "a" / "manifest.json").write_text("{}")
    return tmp_path / "cache"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A machine without graphics cards."""
    (tmp_path / "root").mkdir()
    return tmp_path / "root"


def with_amd(root: Path, *versions: int) -> Path:
    for number, version in enumerate([0, *versions]):  # the first node is a CPU
        folder = root / f"sys/class/kfd/kfd/topology/nodes/{number}"
        folder.mkdir(parents=True)
        (folder / "properties").write_text(f"cpu_cores_count 8\ngfx_target_version {version}\n")
    return root


def look(cache: Path, root: Path, devices=None, environ: dict[str, str] | None = None):
    return examine(environ or {}, cache, probe=devices or Devices(), root=root)


def texts(found, level: str) -> list[str]:
    return [f"{f.text} | {f.mend}" for f in found.findings if f.level == level]


def test_a_cpu_alone_trains(cache, root):
    found = look(cache, root)
    assert found.good
    assert found.chosen == {"device": "A CPU", "kind": "cpu", "dtype": "float32", "kernel": "sdpa"}
    assert texts(found, STOPS) == []


def test_a_crash_and_a_nan_lead_to_the_next_kernel(cache, root):
    bad = {
        "varlen:bfloat16": "nan",
        "sdpa:bfloat16": "crashed: SIGSEGV",
        "flash:bfloat16": "crashed: SIGSEGV",
    }
    found = look(cache, root, Devices(bad))
    assert found.good
    assert (found.chosen["dtype"], found.chosen["kernel"]) == ("bfloat16", "efficient")
    said = "\n".join(texts(found, NOTE))
    assert "attention 'varlen' in bfloat16: nan" in said
    assert "attention 'flash' in bfloat16: crashed: SIGSEGV" in said


def test_a_dtype_without_a_good_kernel_is_left_for_float32(cache, root):
    bad = {
        f"{kernel}:bfloat16": "nan" for kernel in ("varlen", "sdpa", "flash", "efficient", "math", "eager")
    }
    found = look(cache, root, Devices(bad))
    assert (found.good, found.chosen["dtype"]) == (True, "float32")


def test_a_gpu_without_any_stops_training(cache, root):
    kernels = ("varlen", "sdpa", "flash", "efficient", "math", "eager")
    bad = {f"{kernel}:{dtype}": "hung: no answer" for kernel in kernels for dtype in ("bfloat16", "float32")}
    found = look(cache, root, Devices(bad))
    assert not found.good
    assert found.chosen["kernel"] is None
    assert "A GPU: no attention kernel gives a right result | CUDA_VISIBLE_DEVICES=" in texts(found, STOPS)[0]
    assert "training: not possible" in examination_text(found)


def test_a_gpu_that_does_not_come_up_stops_training_and_says_how_to_go_without(cache, root):
    def probe(device, probes, environ, seconds):
        if device == "cpu":
            return Probed("cpu", CPU, {}, [Result(p, "ok") for p in probes])
        return Probed("cuda", None, {}, [Result(START, "crashed: SIGABRT")])

    found = look(cache, root, probe)
    assert not found.good
    assert "could not be made ready: crashed: SIGABRT | CUDA_VISIBLE_DEVICES= HIP" in texts(found, STOPS)[0]


def test_gfx1102_gets_its_override(cache, root):
    with_amd(root, 110002)
    found = look(cache, root, Devices(None, hip="7.0", torch="2.13.0"))
    assert any(
        "gfx1102" in t and t.endswith("export HSA_OVERRIDE_GFX_VERSION=11.0.0") for t in texts(found, NOTE)
    )
    with_it = look(cache, root, Devices({}), {"HSA_OVERRIDE_GFX_VERSION": "11.0.0"})
    assert not any("gfx1102" in t for t in texts(with_it, NOTE))


def test_gfx1102_is_known_by_torch_s_own_name_too(cache, root):
    found = look(cache, root, Devices({}, {**GPU, "architecture": "gfx1102:sramecc-:xnack-"}))
    assert any(t.startswith("gfx1102") for t in texts(found, NOTE))


@pytest.mark.parametrize(("version", "name"), [(110002, "gfx1102"), (90010, "gfx90a"), (100300, "gfx1030")])
def test_names_of_amd_s_architectures(root, version: int, name: str):
    assert machine.amd_architectures(with_amd(root, version)) == [name]


def test_cards_that_torch_is_not_built_for(cache, root):
    (root / "proc/driver/nvidia/gpus/0000:01:00.0").mkdir(parents=True)
    found = look(cache, root)
    assert "1 NVIDIA GPUs; this torch is built for no GPU" in texts(found, NOTE)[0]
    hidden = look(cache, root, Devices(None, cuda="13.0"), {"CUDA_VISIBLE_DEVICES": ""})
    assert texts(hidden, NOTE)[0].endswith("unset CUDA_VISIBLE_DEVICES")


def test_the_forbidden_pair_of_allocator_settings_stops_training(cache, root):
    setting = "expandable_segments:True,max_split_size_mb:128"
    found = look(cache, root, Devices({}), {"PYTORCH_HIP_ALLOC_CONF": setting})
    assert not found.good
    assert "take max_split_size_mb out" in texts(found, STOPS)[0]


@pytest.mark.parametrize(
    ("facts", "name"),
    [
        (GPU, "PYTORCH_ALLOC_CONF"),
        ({**GPU, "torch": "2.8.1"}, "PYTORCH_HIP_ALLOC_CONF"),
        ({**GPU, "torch": "2.8.1", "hip": None, "cuda": "12.8"}, "PYTORCH_CUDA_ALLOC_CONF"),
    ],
)
def test_expandable_segments_are_tried_and_advised_under_the_name_that_torch_reads(
    cache, root, facts, name: str
):
    devices = Devices({}, facts)
    found = look(cache, root, devices)
    assert found.chosen["allocator"] == f"{name}=expandable_segments:True"
    assert f"export {name}=expandable_segments:True" in " ".join(texts(found, NOTE))
    device, probes, environ = devices.calls[-1]
    assert (device, probes) == ("cuda", ["allocator"])
    assert environ[name] == "expandable_segments:True"


def test_expandable_segments_that_lose_numbers_are_not_advised(cache, root):
    found = look(cache, root, Devices({"allocator": "wrong"}))
    assert "allocator" not in found.chosen
    assert any("does not work here (wrong)" in t for t in texts(found, NOTE))


def test_what_the_user_has_set_is_not_tried_again(cache, root):
    devices = Devices({})
    look(cache, root, devices, {"PYTORCH_ALLOC_CONF": "max_split_size_mb:128"})
    assert [call[0] for call in devices.calls] == ["cpu", "cuda"]


def test_missing_things_come_with_the_command_that_mends_them(cache, root, monkeypatch, tmp_path):
    monkeypatch.setattr(machine, "versions", lambda: {"torch": "2.13.0", "peft": None})
    monkeypatch.setattr(machine, "compiler", lambda: {"cxx": None, "python_h": "/usr/include/Python.h"})
    found = look(tmp_path / "none", root)
    assert texts(found, STOPS) == ["not installed: peft | pip install peft"]
    notes = " ".join(texts(found, NOTE))
    assert "a C++ compiler missing" in notes
    assert "octavo base smollm2-135m-instruct" in notes


def test_a_cache_that_cannot_be_written_to_stops_training(root, tmp_path):
    (tmp_path / "file").write_text("not a folder")
    found = look(tmp_path / "file" / "cache", root)
    assert "cannot be written to | export OCTAVO_CACHE=FOLDER" in texts(found, STOPS)[0]


def test_the_text_holds_every_kernel_and_the_json_is_json(cache, root):
    found = look(cache, root, Devices({"flash:float16": "crashed: SIGSEGV"}))
    text = examination_text(found)
    assert "ROCm: A GPU, 16.00 GiB, 8.00 GiB for this process, fast in bfloat16, gfx1100" in text
    assert "crashed" in text
    assert "attention by 'varlen'" in text
    again = json.loads(json.dumps(json_safe(found.to_json()), allow_nan=False))
    assert again["ok"] is True
    assert {r["result"] for r in again["devices"][1]["results"]} == {"ok", "crashed: SIGSEGV"}


@pytest.mark.parametrize(("gpu", "code"), [(None, 0), ({}, 0)])
def test_the_command(cache, monkeypatch, gpu, code: int):
    from octavo.training.doctor import examine as module

    devices = Devices(gpu)
    monkeypatch.setattr(module.examine, "__defaults__", (60.0, devices, Path("/none")))
    monkeypatch.setenv("OCTAVO_CACHE", str(cache))
    result = CliRunner().invoke(app, ["doctor", "--json"])
    assert result.exit_code == code
    assert json.loads(result.stdout)["chosen"]["kind"] == ("cpu" if gpu is None else "cuda")
    assert known.record_path().exists() == (gpu is not None)
