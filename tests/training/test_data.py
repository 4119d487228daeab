"""Which examples a step reads, with which weights and dropout keys; and rows as tokens."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo.corpus.encode import Encoder
from octavo.errors import InputError
from octavo.models.load import load_tokenizer
from octavo.training.data import Feed, Tokens, tokenise


def rows(count: int, length: int = 5) -> list[Tokens]:
    """Rows of growing numbers of targets."""
    made = []
    for i in range(count):
        size = length + i % 3
        labels = (False, False, *[True] * (size - 2))
        made.append(Tokens(f"e{i}", f"file:{i + 1}", tuple(range(size)), labels, size - 2))
    return made


def feed(count: int = 10, seed: int = 0, batch: int = 2, accumulation: int = 2, **length: int | None) -> Feed:
    return Feed(rows(count), seed, batch, accumulation, **({"epochs": 1, "steps": None} | length))


def flat(batches: list[list[int]]) -> list[int]:
    return [i for batch in batches for i in batch]


def test_runs_of_one_seed_read_the_same_order_whatever_the_rows_are():
    short, long = feed(10, seed=3), Feed(rows(10, length=9), 3, 2, 2, 1, None)
    assert [short.batches(s) for s in range(3)] == [long.batches(s) for s in range(3)]
    assert feed(10, seed=3).order(0) != feed(10, seed=4).order(0)


def test_the_order_does_not_depend_on_batch_and_accumulation():
    wide = feed(12, batch=4, accumulation=3)
    narrow = feed(12, batch=1, accumulation=1)
    assert flat(wide.batches(0)) == [flat(narrow.batches(s))[0] for s in range(12)]


@given(count=st.integers(1, 30), batch=st.integers(1, 4), accumulation=st.integers(1, 4), seed=st.integers(0))
def test_an_epoch_reads_every_example_once_and_steps_the_partial_window(count, batch, accumulation, seed):
    one = feed(count, seed=seed % 2**63, batch=batch, accumulation=accumulation)
    steps = [one.batches(s) for s in range(one.steps_per_epoch)]
    assert one.total_steps == math.ceil(count / (batch * accumulation))
    assert sorted(i for step in steps for i in flat(step)) == list(range(count))
    assert all(steps)
    assert all(len(b) == batch for step in steps for b in step[:-1])
    assert len(flat(steps[-1])) == count - (len(steps) - 1) * batch * accumulation


def test_steps_beyond_an_epoch_go_on_into_the_next():
    longer = feed(10, steps=7, epochs=None)
    assert (longer.steps_per_epoch, longer.total_steps) == (3, 7)
    epochs = [[flat(longer.batches(s)) for s in range(e * 3, e * 3 + 3)] for e in range(2)]
    for epoch in epochs:
        assert sorted(i for step in epoch for i in step) == list(range(10))
    assert epochs[0] != epochs[1]
    assert longer.batches(6) == [longer.order(2)[:2], longer.order(2)[2:4]]
    assert longer.batches(6) == feed(10, epochs=3).batches(6)


@given(count=st.integers(1, 20), batch=st.integers(1, 4), accumulation=st.integers(1, 4))
def test_the_targets_of_a_window_weigh_one_together(count, batch, accumulation):
    one = feed(count, batch=batch, accumulation=accumulation)
    for step in range(one.total_steps):
        samples = [sample for micro in one.window(step, 5) for sample in micro]
        assert sum(s.weight * len(s.targets) for s in samples) == pytest.approx(1.0)
        assert {s.lane for s in samples} == {5}
        assert len({s.weight for s in samples}) == 1
        assert one.tokens_of(step) == (
            sum(len(s.ids) for s in samples),
            sum(len(s.targets) for s in samples),
        )


def test_dropout_keys_differ_by_seed_step_and_example_and_by_nothing_else():
    keys = {
        (seed, step, index): feed(4, seed=seed)
        .objective.window([[(index, rows(4)[index])]], seed, step, 0)[0][0]
        .key
        for seed in range(5)
        for step in range(20)
        for index in range(4)
    }
    assert len(set(keys.values())) == len(keys)
    other = Feed(rows(4, length=9), 2, 1, 1, 8, None)
    (place,) = [i for i, batch in enumerate(other.batches(7)) if batch == [other.order(1)[3]]]
    assert other.window(7, lane=6)[place][0].key == keys[2, 7, other.order(1)[3]]
    assert other.outline(1, 6).key == keys[2, 0, 1]


def test_a_window_without_a_target_has_no_weight():
    masked = [Tokens(f"e{i}", "file", (1, 2, 3), (False,) * 3, 0) for i in range(2)]
    (batch,) = Feed(masked, 0, 2, 1, 1, None).window(0, 0)
    assert [math.isnan(sample.weight) for sample in batch] == [True, True]


def test_total_tokens_are_those_of_all_steps():
    longer = feed(10, steps=7, epochs=None)
    sizes = [longer.tokens_of(step) for step in range(7)]
    assert longer.total_tokens() == (sum(s[0] for s in sizes), sum(s[1] for s in sizes))


# --- rows as tokens --------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def encoder(tiny) -> Encoder:
    return Encoder(load_tokenizer(tiny))


def write(path: Path, *answers: str, blank: int = 0) -> Path:
    """A data file of one question, `blank` empty lines before the last row."""
    lines = []
    for number, answer in enumerate(answers):
        turns = [{"role": "user", "content": "How many?"}, {"role": "assistant", "content": answer}]
        lines.append(json.dumps({"id": f"e{number}", "messages": turns}) + "\n")
    path.write_text("".join([*lines[:-1], "\n" * blank, lines[-1]]), encoding="utf-8")
    return path


def test_a_row_is_what_the_encoder_makes_of_it(encoder: Encoder, tmp_path: Path):
    path = write(tmp_path / "train.jsonl", "Twelve.", "So it is, and so it was.")
    found = tokenise(path, encoder, 512)
    turns = [{"role": "user", "content": "How many?"}, {"role": "assistant", "content": "Twelve."}]
    encoded = encoder.encode(turns)
    assert (list(found[0].ids), list(found[0].labels)) == (list(encoded.ids), list(encoded.labels))
    assert [row.id for row in found] == ["e0", "e1"]
    assert [row.targets for row in found] == [sum(row.labels[1:]) for row in found]
    # the model must learn to stop: the last target is the end of the turn
    for row in found:
        last = max(i for i, label in enumerate(row.labels) if label)
        assert row.ids[last] in encoder.stop_ids


def test_a_long_row_is_cut(encoder: Encoder, tmp_path: Path):
    path = write(tmp_path / "train.jsonl", "word " * 50)
    whole = tokenise(path, encoder, 512)[0]
    cut = tokenise(path, encoder, 60)[0]
    assert cut.ids == whole.ids[:60]
    assert cut.labels == whole.labels[:60]
    assert 0 < cut.targets < whole.targets


def test_a_row_without_a_target_left_is_refused_with_file_and_line(encoder: Encoder, tmp_path: Path):
    path = write(tmp_path / "train.jsonl", "Twelve.", "Twelve.", blank=2)
    with pytest.raises(InputError) as caught:
        tokenise(path, encoder, 8)
    assert f"{path}:1: no target token is left within train.max_length 8" in str(caught.value)
    assert "raise it or drop the row" in str(caught.value)


def test_lines_are_counted_as_an_editor_counts_them(encoder: Encoder, tmp_path: Path):
    path = write(tmp_path / "train.jsonl", "Twelve.", "Twelve.", blank=2)
    assert [row.where for row in tokenise(path, encoder, 512)] == [f"{path}:1", f"{path}:4"]


def test_an_empty_file_is_refused(encoder: Encoder, tmp_path: Path):
    (tmp_path / "train.jsonl").write_text("\n")
    with pytest.raises(InputError, match=r"train\.jsonl holds no examples"):
        tokenise(tmp_path / "train.jsonl", encoder, 512)
