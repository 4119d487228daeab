"""The scan of saved weights: counts, norms and movement against plain torch, and what it refuses to open."""

from __future__ import annotations

import io
import json
import math
import pickle
import struct
from pathlib import Path

import pytest
import torch
from rich.console import Console
from safetensors.torch import save_file

from octavo.errors import InputError
from octavo.vitals.check import check_adapter
from octavo.vitals.check_table import check_table

MODULES = ("base_model.model.layers.0.q_proj", "base_model.model.layers.0.v_proj")


def weights(seed: int = 0, rank: int = 4) -> dict[str, torch.Tensor]:
    draw = torch.Generator().manual_seed(seed)
    found = {}
    for module in MODULES:
        found[f"{module}.lora_A.weight"] = torch.randn(rank, 24, generator=draw)
        found[f"{module}.lora_B.weight"] = torch.randn(16, rank, generator=draw)
    return found


def save(folder: Path, tensors: dict[str, torch.Tensor], **config: object) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    save_file(tensors, folder / "adapter_model.safetensors")
    (folder / "adapter_config.json").write_text(json.dumps({"r": 4, "lora_alpha": 8} | config))
    return folder


def test_a_sound_adapter(tmp_path: Path) -> None:
    tensors = weights()
    found = check_adapter(save(tmp_path / "adapter", tensors))
    assert (found["ok"], found["moved"], found["nonfinite"], found["unmoved"]) == (True, True, 0, [])
    facts = {one["name"]: one for one in found["tensors"]}
    assert set(facts) == set(tensors)
    for name, tensor in tensors.items():
        assert facts[name]["norm"] == pytest.approx(float(tensor.double().norm()), rel=1e-12)
        assert facts[name]["max_abs"] == pytest.approx(float(tensor.abs().max()))
        assert (facts[name]["shape"], facts[name]["dtype"]) == (list(tensor.shape), "float32")
    (adapter,) = found["adapters"]
    updates = [
        2.0 * (tensors[f"{m}.lora_B.weight"].double() @ tensors[f"{m}.lora_A.weight"].double())
        for m in MODULES
    ]
    assert [one["update_norm"] for one in adapter["modules"]] == pytest.approx(
        [float(u.norm()) for u in updates]
    )
    assert adapter["update_norm"] == pytest.approx(math.hypot(*(float(u.norm()) for u in updates)))


@pytest.mark.parametrize(
    ("config", "scales"),
    [
        ({"use_rslora": True}, [4, 4]),
        ({"alpha_pattern": {"v_proj": 2}}, [2, 0.5]),
        ({"lora_alpha": None}, [None] * 2),
    ],
)
def test_scale_follows_the_config(tmp_path: Path, config: dict, scales: list) -> None:
    found = check_adapter(save(tmp_path, weights(), **config))
    assert [one["scale"] for one in found["adapters"][0]["modules"]] == scales


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64, torch.float32])
def test_counts_of_what_is_not_finite(tmp_path: Path, dtype: torch.dtype) -> None:
    tensors = {name: tensor.to(dtype) for name, tensor in weights().items()}
    first, second, third, _ = tensors
    tensors[first][0, :3] = math.nan
    tensors[second][1, 0] = -math.inf
    tensors[third][:] = math.nan
    found = check_adapter(save(tmp_path, tensors))
    facts = {one["name"]: one for one in found["tensors"]}
    assert (found["ok"], found["nonfinite"]) == (False, 3 + 1 + tensors[third].numel())
    assert (facts[first]["nan"], facts[first]["inf"], facts[first]["norm"]) == (3, 0, "nan")
    assert (facts[second]["nan"], facts[second]["inf"], facts[second]["norm"]) == (0, 1, "inf")
    assert facts[second]["max_abs"] == "inf"
    json.dumps(found, allow_nan=False)


def test_an_adapter_of_nan_alone_has_not_moved(tmp_path: Path) -> None:
    tensors = {name: torch.full_like(tensor, math.nan) for name, tensor in weights().items()}
    found = check_adapter(save(tmp_path, tensors))
    assert (found["ok"], found["moved"]) == (False, False)
    assert found["nonfinite"] == sum(tensor.numel() for tensor in tensors.values())


@pytest.mark.parametrize("zero", [0.0, -0.0])
def test_a_module_that_never_moved_is_named(tmp_path: Path, zero: float) -> None:
    tensors = weights()
    tensors[f"{MODULES[1]}.lora_B.weight"].fill_(zero)
    found = check_adapter(save(tmp_path, tensors))
    assert (found["ok"], found["moved"], found["unmoved"]) == (False, False, [MODULES[1]])


def test_the_smallest_step_counts_as_moved(tmp_path: Path) -> None:
    tensors = weights()
    tensors[f"{MODULES[1]}.lora_B.weight"].zero_()[3, 1] = 1e-45
    assert check_adapter(save(tmp_path, tensors))["ok"]


def test_other_names_and_shapes(tmp_path: Path) -> None:
    """The adapter's name inside the key, embeddings without `weight`, convolutions, bias, float8, empty."""
    draw = torch.Generator().manual_seed(1)
    a, b = torch.randn(2, 6, 3, 3, generator=draw), torch.randn(5, 2, 1, 1, generator=draw)
    tensors = {
        "m.q.lora_A.default.weight": torch.ones(2, 3),
        "m.q.lora_B.default.weight": torch.ones(4, 2),
        "m.q.lora_B.bias": torch.zeros(4),
        "m.e.lora_embedding_A": torch.ones(2, 9),
        "m.e.lora_embedding_B": torch.zeros(3, 2),
        "m.c.lora_A.weight": a,
        "m.c.lora_B.weight": b,
        "m.head.weight": torch.tensor([1.5, -3.0]).to(torch.float8_e4m3fn),
        "m.ids": torch.arange(4),
        "m.none": torch.zeros(0, 3),
    }
    found = check_adapter(save(tmp_path, tensors, lora_alpha=2))
    modules = {one["name"]: one for one in found["adapters"][0]["modules"]}
    assert set(modules) == {"m.q", "m.e", "m.c"}
    assert found["unmoved"] == ["m.e"]
    assert modules["m.q"]["update_norm"] == pytest.approx(math.sqrt(12) * 2)
    full = torch.einsum("or,rikl->oikl", b[:, :, 0, 0].double(), a.double())
    assert modules["m.c"]["update_norm"] == pytest.approx(float(full.norm()))
    facts = {one["name"]: one for one in found["tensors"]}
    assert facts["m.head.weight"]["max_abs"] == 3.0
    assert facts["m.ids"]["norm"] == pytest.approx(math.sqrt(14))
    assert (facts["m.none"]["norm"], facts["m.none"]["max_abs"]) == (0.0, None)


def test_large_values_do_not_overflow(tmp_path: Path) -> None:
    save_file({"w": torch.full((4,), 1e300, dtype=torch.float64)}, tmp_path / "w.safetensors")
    found = check_adapter(tmp_path / "w.safetensors")
    assert found["tensors"][0]["norm"] == pytest.approx(2e300)
    assert (found["ok"], found["moved"]) == (True, None)


def test_run_and_study_folders(tmp_path: Path) -> None:
    save(tmp_path / "runs" / "control-s0" / "adapter", weights())
    tensors = weights(1)
    tensors[f"{MODULES[0]}.lora_B.weight"].zero_()
    save(tmp_path / "runs" / "spore-s0" / "adapter", tensors)
    assert check_adapter(tmp_path / "runs" / "control-s0")["ok"]
    found = check_adapter(tmp_path)
    assert [one["name"] for one in found["adapters"]] == ["control-s0", "spore-s0"]
    assert found["unmoved"] == [f"spore-s0: {MODULES[0]}"]
    (tmp_path / "runs" / "dead-s0").mkdir()
    found = check_adapter(tmp_path)
    assert (found["missing"], found["ok"]) == (["dead-s0"], False)


@pytest.mark.parametrize("length", [0, 4, 9, 200, -1])
def test_a_file_cut_short_is_refused(tmp_path: Path, length: int) -> None:
    file = save(tmp_path, weights()) / "adapter_model.safetensors"
    file.write_bytes(file.read_bytes()[:length])
    with pytest.raises(InputError, match="not a whole safetensors file"):
        check_adapter(tmp_path)


@pytest.mark.parametrize("name", ["adapter_model.bin", "adapter_model.safetensors", "w.pt"])
@pytest.mark.parametrize("how", ["pickle", "torch"])
def test_pickles_are_refused_unopened(tmp_path: Path, name: str, how: str) -> None:
    if how == "torch":
        torch.save(weights(), tmp_path / name)
    else:
        (tmp_path / name).write_bytes(pickle.dumps({"w": 1}))
    for path in (tmp_path, tmp_path / name):
        with pytest.raises(InputError, match="pickle"):
            check_adapter(path)


@pytest.mark.parametrize("length", [0x80, 0x280, 0x480, 0x4B50])
def test_headers_whose_length_looks_like_a_pickle(tmp_path: Path, length: int) -> None:
    """The file file begins with its header's length: 0x280 reads as a pickle's first bytes, 0x4B50 as PK."""
    header = json.dumps({"w": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}).encode().ljust(length)
    data = struct.pack("<Q", length) + header + struct.pack("<2f", 3, 4)
    (tmp_path / "w.safetensors").write_bytes(data)
    assert check_adapter(tmp_path / "w.safetensors")["tensors"][0]["norm"] == pytest.approx(5)


def test_other_mistakes_of_the_user(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nothing here"):
        check_adapter(tmp_path / "none")
    with pytest.raises(InputError, match=r"no adapter_model\.safetensors"):
        check_adapter(tmp_path)
    (tmp_path / "runs" / "a-s0").mkdir(parents=True)
    with pytest.raises(InputError, match="none of its 1 runs"):
        check_adapter(tmp_path)
    half = weights()
    del half[f"{MODULES[0]}.lora_B.weight"]
    with pytest.raises(InputError, match="has no lora_B"):
        check_adapter(save(tmp_path / "half", half))
    torn = weights() | {f"{MODULES[0]}.lora_A.weight": torch.ones(3, 24)}
    with pytest.raises(InputError, match="their ranks differ"):
        check_adapter(save(tmp_path / "torn", torn))
    (save(tmp_path / "config", weights()) / "adapter_config.json").write_text("{")
    with pytest.raises(InputError, match=r"adapter_config\.json"):
        check_adapter(tmp_path / "config")


def test_a_real_peft_adapter(tmp_path: Path) -> None:
    """Fresh from PEFT, B is zero: nothing has moved. After a change of one B only the others are named."""
    from peft import LoraConfig, get_peft_model

    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(8, 6), torch.nn.Linear(6, 4))
    model = get_peft_model(net, LoraConfig(r=2, lora_alpha=4, target_modules=["0", "1"]))
    model.save_pretrained(tmp_path / "fresh")
    assert len(check_adapter(tmp_path / "fresh")["unmoved"]) == 2
    with torch.no_grad():
        model.base_model.model[0].lora_B["default"].weight.fill_(0.5)
    model.save_pretrained(tmp_path / "moved")
    found = check_adapter(tmp_path / "moved")
    assert found["unmoved"] == ["base_model.model.1"]
    delta = model.base_model.model[0].get_delta_weight("default")
    assert found["adapters"][0]["modules"][0]["update_norm"] == pytest.approx(
        float(delta.detach().norm()), rel=1e-5
    )


def test_the_table_says_what_is_wrong(tmp_path: Path) -> None:
    tensors = weights()
    tensors[f"{MODULES[0]}.lora_A.weight"][0, 0] = math.inf
    tensors[f"{MODULES[1]}.lora_B.weight"].zero_()
    save(tmp_path / "runs" / "a-s0" / "adapter", tensors)
    save(tmp_path / "runs" / "b-s0" / "adapter", weights(2))
    for path, count in ((tmp_path, 1), (tmp_path / "runs" / "a-s0", 4), (tmp_path / "runs" / "b-s0", 4)):
        out = io.StringIO()
        check_table(check_adapter(path), Console(file=out, width=140))
        text = out.getvalue()
        assert text.count("float32") == count
        assert text.rstrip().endswith("ok")
        assert ("not ok" in text) == (path.name != "b-s0")
        assert ("never moved" in text) == (path.name != "b-s0")


def test_a_config_that_promises_lora_beside_weights_that_hold_none_is_not_ok(tmp_path: Path) -> None:
    found = check_adapter(save(tmp_path / "adapter", {"x": torch.ones(2, 2)}))
    assert (found["ok"], found["moved"]) == (False, None)
