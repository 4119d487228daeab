"""Saved adapters on their base: figures against numpy and plain peft, and what is said of those that do not load."""

from __future__ import annotations

import io
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import peft
import pytest
import torch
from rich.console import Console
from safetensors.numpy import load_file, save_file
from transformers import AutoModelForCausalLM

from octavo.errors import InputError
from octavo.lanes.adapters import AdapterBank, AdapterSpec
from octavo.lanes.base import BaseModel
from octavo.lanes.peft_io import adapter_files
from octavo.lanes.targets import resolve_targets
from octavo.models.load import load_tokenizer
from octavo.models.resolve import BaseSource
from octavo.vitals.check import check_adapter
from octavo.vitals.check_table import check_table
from octavo.vitals.reload import load_base, reload
from tests.vitals.test_intruders import plain

# of peft and transformers, which the references call
pytestmark = [
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]
SIZE = 0.5


def model_of(source: BaseSource) -> Any:
    return AutoModelForCausalLM.from_pretrained(source.folder, dtype=torch.float32).eval()


def peft_adapter(folder: Path, source: BaseSource, **config: Any) -> Any:
    """A plain peft adapter whose every matrix is random, saved; returns the adapted model."""
    settings = {"r": 3, "lora_alpha": 6, "target_modules": ["q_proj", "v_proj", "down_proj"]} | config
    adapted = peft.get_peft_model(model_of(source), peft.LoraConfig(task_type="CAUSAL_LM", **settings))
    draw = torch.Generator().manual_seed(5)
    with torch.no_grad():
        for name, weight in adapted.named_parameters():
            if "lora_B" in name or "lora_embedding_" in name:
                weight.copy_(SIZE * torch.randn(weight.shape, generator=draw))
    adapted.save_pretrained(folder)
    return adapted.eval()


def weights(model: Any) -> dict[str, np.ndarray]:
    return {name: weight.detach().numpy().astype(np.float64) for name, weight in model.named_parameters()}


KINDS: dict[str, dict[str, Any]] = {
    "plain": {},
    "rank-stabilised": {"use_rslora": True},
    "patterns": {"rank_pattern": {"v_proj": 2}, "alpha_pattern": {"q_proj": 24}},
    "dora": {"use_dora": True},
    "embedding": {"target_modules": ["embed_tokens", "q_proj"]},
}


@pytest.mark.parametrize("kind", KINDS)
def test_figures_are_those_of_numpy_on_what_peft_merges(tmp_path: Path, tiny: BaseSource, kind: str) -> None:
    adapted = peft_adapter(tmp_path, tiny, **KINDS[kind])
    ids = load_base(tiny, torch.device("cpu")).ids
    with torch.no_grad():
        logits = adapted(input_ids=torch.tensor([ids])).logits[0, -1]
    before, after = weights(model_of(tiny)), weights(adapted.merge_and_unload())
    found = check_adapter(tmp_path, str(tiny.folder))["against_base"][tmp_path.name]
    assert (found["good"], found["loaded"], found["reason"]) == (True, True, None)
    layers = {one["name"]: one for one in found["modules"]}
    changed = {n.removesuffix(".weight") for n in before if not np.array_equal(before[n], after[n])}
    assert set(layers) == changed
    for name, one in layers.items():
        w, tuned = before[f"{name}.weight"], after[f"{name}.weight"]
        ratio = np.linalg.norm(tuned - w) / np.linalg.norm(w)
        assert one["relative_update"] == pytest.approx(ratio, rel=1e-4)
        assert one["intruders"] == plain(w, tuned)
    assert found["intruders"] == sum(one["intruders"] for one in layers.values())
    assert found["largest_update"] == max(one["relative_update"] for one in layers.values())
    base_logits = model_of(tiny)(input_ids=torch.tensor([ids])).logits[0, -1].detach()
    change = float((logits - base_logits).abs().max() / base_logits.abs().max())
    assert found["logit_change"] == pytest.approx(change, rel=1e-3)


def test_the_answer_is_what_plain_generation_says(tmp_path: Path, tiny: BaseSource) -> None:
    adapted = peft_adapter(tmp_path, tiny)
    base = load_base(tiny, torch.device("cpu"))
    found = reload(base, tmp_path, finite=True)
    for model, answer in ((adapted, found["answer"]), (model_of(tiny), found["base_answer"])):
        ids = torch.tensor([base.ids])
        made = model.generate(
            input_ids=ids, max_new_tokens=24, do_sample=False, pad_token_id=2, eos_token_id=2
        )
        text = load_tokenizer(tiny).decode([i for i in made[0, len(base.ids) :].tolist() if i != 2])
        assert answer == text
    assert found["answer"] != found["base_answer"]


def test_an_adapter_of_ours_names_its_base(tmp_path: Path, tiny: BaseSource) -> None:
    base = BaseModel(model_of(tiny))
    spec = AdapterSpec(4, 8, 0.0, tuple(resolve_targets(base.model, "attention")))
    bank = AdapterBank(base.model, [spec], 1)
    bank.occupy(0, spec)
    bank.initialise(0, 1)
    draw = torch.Generator().manual_seed(2)
    bank.write(0, {n: (a, 0.1 * torch.randn(b.shape, generator=draw)) for n, (a, b) in bank.read(0).items()})
    for name, content in adapter_files(spec, bank.read(0), str(tiny.folder), base.model).items():
        (tmp_path / name).write_bytes(content)
    report = check_adapter(tmp_path, "own")
    found = report["against_base"][tmp_path.name]
    assert (report["ok"], found["good"], found["base"]) == (True, True, str(tiny.folder))
    assert len(found["modules"]) == len(spec.targets)
    name, (a, b) = next(iter(bank.read(0).items()))
    layer = next(one for one in found["modules"] if one["name"] == name)
    weight = bank.model.get_submodule(name).base.weight
    assert layer["relative_update"] == pytest.approx(float((2 * b @ a).norm() / weight.norm()), rel=1e-5)
    json.dumps(report, allow_nan=False)


def changed(folder: Path, change: Any) -> Path:
    """Rewrite an adapter's tensors."""
    file = folder / "adapter_model.safetensors"
    save_file(change(load_file(file)), file)
    return folder


def test_adapters_that_do_not_load_are_named_and_the_base_stays_as_it_was(
    tmp_path: Path, tiny: BaseSource
) -> None:
    base = load_base(tiny, torch.device("cpu"))
    for name in ("lacking", "torn", "good"):
        peft_adapter(tmp_path / name, tiny)
    changed(tmp_path / "lacking", lambda t: {n: v for n, v in t.items() if "layers.1" not in n})
    changed(tmp_path / "torn", lambda t: {n: v[:, :1] if "lora_B" in n else v[:1] for n, v in t.items()})
    lacking = reload(base, tmp_path / "lacking", finite=True)
    torn = reload(base, tmp_path / "torn", finite=True)
    good = reload(base, tmp_path / "good", finite=True)
    assert (lacking["loaded"], torn["loaded"], good["loaded"]) == (False, False, True)
    assert "missing adapter keys" in lacking["reason"]
    assert "size mismatch" in torn["reason"]
    assert lacking["intruders"] is None
    alone = reload(load_base(tiny, torch.device("cpu")), tmp_path / "good", finite=True)
    assert good == alone
    ids = torch.tensor([base.ids])
    assert torch.equal(base.model(ids).logits, model_of(tiny)(ids).logits)


def test_an_adapter_with_a_nan_loads_and_says_nothing(tmp_path: Path, tiny: BaseSource) -> None:
    peft_adapter(tmp_path, tiny)

    def spoil(tensors: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        next(iter(tensors.values()))[0, 0] = math.nan
        return tensors

    report = check_adapter(changed(tmp_path, spoil), str(tiny.folder))
    found = report["against_base"][tmp_path.name]
    assert (report["ok"], found["loaded"], found["good"], found["answer"]) == (False, True, False, None)
    assert found["intruders"] is None
    json.dumps(report, allow_nan=False)


def test_a_base_that_is_not_here_is_no_fault_unless_it_was_given(tmp_path: Path, tiny: BaseSource) -> None:
    peft_adapter(tmp_path, tiny)
    config = tmp_path / "adapter_config.json"
    for name, said in (("nobody/nothing-0b", "not on this machine"), (None, "names no base")):
        config.write_text(json.dumps(json.loads(config.read_text()) | {"base_model_name_or_path": name}))
        report = check_adapter(tmp_path, "own")
        assert report["ok"]
        assert said in report["against_base"][tmp_path.name]["reason"]
    with pytest.raises(InputError, match="no config"):
        check_adapter(tmp_path, str(tmp_path.parent))


def test_the_table_shows_the_answer_or_why_there_is_none(tmp_path: Path, tiny: BaseSource) -> None:
    for name in ("a-s0", "b-s0"):
        peft_adapter(tmp_path / "runs" / name / "adapter", tiny)
    changed(
        tmp_path / "runs" / "b-s0" / "adapter",
        lambda t: {n: v[:, :1] if "_B" in n else v[:1] for n, v in t.items()},
    )
    out = io.StringIO()
    check_table(check_adapter(tmp_path, str(tiny.folder)), Console(file=out, width=160))
    assert "on its base" in out.getvalue()
    assert f"b-s0 does not load on {tiny.folder}" in out.getvalue()
    assert out.getvalue().rstrip().endswith("not ok")
