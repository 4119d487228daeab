"""Runs: which there are, what each is set to, and what they are called."""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from octavo.errors import InputError
from octavo.expand import run_id
from octavo.study import Study
from octavo.yaml_text import Document, read_yaml

SMALL = "variants: [{name: control, recipe: control}]\n"

# After a public report on a reader that took 1e-5 for text: values as people write them, line by line.
HARD = """\
bases: [{model: smollm2-135m-instruct}]
variants: [{name: "no", recipe: a}, {name: on, recipe: a}, {name: "1e3", recipe: a}, {name: 2026-11-30, recipe: a},
  {name: "0777", recipe: a}, {name: "null", recipe: a}, {name: control, recipe: a}]
train: {learning_rate: 1e-5, schedule: {warmup_steps: 1000}, epochs: "3", lora: {dropout: .1}}
sweep:
  train.learning_rate: [1e-5, 1.0e-5, 0.00001, "1e-05", 0.000010000001, 1e-7, 2e-7]
seeds: [1, 1, 01, "1"]
"""


def parse(text: str) -> Study:
    return Study.parse(read_yaml(text, "t"))


def ids(text: str) -> list[str]:
    return [run.id for run in parse(text).expand()]


def complaint(text: str) -> str:
    with pytest.raises(InputError) as caught:
        parse(text)
    return str(caught.value)


def test_hard_numbers_and_names() -> None:
    study = parse(HARD)
    runs = study.expand()
    names = ["no", "on", "1e3", "2026-11-30", "0777", "null", "control"]
    rates = ["1e-05", "1.0000001e-05", "1e-07", "2e-07"]
    assert [run.id for run in runs] == [f"{n}-learning_rate{r}-s1" for n, r in product(names, rates)]
    assert [run.train.learning_rate for run in runs[:4]] == [1e-5, 1.0000001e-5, 1e-7, 2e-7]
    assert {(run.train.epochs, run.train.schedule.warmup_steps, run.train.lora.dropout) for run in runs} == {
        (3, 1000, 0.1)
    }
    assert study.notes == [
        "seeds: 1, 1, 01, 1 are the seeds 1: equal ones are one run",
        "sweep.train.learning_rate: 1e-5, 1.0e-5, 0.00001, 1e-05 are one value, 1e-05: one run a seed",
    ]


@pytest.mark.parametrize(
    ("before", "after", "part"),
    [
        ("2e-7]", "2e-7, .nan]", "t, line 6: sweep.train.learning_rate[7]: .nan is not finite"),
        ("2e-7]", "2e-7, -1e-4]", "t, line 6: sweep.train.learning_rate[7]: -1e-4 is not above 0"),
        ("2e-7]", "2e-7, fast]", "t, line 6: sweep.train.learning_rate[7]: fast is no number"),
        ('"1"]', '"1", 18446744073709551616]', "t, line 7: seeds"),
        ("1000}", "1_000}", "t, line 4: train.schedule.warmup_steps: 1_000 is text"),
        (
            '"no"',
            "control",
            "t, line 3: variants[6].name: control is the name of variants[0] too (t, line 2)",
        ),
    ],
)
def test_hard_values_that_are_none(before: str, after: str, part: str) -> None:
    assert part in complaint(HARD.replace(before, after, 1))


def test_runs_are_variants_times_values_times_seeds() -> None:
    runs = parse(
        "variants: [{name: a, recipe: x}, {name: b, recipe: x, train: {epochs: 1, schedule.kind: wsd}}]\n"
        "sweep: {train.lora.rank: [4, 8], train.lora.targets: [attention, [q_proj, v_proj]]}\n"
        "seeds: 2\n"
    ).expand()
    assert len(runs) == 2 * 4 * 2
    assert runs[0].id == "a-rank4-targetsattention-s0"
    assert runs[3].id == "a-rank4-targetsq_proj_v_proj-s1"
    last = runs[-1]
    assert (last.variant, last.base, last.seed) == ("b", "smollm2", 1)
    assert (last.train.epochs, last.train.schedule.kind, last.train.lora.rank) == (1, "wsd", 8)
    assert last.train.schedule.warmup_steps == 50


def test_bases_are_crossed_or_chosen() -> None:
    text = "bases: [{name: small}, {name: big}]\nvariants: [{name: a, recipe: x}"
    assert ids(text + "]\nsweep: {base: [big, small]}") == ["a-basebig-s0", "a-basesmall-s0"]
    chosen = parse(text + ", {name: b, recipe: x, base: big}]").expand()
    assert [(run.id, run.base) for run in chosen] == [("a-s0", "small"), ("b-s0", "big")]


@pytest.mark.parametrize(
    ("sweep", "part"),
    [
        ("{learning_rate: [1]}", "cannot be swept; did you mean train.learning_rate?"),
        ("{train.learning_rat: [1]}", "cannot be swept; did you mean train.learning_rate?"),
        ("{train.lora: [{rank: 1}]}", "cannot be swept"),
        ("{corpus.examples: [1]}", "cannot be swept"),
        ("{train.learning_rate: 1e-3}", "is no list of values"),
        ("{train.learning_rate: []}", "is no list of values"),
        ("{base: [other]}", "sweep.base[0]: other is no base; there are smollm2"),
        ("{train.learning_rate: {log_uniform: [1e-3, 1e-6], samples: 2}}", "low then high"),
        ("{train.learning_rate: {log_uniform: [1e-3], samples: 2}}", "needs at least 2"),
        ("{train.learning_rate: {log_uniform: [0, 1], samples: 2}}", "log_uniform[0]: 0 is not above 0"),
        ("{train.learning_rate: {log_uniform: [1e-6, 1e-3]}}", "samples: is missing"),
        ("{train.learning_rate: {loguniform: [1e-6, 1e-3], samples: 2}}", "did you mean sweep.train.learning_rate.log"),
        ("{train.lora.dropout: {log_uniform: [0.5, 2e9], samples: 20}}", "is not below 1"),
    ],
)  # fmt: skip
def test_sweeps_that_cannot_be(sweep: str, part: str) -> None:
    message = complaint(SMALL + f"sweep: {sweep}")
    assert part in message
    assert "line 2" in message


def test_a_key_is_swept_or_set_in_a_variant_not_both() -> None:
    text = "variants: [{name: a, recipe: x, train: {lora: {rank: 4}}}]\nsweep: {train.lora.rank: [1, 2]}"
    assert "line 1: variants[0].train.lora.rank: is set here and swept" in complaint(text)
    text = "variants: [{name: a, recipe: x, base: smollm2}]\nsweep: {base: [smollm2]}"
    assert "variants[0].base: is set here and swept" in complaint(text)


def test_swept_steps_replace_epochs() -> None:
    runs = parse(SMALL + "sweep: {train.steps: [10, 20]}").expand()
    assert [(run.train.steps, run.train.epochs) for run in runs] == [(10, None), (20, None)]


def test_drawn_values_are_the_same_everywhere() -> None:
    text = SMALL + "sweep: {train.learning_rate: {log_uniform: [1e-6, 1e-3], samples: 3}}"
    rates = [run.train.learning_rate for run in parse(text).expand()]
    assert rates == DRAWN
    assert [run.train.learning_rate for run in parse(text.replace("samples: 3", "samples: 4")).expand()][
        :3
    ] == rates
    assert [run.train.learning_rate for run in parse(text.replace("3}", "3, seed: 1}")).expand()] != rates


DRAWN = [
    2.70838e-05,
    5.78525e-06,
    0.00081198,
]  # six digits: the last bits of exp and log differ between machines


def test_drawn_ranks_are_whole_and_distinct() -> None:
    study = parse(SMALL + "sweep: {train.lora.rank: {log_uniform: [1, 4], samples: 30}}")
    ranks = [run.train.lora.rank for run in study.expand()]
    assert sorted(ranks) == [1, 2, 3, 4]
    assert len(study.notes) == 4


def test_long_ids_end_in_a_hash() -> None:
    name = "v" * 100
    targets = [f"some_long_module_name_{n}" for n in range(9)]
    swept = ids(
        f"variants: [{{name: {name}, recipe: x}}]\nsweep: {{train.lora.targets: [[{', '.join(targets)}], "
        f"[{', '.join(targets)}, q_proj]]}}"
    )
    assert len(set(swept)) == 2
    assert all(len(name) == 150 for name in swept)
    assert swept == ids(
        f"variants: [{{name: {name}, recipe: x}}]\nsweep: {{train.lora.targets: [[{', '.join(targets)}], "
        f"[{', '.join(targets)}, q_proj]]}}"
    )


def test_ids_that_would_be_one_file_get_told_apart() -> None:
    swept = ids(SMALL + "sweep: {train.lora.targets: [[a b], [a, b], [A_B]]}")
    assert len({name.casefold() for name in swept}) == 3
    assert all(re.fullmatch(r"control-targets[aA]_[bB]-s0-[0-9a-f]{8}", name) for name in swept)


RATES = st.floats(min_value=1e-300, max_value=1e300, allow_nan=False)


@settings(deadline=None)
@given(
    st.lists(RATES, min_size=1, max_size=5, unique=True),
    st.lists(st.integers(0, 2**63 - 1), min_size=1, max_size=3),
)
def test_ids_are_safe_and_unique(rates: list[float], seeds: list[int]) -> None:
    data = {
        "variants": [{"name": "a", "recipe": "x"}, {"name": "a-s0", "recipe": "x"}],
        "sweep": {"train.learning_rate": rates, "train.schedule.kind": ["wsd", "linear"]},
        "seeds": seeds,
    }
    runs = Study.parse(Document(data, "t")).expand()
    assert len({run.id.casefold() for run in runs}) == len(runs) == 4 * len(rates) * len(set(seeds))
    assert all(re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,160}", run.id) for run in runs)


def test_swept_keys_with_the_same_last_word_are_written_out() -> None:
    assert run_id("a", {"train.x.rank": 1, "train.y.rank": 2}, 0) == "a-train.x.rank1-train.y.rank2-s0"


@pytest.mark.parametrize(
    ("value", "text"),
    [(1e16, "1e16"), (1.0, "1.0"), (None, "none"), (True, "true"), (8, "8"), ("a/b", "a_b")],
)
def test_values_in_ids(value: object, text: str) -> None:
    assert run_id("v", {"train.key": value}, 3) == f"v-key{text}-s3"


def test_relative_studies_expand_alike_from_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "s.yaml"
    path.write_text(HARD)
    first = [run.id for run in Study.load(path).expand()]
    monkeypatch.chdir(tmp_path)
    assert [run.id for run in Study.load("s.yaml").expand()] == first
