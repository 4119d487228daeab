"""The list of kept tensors against what autograd keeps, and the limits that are read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import GPT2Config, GPT2LMHeadModel, LlamaForCausalLM, LlamaModel

from octavo.lanes.adapters import AdapterBank, AdapterSpec
from octavo.lanes.base import BaseModel
from octavo.lanes.native import is_native
from octavo.lanes.pack import Sample, build_pack
from octavo.lanes.targets import resolve_targets
from octavo.models.resolve import BaseSource
from octavo.training import compiler
from octavo.training.footprint import activation_bytes_per_token
from octavo.training.limits import cgroup_limits
from octavo.training.plan import Demand, make_plan
from octavo.training.planning import path_of
from octavo.training.probe import Line, Step, line_through, steps_of
from tests.lanes.tiny import tiny_llama

TOKENS = 64
GROUP = "work/study"


def kept_bytes(path: str, layers: int, targets: str | tuple[str, ...], dtype: torch.dtype) -> int:
    """Bytes of all storages that autograd keeps of one forward pass, parameters aside."""
    model = tiny_llama(num_hidden_layers=layers).to(dtype)
    base = BaseModel(model)
    if path == "generic":
        base.native = None
    assert base.path == path
    spec = AdapterSpec(4, 16, 0.0, tuple(resolve_targets(model, targets)))
    bank = AdapterBank(model, [spec], 1)
    bank.occupy(0, spec)
    bank.initialise(0, 0)
    ids = list(range(1, TOKENS // 2 + 1))
    pack = build_pack([Sample(0, ids, [True] * len(ids))] * 2, "cpu")
    weights = {p.untyped_storage().data_ptr() for p in model.parameters()}
    found: dict[int, int] = {}

    def keep(tensor: torch.Tensor) -> torch.Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in weights:
            found[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        hidden = base.hidden(pack)
    assert hidden.requires_grad
    return sum(found.values())


@pytest.mark.parametrize("path", ["native", "generic"])
@pytest.mark.parametrize("targets", ["attention", "all-linear", ("q_proj", "o_proj"), ("down_proj",)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_the_list_of_tensors_is_what_autograd_keeps(
    path: str, targets: str | tuple[str, ...], dtype: torch.dtype
):
    """The difference of two depths is what a layer keeps; A x lies beside autograd."""
    a_layer = kept_bytes(path, 3, targets, dtype) - kept_bytes(path, 2, targets, dtype)
    model = tiny_llama(num_hidden_layers=1)
    names = resolve_targets(model, targets)
    listed = activation_bytes_per_token(model.config, dtype, names, path, dropout=False, rank=0)
    assert a_layer == listed * TOKENS


def test_the_plan_counts_what_the_data_holds_and_keeps_to_the_limit():
    config = tiny_llama().config
    arguments = (config, torch.float32, 10_000, 500, ["layers.0.self_attn.q_proj"], 4, 50)
    full = make_plan(*arguments, 10**9)
    small = make_plan(*arguments, 10**9, Demand(largest=lambda budget: (min(budget, 100), 40)))
    assert full.micro_step_tokens == small.micro_step_tokens == 2560
    assert small.predicted_bytes["activations"] * 2560 == full.predicted_bytes["activations"] * 100
    tight = make_plan(*arguments, 2_000_000)
    assert 50 <= tight.micro_step_tokens < 2560
    assert tight.predicted_bytes["training"] <= 2_000_000


def test_answers_are_made_a_few_at_a_time_where_all_do_not_fit():
    config = tiny_llama().config
    demand = Demand(
        largest=lambda _: (60, 30),
        heldout_tokens=lambda _: 60,
        prompts=1000,
        longest_prompt=50,
        new_tokens=96,
    )
    plan = make_plan(config, torch.float32, 10_000, 500, ["x.q_proj"], 1, 50, 2_000_000, demand)
    assert plan.answers_at_once is not None
    assert 1 <= plan.answers_at_once < 1000
    assert plan.predicted_bytes["evaluation"] <= 2_000_000


def test_the_line_leaves_the_logits_aside_and_one_step_takes_the_formula_slope():
    def head(rows: int) -> int:
        return 7 * min(rows, 10)

    # the process has come to hold 100 more for good between the two; 30 more are taken by a step of any size
    steps = [
        Step(100, 5, 1000, 1000 + 35 + 30 + 200, 1.0),
        Step(200, 50, 1100, 1100 + 70 + 30 + 400, 2.0),
    ]
    assert line_through(steps, head, 99.0) == Line(1130.0, 2.0)
    assert line_through(steps[:1], head, 3.0) == Line(930.0, 3.0)


def test_probe_steps_hold_the_longest_example_that_leaves_room():
    samples = [Sample(0, [1] * n, [True] * n) for n in (5, 30, 8, 9, 12)]
    sizes = [sorted(len(s.ids) for s in step) for step in steps_of(samples, [20, 45])]
    assert sizes == [[5, 12], [5, 8, 30]]
    assert [len(step) for step in steps_of(samples[1:2], [3, 6])] == [1]


def write(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="ascii")
    return root


def test_every_cgroup_around_the_process_counts(tmp_path: Path):
    root = write(
        tmp_path,
        {
            "proc/self/cgroup": f"0::/{GROUP}\n",
            f"sys/fs/cgroup/{GROUP}/memory.max": "max\n",
            f"sys/fs/cgroup/{GROUP}/memory.high": "900\n",
            "sys/fs/cgroup/work/memory.max": "1000\n",
            "sys/fs/cgroup/work/memory.stat": "anon 300\nfile 5000\nshmem 20\n",
        },
    )
    # of the outer group's 320 bytes 100 are this process's own; file pages can be dropped
    assert cgroup_limits(100, root) == [900, 780]


def test_a_container_that_shows_the_hosts_path_is_read_at_its_mount(tmp_path: Path):
    files = {
        "proc/self/cgroup": "5:cpu:/docker/ab\n4:memory:/docker/ab\n",
        "sys/fs/cgroup/memory/memory.limit_in_bytes": "4096\n",
        "sys/fs/cgroup/memory/memory.stat": "rss 1\ntotal_rss 96\ntotal_shmem 0\nshmem 9\n",
    }
    assert cgroup_limits(0, write(tmp_path, files)) == [4000]


def test_no_cgroup_is_no_limit(tmp_path: Path):
    assert cgroup_limits(0, tmp_path) == []


def tiny_gpt2() -> GPT2LMHeadModel:
    return GPT2LMHeadModel(GPT2Config(vocab_size=64, n_embd=32, n_layer=1, n_head=2, n_positions=64))


@pytest.mark.parametrize(("make", "path"), [(tiny_llama, "native"), (tiny_gpt2, "generic")])
def test_the_forward_pass_is_known_without_weights(make: Callable[[], Any], path: str):
    loaded = make()
    with torch.device("meta"):
        shape = type(loaded)(loaded.config)
    assert path_of(shape, []) == BaseModel(loaded).path == path


def test_wide_models_are_read_natively_only_with_a_compiler(monkeypatch: pytest.MonkeyPatch):
    config = tiny_llama().config
    config.hidden_size = 256
    assert not is_native(LlamaModel, config)
    monkeypatch.setenv("OCTAVO_COMPILE", "1")
    assert is_native(LlamaModel, config)
    assert not is_native(LlamaForCausalLM, config)
    config.hidden_act = "gelu"
    assert not is_native(LlamaModel, config)


def test_the_compiler_is_loaded_for_bases_that_ask_for_it(tiny: BaseSource, monkeypatch: pytest.MonkeyPatch):
    loaded: list[int] = []
    monkeypatch.setattr(compiler, "_compile_one", lambda: loaded.append(1))
    cpu = torch.device("cpu")
    compiler.settle_compiler([tiny], cpu)  # too narrow, and turned off
    monkeypatch.setenv("OCTAVO_COMPILE", "1")
    compiler.settle_compiler([tiny], cpu)
    assert not loaded
    monkeypatch.setattr("octavo.lanes.kernels.NARROWEST", 8)
    compiler.settle_compiler([tiny], cpu)
    assert len(loaded) == 1


def test_an_example_longer_than_what_is_worth_having_is_a_micro_step_of_its_own():
    config = tiny_llama().config
    plan = make_plan(config, torch.float32, 10_000, 500, ["x.q_proj"], 4, 9000, 10**9)
    assert plan.micro_step_tokens == 9000
