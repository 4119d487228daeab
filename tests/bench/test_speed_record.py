"""Slices of the speed bench add up, and its figures are those of all of them."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from octavo.errors import InputError
from tests.conftest import ROOT

FAST = "bfloat16"


@pytest.fixture(autouse=True)
def _bench_on_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "bench"))


def arm(name: str) -> Any:
    from speed.worker import Arm

    return Arm(*name.split())


def add_slice(
    path: Path, turns: list[dict[str, float]], gaps: dict[str, float] | None = None, **work: Any
) -> Any:
    """Put turns of {arm: seconds} into a record, as a slice of the bench does; peaks are 100 bytes a second."""
    from speed.record import Record
    from speed.worker import Done
    from speed.workload import Workload

    workload, record = Workload(**work), Record(path)
    record.open(workload, 4096)
    for name in dict.fromkeys(name for turn in turns for name in turn):
        record.met(workload, SimpleNamespace(arm=arm(name), error=None, load=1.0, warm_up=2.0, labels=600))
    for seconds in turns:
        turn = record.begin_turn(workload)
        for name, value in seconds.items():
            record.add(workload, turn, arm(name), Done(value, round(100 * value), ""))
    for name, gap in (gaps or {}).items():
        record.add_gap(workload, arm(name), gap)
    return record.workloads[workload.name]


def test_slices_add_up(tmp_path: Path) -> None:
    from speed.record import Record, figures_of

    path = tmp_path / "record.json"
    add_slice(
        path, [{"peft bfloat16": 8.0, "fused bfloat16": 2.0}, {"peft bfloat16": 9.0, "fused bfloat16": 3.0}]
    )
    add_slice(path, [{"peft bfloat16": 10.0, "fused bfloat16": 2.0, "trl bfloat16": 12.0}])
    gaps = {"peft float32": 0.0, "fused float32": 3e-6}
    add_slice(path, [{"peft float32": 9.5, "fused float32": 4.75}], gaps)
    entry = Record(path).workloads["gsm8k, attention"]
    found = figures_of(entry, FAST)
    # the ratios of the three turns are 4, 3 and 5; the medians of the seconds alone would make 4.5 of them
    assert found["speedup_vs_best_sequential"] == 4.0
    assert found["interval"] == [3.0, 5.0]
    assert found["best_sequential"] == "peft bfloat16"
    assert found["speedup_fp32"] == 2.0
    assert found["peak_over_single_run"] == 0.3
    assert found["max_relative_difference"] == 3e-6
    assert found["label_tokens_per_second"] == 300.0
    assert found["turns"] == 4


def test_a_faster_sequential_arm_of_another_slice_is_the_one_to_beat(tmp_path: Path) -> None:
    from speed.record import figures_of, recorded_best

    path = tmp_path / "record.json"
    add_slice(path, [{"peft bfloat16": 8.0, "fused bfloat16": 2.0}])
    entry = add_slice(path, [{"trl-padding-free bfloat16": 6.0}])
    found = figures_of(entry, FAST)
    assert found["best_sequential"] == "trl-padding-free bfloat16"
    assert found["speedup_vs_best_sequential"] == 3.0
    assert recorded_best(path, FAST) == arm("trl-padding-free bfloat16")


def test_the_largest_gap_and_peak_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "record.json"
    add_slice(path, [{"fused float32": 5.0}], {"fused float32": 4e-6})
    entry = add_slice(path, [{"fused float32": 4.0}], {"fused float32": 1e-6})
    assert entry["arms"]["fused float32"]["gap"] == 4e-6
    assert entry["arms"]["fused float32"]["peak_bytes"] == 500


def test_another_size_is_not_mixed_in(tmp_path: Path) -> None:
    path = tmp_path / "record.json"
    add_slice(path, [{"fused float32": 5.0}], steps=3)
    with pytest.raises(InputError, match="another size"):
        add_slice(path, [{"fused float32": 5.0}], steps=2)


def test_what_was_not_measured_is_null(tmp_path: Path) -> None:
    from speed.record import figures_of, table

    entry = add_slice(tmp_path / "record.json", [{"peft bfloat16": 8.0}])
    found = figures_of(entry, FAST)
    assert found["speedup_vs_best_sequential"] is None
    assert found["peak_over_single_run"] is None
    assert found["max_relative_difference"] is None
    assert "| peft bfloat16 | 1 | 8.0 | 75 | 1.00x" in table(entry)


def test_an_arm_that_cannot_be_measured_is_said(tmp_path: Path) -> None:
    from speed.record import Record, table
    from speed.workload import Workload

    record = Record(tmp_path / "record.json")
    record.open(Workload(), 4096)
    record.met(Workload(), SimpleNamespace(arm=arm("trl bfloat16"), error="No module named 'trl'"))
    entry = record.workloads["gsm8k, attention"]
    assert "trl bfloat16: cannot be measured here: No module named 'trl'" in table(entry)


def test_the_headline_is_gsm8k_with_attention_adapters(tmp_path: Path) -> None:
    from speed.record import headline

    path = tmp_path / "record.json"
    for source, targets in (("builtin", "all-linear"), ("gsm8k", "all-linear"), ("builtin", "attention")):
        add_slice(path, [{"peft bfloat16": 1.0}], source=source, targets=targets)
    assert headline(json.loads(path.read_text())["workloads"]) == "builtin, attention"
    add_slice(path, [{"peft bfloat16": 1.0}])
    assert headline(json.loads(path.read_text())["workloads"]) == "gsm8k, attention"


@pytest.mark.parametrize(
    "content", ["", "{}", '{"best_sequential": null}', '{"best_sequential": {"kind": "peft"}}']
)
def test_without_a_full_bench_the_plain_arm_is_compared_with(content: str, tmp_path: Path) -> None:
    from speed.record import recorded_best

    path = tmp_path / "record.json"
    path.write_text(content)
    assert recorded_best(path, FAST) == arm("peft bfloat16")


def test_a_best_arm_in_a_dtype_that_is_slow_here_is_not_taken(tmp_path: Path) -> None:
    from speed.record import recorded_best

    path = tmp_path / "record.json"
    path.write_text('{"best_sequential": {"kind": "trl", "dtype": "bfloat16"}}')
    assert recorded_best(path, FAST) == arm("trl bfloat16")
    assert recorded_best(path, "float32") == arm("peft float32")


def test_arms_of_the_command_line() -> None:
    from throughput import chosen_arms

    assert chosen_arms(["fused", "peft:float32"], FAST) == [
        arm("fused bfloat16"),
        arm("fused float32"),
        arm("peft float32"),
    ]
    with pytest.raises(InputError, match="fast"):
        chosen_arms(["fast"], FAST)
