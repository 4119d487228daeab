"""Suites: what is asked, how it is scored against transformers itself, chance, dead models, and a study with suites."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
import torch

from octavo import pipeline
from octavo.artifacts import Folder, read_jsonl
from octavo.corpus.encode import Encoder
from octavo.errors import InputError
from octavo.evaluation.answering import Asker
from octavo.evaluation.choices import (
    LENGTH_RULES,
    best_constant,
    encode_options,
    share_of_best,
)
from octavo.evaluation.chosen import Chosen, choose
from octavo.evaluation.contestants import Contestants
from octavo.evaluation.lines import Kept, chances, measure
from octavo.evaluation.rules import contains, exact, final_answer
from octavo.evaluation.suite import Choose, Item, Response, take
from octavo.evaluation.suites import all_suites
from octavo.lanes.base import BaseModel
from octavo.models.load import load_model, load_tokenizer
from octavo.models.resolve import BaseSource
from octavo.settings import SuiteChoice
from octavo.study import Study
from tests.speaking.conftest import write_adapter
from tests.training.studies import Notes, load_study, settings, write_corpus

TRUTHFUL = """Type,Category,Question,Best Answer,Correct Answers,Incorrect Answers,Source
Adversarial,Misconceptions,What is 7 and 3?,It is 10,It is 10; Ten,It is 9; It is 11,x
Adversarial,Fiction,Who is Ann?,Nobody knows,Nobody knows; I have no comment,A queen; A king of France,x
Non-Adversarial,Fiction,What is in Paris?,A tower,A tower; A river; The Louvre,An ocean,x
"""

ITEMS: list[dict[str, Any]] = [
    {
        "id": "c",
        "prompt": "Is Ann a king?",
        "options": ["yes", "no, she is not"],
        "answer": 1,
        "cluster": "k",
    },
    {"id": "t", "context": "The capital of France", "options": [" is Paris", " is Oslo"], "answer": 0},
    {"id": "e", "prompt": "Say apples.", "rule": "exact", "answer": "apples", "max_new_tokens": 4},
    {"id": "r", "prompt": "A number?", "rule": "regex", "answer": "[0-9]+", "max_new_tokens": 4},
]


def write_jsonl(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def encoder(tiny: BaseSource) -> Encoder:
    return Encoder(load_tokenizer(tiny))


@pytest.fixture(scope="module")
def truthful(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("t") / "truthfulqa.csv"
    path.write_text(TRUTHFUL, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_jsonl(tmp_path_factory.mktemp("i") / "mine.jsonl", ITEMS)


def chosen(name: str, **more: Any) -> Chosen:
    (found,) = choose([SuiteChoice.model_validate({"name": name, **more})])
    return found


def asker(tiny: BaseSource, encoder: Encoder, adapters: list[tuple[str, Path]]) -> Asker:
    base = BaseModel(load_model(tiny, torch.float32))
    return Asker(Contestants(base, "tiny", adapters), encoder, 512)


@pytest.fixture(scope="module")
def three(tiny: BaseSource, encoder: Encoder, tmp_path_factory: pytest.TempPathFactory) -> Asker:
    """An adapter, one that is exactly zero, and the base."""
    root = tmp_path_factory.mktemp("three")
    return asker(
        tiny,
        encoder,
        [
            ("moved", write_adapter(tiny, root / "moved", 1)),
            ("zero", write_adapter(tiny, root / "zero", 1, size=0.0)),
        ],
    )


def lines_of(one: Asker, suite: Chosen) -> dict[tuple[str, str], dict[str, Any]]:
    rows = measure(one, suite, suite.items(), Kept(None, ""))
    return {(row["run"], row["item"]): row for row in rows}


def test_likelihoods_are_those_of_transformers(
    tiny: BaseSource, encoder: Encoder, three: Asker, truthful: Path
) -> None:
    suite = chosen("truthfulqa", file=str(truthful))
    found = lines_of(three, suite)
    model = load_model(tiny, torch.float32)
    for item in suite.items():
        assert isinstance(item.question, Choose)
        for option, value in zip(
            item.question.options, found["base:tiny", item.id]["detail"]["values"], strict=True
        ):
            turns = [*item.question.messages, {"role": "assistant", "content": option}]
            whole, prompt = encoder.encode(turns).ids, encoder.prompt(list(item.question.messages))
            last = max(i for i, label in enumerate(encoder.encode(turns).labels) if label)
            ids = torch.tensor([whole[: last + 1]])
            with torch.no_grad():
                odds = model(input_ids=ids).logits[0].log_softmax(-1)
            expected = sum(float(odds[i - 1, ids[0, i]]) for i in range(len(prompt), last + 1))
            assert value == pytest.approx(expected, abs=1e-3)


def test_mc1_and_mc2_follow_from_the_likelihoods(three: Asker, truthful: Path) -> None:
    suite = chosen("truthfulqa", file=str(truthful))
    found = lines_of(three, suite)
    for item in suite.items():
        row = found["base:tiny", item.id]
        values, key = row["detail"]["values"], item.key
        rivals = [values[i] for i in key["wrong"]]
        assert row["score"] == float(values[key["best"]] > max(rivals))
        odds = [math.exp(v) for v in values]
        share = sum(odds[i] for i in key["right"]) / sum(odds)
        assert row["detail"]["scores"]["mc2"] == pytest.approx(share, rel=1e-4)


def test_a_zero_adapter_scores_exactly_as_the_base_and_a_moved_one_does_not(
    three: Asker, truthful: Path, own: Path
) -> None:
    for suite in (chosen("truthfulqa", file=str(truthful)), chosen("items", file=str(own))):
        found = lines_of(three, suite)
        for item in suite.items():
            base, zero = found["base:tiny", item.id], found["zero", item.id]
            assert {**zero, "run": ""} == {**base, "run": ""}
        assert any(
            found["moved", i.id]["detail"] != found["base:tiny", i.id]["detail"] for i in suite.items()
        )


@pytest.mark.parametrize("name", ["truthfulqa", "items"])
@pytest.mark.parametrize("rule", sorted(LENGTH_RULES))
def test_constant_logits_never_beat_chance(
    tiny: BaseSource, encoder: Encoder, truthful: Path, own: Path, name: str, rule: str
) -> None:
    suite = chosen(name, file=str(truthful if name == "truthfulqa" else own), options={"length": rule})
    dead = asker(tiny, encoder, [])
    with torch.no_grad():
        for weight in dead.contestants.base.model.parameters():
            weight.zero_()
    items = suite.items()
    rows = list(lines_of(dead, suite).values())
    scores = [row["score"] for row in rows]
    level = chances(dead, suite, items)
    assert level is not None
    metric = suite.suite.metric
    assert sum(scores) / len(scores) <= best_constant(level[metric]) + 1e-9
    if name == "truthfulqa":
        mc2 = [row["detail"]["scores"]["mc2"] for row in rows]
        assert sum(mc2) / len(mc2) <= best_constant(level["mc2"]) + 1e-9
        assert set(level["mc1"]) == {"uniform", "constant logits", "shortest", "longest", "noise"}


def test_a_model_of_nan_is_refused_never_scored(
    tiny: BaseSource, encoder: Encoder, truthful: Path, own: Path
):
    for name, file in (("truthfulqa", truthful), ("items", own)):
        dead = asker(tiny, encoder, [])
        with torch.no_grad():
            next(dead.contestants.base.model.parameters()).fill_(math.nan)
        said: list[str] = []
        suite = chosen(name, file=str(file))
        rows = measure(dead, suite, suite.items(), Kept(None, ""), said.append)
        assert all(row["score"] is None and "finite" in row["detail"]["refused"] for row in rows)
        assert any("refused" in text for text in said)


def test_a_constant_text_never_beats_chance(three: Asker, tmp_path: Path) -> None:
    answers = ["four", "four", "five", "six", "four or five"]
    rows = [
        {"id": str(n), "prompt": f"How many? {n}", "rule": rule, "answer": text}
        for rule in ("exact", "contains")
        for n, text in enumerate(answers, 10 * (rule == "contains"))
    ]
    suite = chosen("items", file=str(write_jsonl(tmp_path / "said.jsonl", rows)))
    items = suite.items()
    level = best_constant((chances(three, suite, items) or {})["score"])
    for text in ("four", "five", "", "four, five, six", "I do not know"):
        scores = [suite.suite.score(item, Response(text=text)).value or 0.0 for item in items]
        assert sum(scores) / len(scores) <= level + 1e-9
    assert 0 < level < 1


def test_ties_share() -> None:
    assert share_of_best([1.0, 1.0, 0.0], 0) == 0.5
    assert share_of_best([1.0, 1.0, 0.0], 2) == 0.0
    assert share_of_best([2.0, 1.0], 0) == 1.0


def test_every_option_has_tokens_of_its_own_over_the_same_characters(encoder: Encoder) -> None:
    for context, options in [
        ("Ans", ["wer", "ger"]),
        ("It is no", ["t", " wonder"]),
        ("x =  ", ["7", "8"]),
        ("", ["yes", "no"]),
    ]:
        question = Choose([{"role": "text", "content": context}], tuple(options))
        found = encode_options(question, encoder, None, "item")
        starts = {labels.index(True) for labels in found.labels}
        assert len(starts) == 1
        for ids, labels, option in zip(found.ids, found.labels, options, strict=True):
            scored = encoder.decode([i for i, label in zip(ids, labels, strict=True) if label])
            assert scored.endswith(option.lstrip())
            assert any(labels)
    with pytest.raises(InputError, match="empty"):
        encode_options(Choose([{"role": "text", "content": "Stop"}], ("", "go")), encoder, None, "item 'q5'")


def test_a_context_longer_than_the_window_is_cut_in_front_and_said(three: Asker, tmp_path: Path) -> None:
    row = {"id": "long", "context": "apples " * 4000, "options": ["a", "b"], "answer": 0}
    suite = chosen("items", file=str(write_jsonl(tmp_path / "long.jsonl", [row])))
    said: list[str] = []
    rows = measure(three, suite, suite.items(), Kept(None, ""), said.append)
    assert all(one["detail"]["cut_tokens"] > 0 for one in rows)
    assert "longer than the base reads" in said[-1]


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"prompt": "a", "options": ["", "b"], "answer": 1}, "option 0 is empty"),
        ({"prompt": "a", "options": ["b"], "answer": 0}, "two or more"),
        ({"prompt": "a", "options": ["b", "c"], "answer": 2}, "from 0 to 1"),
        ({"prompt": "a", "rule": "regex", "answer": "("}, "cannot be read"),
        ({"prompt": "a", "rule": "guess", "answer": "b"}, "`rule` must be one of"),
        ({"prompt": "a", "rule": "exact", "answer": ""}, "none of them empty"),
        ({"prompt": "a", "context": "b", "rule": "exact", "answer": "c"}, "has one of"),
        ({"promt": "a"}, "`promt` is no key"),
        ([1], "must be a JSON object"),
    ],
)
def test_an_item_that_means_nothing_is_refused_with_file_and_line(
    tmp_path: Path, row: Any, said: str
) -> None:
    good = {"prompt": "a", "rule": "exact", "answer": "b"}
    path = write_jsonl(tmp_path / "bad.jsonl", [good, row])
    with pytest.raises(InputError, match=r"bad\.jsonl") as refused:
        chosen("items", file=str(path)).items()
    assert said in str(refused.value)
    assert "2" in str(refused.value)


def test_rules() -> None:
    assert exact("  Apples. ", ["apples"])
    assert not exact("apples and pears", ["apples"])
    assert contains("It is 4.", ["4"])
    assert not contains("It is 14, or 4.5", ["4"])
    assert not contains("yes and no", ["yes"], ["no"])
    assert final_answer("3 + 4 = 7. So there are 7 buns.", "7")
    assert not final_answer("7 buns. It may be 1, 2, 3, 4, 5, 6, 7 or 8.", "7")


def test_a_limit_takes_a_part_of_a_larger_one_for_everybody() -> None:
    items = [Item(str(n), n, Choose([], ("a", "b"))) for n in range(50)]
    ten, twenty = take(items, 10), take(items, 20)
    assert len(ten) == 10
    assert {one.id for one in ten} < {one.id for one in twenty}
    assert take(list(reversed(items)), 10) == list(reversed(ten))


@pytest.mark.parametrize(
    ("choice", "said"),
    [
        ({"name": "items"}, "needs a file"),
        ({"name": "items", "file": "nowhere.jsonl"}, "is not there"),
        ({"name": "truthfulqa", "file": "x", "options": {"lenght": "sum"}}, "is no option"),
        ({"name": "truthfullqa"}, "did you mean truthfulqa"),
        ({"name": "heldout", "file": "x"}, "takes no `file`"),
    ],
)
def test_suites_that_cannot_be_had_are_refused(choice: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        choose([SuiteChoice.model_validate(choice)])
    assert "items" in all_suites()


@pytest.fixture(scope="module")
def study(tiny: BaseSource, own: Path, truthful: Path, tmp_path_factory: pytest.TempPathFactory) -> Study:
    folder = tmp_path_factory.mktemp("suites")
    suites = ["heldout", {"name": "items", "file": str(own)}, {"name": "truthfulqa", "file": str(truthful)}]
    values = settings(
        tiny.folder,
        write_corpus(folder / "corpus.jsonl"),
        evaluate={"suites": suites, "comparisons": [{"metric": "truthfulqa.mc2", "variants": ["glyphs"]}]},
    )
    return load_study(folder / "study.yaml", values)


def test_a_study_has_its_suites_in_results_comparisons_and_report(study: Study, tmp_path: Path) -> None:
    results = pipeline.run(study, tmp_path / "out")
    suites = results["evaluation"]["suites"]
    assert set(suites) == {"mine", "truthfulqa"}
    rows = {(row["run"], row["metric"], row["group"]): row for row in suites["truthfulqa"]["rows"]}
    row = rows["control-s0", "mc1", None]
    assert (row["n"], row["refused"]) == (3, 0)
    assert 0 < row["chance"] < 1
    lines = read_jsonl(Folder(tmp_path / "out").evaluation("truthfulqa"))
    own_lines = [line["score"] for line in lines if line["run"] == "control-s0"]
    assert row["mean"] == pytest.approx(sum(own_lines) / 3)
    (declared,) = [one for one in results["comparisons"] if one["declared"]]
    assert declared["metric"] == "truthfulqa.mc2"
    assert declared["checkpoints"]["possible"]
    assert not declared["recipe"]["possible"]
    page = Folder(tmp_path / "out").report.read_text(encoding="utf-8")
    assert "truthfulqa" in page
    assert suites["truthfulqa"]["says"] in page
    notes = Notes()
    pipeline.stage_evaluate(study, tmp_path / "out", notes)
    assert any("kept" in text for text in notes.messages)


def test_what_was_answered_before_a_stop_is_not_asked_again(three: Asker, own: Path, tmp_path: Path) -> None:
    suite = chosen("items", file=str(own))
    items = suite.items()
    whole = measure(three, suite, items, Kept(None, ""))
    path = tmp_path / "partial.jsonl"
    measure(three, suite, items[:2], Kept(path, "a"))
    with path.open("a", encoding="utf-8") as file:
        file.write('{"run": "moved", "it')  # killed while it wrote

    asked: list[str] = []

    class Counting(Asker):
        def ask(self, items: Any):
            asked.extend(item.id for item in items)
            return super().ask(items)

    again = Counting(three.contestants, three.encoder, three.budget)
    assert measure(again, suite, items, Kept(path, "a")) == whole
    assert asked == [item.id for item in items[2:]]
    asked.clear()
    measure(again, suite, items, Kept(path, "other adapters"))
    assert asked == [item.id for item in items]
