"""The bench of faults: what is injected arrives where it should and nowhere else, and figures follow from traces."""

from __future__ import annotations

import json
import math
import random
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.conftest import ROOT
from tests.models.makers import tiny_tokenizer

sys.path.insert(0, str(ROOT / "bench"))

from faults import EXPECTED, HARMED_SEEDS, HEALTHY_SEEDS, RATES, plan
from harm import figures, trials
from harm.calibration import calibration, heights
from harm.injections import FAULTS, Fault, masked_batch, one_example, random_labels
from harm.judged import Judged, as_seen, collapse_latency, judged, late, lead, nonfinite_latency, probe_passes
from harm.record import Record, Trace
from harm.texts import CALIBRATION, FINAL, LENGTH, rows
from harm.trials import Bed, Trial, feed_of, harmed, healthy

from octavo.corpus.encode import Encoder
from octavo.lanes.base import BaseModel
from octavo.lanes.targets import resolve_targets
from octavo.training.data import Feed, Tokens
from octavo.vitals.thresholds import Thresholds
from octavo.vitals.verdict import HEALTHY, WATCH, Verdict
from tests.lanes.tiny import tiny_llama
from tests.vitals import traces as written

TABLE = json.loads(EXPECTED.read_text())
V = written.VOCABULARY


@pytest.fixture(scope="module")
def encoder() -> Encoder:
    return Encoder(tiny_tokenizer())


@pytest.fixture(scope="module")
def base() -> BaseModel:
    return BaseModel(tiny_llama(num_hidden_layers=6, vocab_size=49_152, max_position_embeddings=256))


def run(
    base: BaseModel, encoder: Encoder, chosen: Sequence[Trial], steps: int, probe_every: int = 2
) -> list[Trace]:
    targets = resolve_targets(base.model, "attention")
    return Bed(base, encoder, targets, chosen, steps, probe_every).run(lambda _: None)


def test_every_fault_has_its_line_in_the_table_and_no_other_is_there():
    assert {fault.name for fault in FAULTS} == set(TABLE)
    for line in TABLE.values():
        assert set(line) == {"verdict", "cause", "rescuable", "why"}


def test_final_and_calibration_share_neither_seeds_nor_texts(encoder):
    final, calibrated = plan(False, False, 10), plan(False, True, 10)
    assert not {t.seed for p in final for t in p.trials} & {t.seed for p in calibrated for t in p.trials}
    assert not {t.purpose for p in final for t in p.trials} & {
        t.purpose for p in calibrated for t in p.trials
    }
    one, other = rows(encoder, FINAL, 5, 60), rows(encoder, CALIBRATION, 5, 60)
    assert not {row.ids for row in one} & {row.ids for row in other}
    well = [t for p in final for t in p.trials if t.fault is None]
    assert len(well) == len(RATES) * len(HEALTHY_SEEDS) >= 50
    assert len({t.name for p in final for t in p.trials}) == len(well) + len(FAULTS) * len(HARMED_SEEDS)


@pytest.mark.parametrize("seed", [4, 5])
def test_texts_are_short_distinct_and_the_seeds(encoder, seed):
    found = rows(encoder, FINAL, seed, 50)
    assert len({row.ids for row in found}) == 50
    assert {len(row.ids) for row in found} == {LENGTH}
    assert all(row.targets == sum(row.labels[1:]) == len(row.ids) - 1 for row in found)
    assert rows(encoder, FINAL, seed, 50) == found
    assert rows(encoder, FINAL, seed + 2, 50) != found


def feed(steps: int = 6) -> Feed:
    data = [
        Tokens(f"e{i}", "file", tuple(range(20 + i, 30 + i)), (False, *[True] * 9), 9)
        for i in range(2 * steps)
    ]
    return Feed(data, 3, 2, 1, None, steps)


def texts(one: Feed, step: int) -> list[Any]:
    return [(sample.ids, sample.labels) for batch in one.window(step, 0) for sample in batch]


def test_faults_of_data_are_in_their_step_alone():
    plain = feed()
    for change in (masked_batch, random_labels):
        changed = change(plain, 4, random.Random(0))
        same = [texts(plain, step) == texts(changed, step) for step in range(6)]
        assert same == [step != 3 for step in range(6)], change.__name__
    masked = [s for batch in masked_batch(plain, 4, random.Random(0)).window(3, 0) for s in batch]
    assert not any(any(s.labels) for s in masked)
    scrambled = [s for batch in random_labels(plain, 4, random.Random(0)).window(3, 0) for s in batch]
    assert all(s.labels == (False, *[True] * 9) and s.ids[0] in range(20, 40) for s in scrambled)
    repeated = one_example(plain, 0, random.Random(0))
    assert {s.ids for step in range(6) for batch in repeated.window(step, 0) for s in batch} == {
        plain.rows[0].ids
    }
    assert len(repeated.rows) == 1000


def test_each_fault_of_one_step_is_named_there_and_reaches_no_neighbour(base, encoder, monkeypatch):
    monkeypatch.setattr(trials, "EARLIEST", 3)
    monkeypatch.setattr(trials, "LATEST", 5)
    sudden = [fault for fault in FAULTS if TABLE[fault.name]["verdict"] == "dead"]
    assert len(sudden) == 4
    bad = harmed(sudden, [7], FINAL)
    well = healthy([1e-4, 1e-3], [7], FINAL)
    found = run(base, encoder, [*well, *bad], steps=7)
    for trace in found[2:]:
        one = judged(trace, Thresholds())
        line = TABLE[trace.fault]
        assert (one.said.health, one.cause) == (line["verdict"], line["cause"]), trace.evidence
        assert nonfinite_latency(one) == 0
        assert 3 <= trace.step <= 5
        assert trace.corrupted == 0
    # the others are what they are without any harm beside them
    alone = run(base, encoder, well, steps=7)
    for with_harm, without in zip(found[:2], alone, strict=True):
        assert with_harm.losses[:2] == without.losses[:2]
        assert with_harm.losses == pytest.approx(without.losses, rel=1e-5)
        # a tiny model's weights are small, so that any update is large beside them
        assert judged(with_harm, Thresholds(rho=1e3, rho_step=1e3)).trip is None


def test_adapters_in_bfloat16_are_watched(base, encoder):
    half = next(fault for fault in FAULTS if fault.name == "bfloat16-adapter")
    (trace,) = run(base, encoder, harmed([half], [7], FINAL), steps=6)
    one = judged(trace, Thresholds())
    assert (one.said.health, one.cause, one.trip) == (WATCH, "half precision", None)


def test_a_step_on_what_is_not_finite_is_counted(base, encoder):
    bed = Bed(base, encoder, resolve_targets(base.model, "attention"), healthy([1e-4], [7], FINAL), 3, 10)

    def spoil(lane: int, _rate: float, _norm: float) -> None:
        bed.optimizer.clock[lane] += 1
        bed.bank.flat_KP[lane].fill_(math.nan)

    bed.optimizer.step = spoil
    (trace,) = bed.run(lambda _: None)
    assert trace.corrupted == 1


def traced(lines: list[dict[str, Any]], fault: str | None = None, step: int = 0, **more: Any) -> Trace:
    found = Trace("t", 1e-2, 1, fault, step, lines, **more)
    for row in found.rows:
        row.setdefault("grad_norm", None)
    return found


def test_lead_and_latencies_are_counted_from_the_probe():
    rows_ = written.too_fast(11, 30)
    for row in rows_:  # the bench reads the probe at every step
        s = row["step"]
        row["vitals"]["probe_nll"] = min(2.5 + (math.log(V) - 2.5) * (s / 30) ** 4, 14.0)
    found = judged(traced(rows_, "rate-1e-2"), Thresholds())
    assert found.trip is not None
    assert found.trip.step == 11
    assert probe_passes(found.trace, ceiling=math.log(V)) == 31  # at 30 it is reached
    assert lead(found, V) == 20
    harm = probe_passes(found.trace, nats=1.0)
    assert harm == 18
    assert not late(found)
    assert collapse_latency(found) == 2  # the study's next probe is read at 20
    assert late(Judged(found.trace, found.verdicts[18:], None))
    assert lead(Judged(found.trace, [], None), V) is None
    short = judged(traced(rows_[:21], "rate-1e-2"), Thresholds())
    assert lead(short, V) == 10  # at least: the run ends at 20


def test_a_study_sees_every_tenth_probe_only():
    row = {"step": 7, "loss": 1.0, "vitals": {"probe_nll": 2.0, "probe_share": 0.3, "rho": 0.1}}
    assert as_seen(row)["vitals"] == {"rho": 0.1}
    assert as_seen({**row, "step": 10})["vitals"] == row["vitals"]


def test_figures_count_what_is_wrong():
    well = judged(traced(written.healthy(40)), Thresholds())
    ill = judged(traced(written.too_fast(11, 30), "rate-1e-2"), Thresholds())
    line = figures.figures([well, ill], TABLE, V) | {"rescued": "1/1"}
    assert (line["healthy_runs"], line["false_trips"], line["causes_right"]) == (1, 0, "1/1")
    assert line["verdicts_right"] == "1/1"
    assert line["nonfinite_latency_steps"] is None
    assert not figures.good(line, quick=True)  # no fault of this kind was run
    whole = line | {"nonfinite_latency_steps": 1}
    assert figures.good(whole, quick=True)
    assert not figures.good(whole, quick=False)  # too few healthy runs
    worst = {"corrupted_updates": 1, "causes_right": "0/1", "false_trips": 2, "rescued": None}
    worst |= {"divergence_lead_steps_min": 4, "collapse_latency_steps": 11, "alarms_after_harm": 1}
    for worse in worst.items():
        assert not figures.good({**whole, worse[0]: worse[1]}, quick=True), worse
    wrong = Judged(ill.trace, [Verdict(HEALTHY, 40, "nothing")], None)
    line = figures.figures([wrong], TABLE, V)
    assert (line["causes_right"], line["divergence_lead_steps_min"]) == ("0/1", -1)
    assert line["collapse_latency_steps"] is not None


def test_tables_name_every_rule_and_run():
    well = judged(traced(written.healthy(40)), Thresholds())
    ill = judged(traced(written.too_fast(11, 30), "rate-1e-2"), Thresholds())
    ill.trace.name = "rate-1e-2-s1"
    text = figures.comparison([well, ill], TABLE, V)
    assert [line.split("|")[1].strip() for line in text.splitlines()[2:]] == [*figures.RIVALS, "Octavo"]
    assert "| 1 of 1 | 29 |" in text.splitlines()[-1]
    table = figures.run_table([well, ill], TABLE)
    assert "| rate-1e-2-s1 | all |" in table
    assert table.splitlines()[-1].endswith("yes |")


def test_a_record_gives_back_what_it_was_given(tmp_path: Path):
    record = Record(tmp_path / "r" / "traces.jsonl")
    rows_ = written.healthy(3)
    record.add("one", [traced(rows_, "rate-1e-2", 3, contents=[[1, 2]], cause="0/0")])
    lost = [
        {"step": n, "loss": value, "grad_norm": 1.0, "vitals": None}
        for n, value in enumerate((None, math.nan))
    ]
    record.add("two", [traced(lost)])
    again = Record(tmp_path / "r" / "traces.jsonl")
    assert list(again.packs) == ["one", "two"]
    assert again.packs["one"][0].rows == rows_
    assert math.isnan(again.packs["two"][0].losses[0])
    assert judged(again.packs["two"][0], Thresholds()).said.health == "dead"
    assert len(again.traces()) == 2
    assert not Record(tmp_path / "r" / "traces.jsonl", fresh=True).packs


def test_calibration_takes_the_extremes_of_healthy_runs():
    well = [traced(written.healthy(60)) for _ in range(3)]
    for n, one in enumerate(well):
        one.name, one.rate = f"h{n}", 1e-3
    ill = traced(written.too_fast(11, 30), "rate-1e-2")
    found = calibration([*well, ill])
    assert found["healthy_runs"] == 3
    assert found["healthy"]["0.001"]["rho"] == pytest.approx(0.02 * (1 - math.exp(-4)), rel=1e-3)
    assert found["thresholds"]["rho"] == pytest.approx(5 * 0.02 * (1 - math.exp(-4)), rel=1e-9)
    assert found["harmed"]["t"]["probe_rise"] > 1
    assert heights(well[0])["share_of_base"] == 1.0


def test_a_fault_without_a_step_lasts(base, encoder):
    seen: list[int] = []
    lasting = Fault("x", at_step=False, after=lambda bank, lane: seen.append(lane))
    run(base, encoder, [Trial("x", 1e-4, 3, FINAL, lasting, 0)], steps=3)
    assert seen == [0, 0, 0]
    assert feed_of(Trial("x", 1e-4, 3, FINAL, lasting, 0), encoder, 2).total_steps == 2
    assert torch.isfinite(base.model.get_input_embeddings().weight).all()
