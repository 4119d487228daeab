"""What runs and base say to the same prompts."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from octavo import pipeline
from octavo.artifacts import Folder, read_jsonl
from octavo.corpus.encode import Encoder
from octavo.corpus.example import Example, load_examples
from octavo.evaluation import generations
from octavo.evaluation.contestants import Contestants
from octavo.lanes.base import BaseModel
from octavo.models.load import load_model, load_tokenizer
from octavo.models.resolve import BaseSource
from tests.training.studies import load_study, read_strict, settings, write_corpus


def example(number: int, kind: str, last: str = "assistant") -> Example:
    turns = [{"role": "user", "content": f"q{number}"}, {"role": last, "content": "a"}]
    return Example(f"e{number}", "f", kind, True, turns)


def test_every_kind_is_asked_in_turn():
    kinds = ["logic", "logic", "logic", "reasoning", "conversation", "reasoning"]
    examples = [example(i, kind) for i, kind in enumerate(kinds)]
    picked = [e.id for e in generations.pick_prompts(examples, 5)]
    assert picked == ["e0", "e3", "e4", "e1", "e5"]
    assert len(generations.pick_prompts(examples, 50)) == 6
    assert generations.pick_prompts(examples, 0) == []


def test_what_has_no_answer_has_no_prompt():
    text = Example("t", "", "", True, [{"role": "text", "content": "Once"}])
    assert generations.pick_prompts([text, example(1, "k", "user"), example(2, "k")], 3) == [example(2, "k")]


@pytest.fixture(scope="module")
def done(tiny: BaseSource, tmp_path_factory: pytest.TempPathFactory) -> Folder:
    folder = tmp_path_factory.mktemp("said")
    values = settings(tiny.folder, write_corpus(folder / "corpus.jsonl"), evaluate={"generations": 2})
    pipeline.run(load_study(folder / "study.yaml", values), folder / "out")
    return Folder(folder / "out")


def test_all_runs_and_the_base_answer_the_controls_prompts(done: Folder):
    lines = read_jsonl(done.evaluation("generations"))
    asked = load_examples(done.data("control") / "heldout.jsonl")[:2]
    assert [(line["item"], line["run"]) for line in lines] == [
        (e.id, who) for e in asked for who in ("control-s0", "glyphs-s0", "base:tiny")
    ]
    assert {line["score"] for line in lines} == {None}
    shown = read_strict(done.results)["evaluation"]["generations"]
    assert [entry["prompt"] for entry in shown] == [e.messages[0]["content"] for e in asked]
    assert all(set(entry["answers"]) == {"control-s0", "glyphs-s0", "base:tiny"} for entry in shown)


def test_the_base_says_what_transformers_generates(done: Folder, tiny: BaseSource):
    encoder = Encoder(load_tokenizer(tiny))
    model = load_model(tiny, torch.float32)
    for asked in load_examples(done.data("control") / "heldout.jsonl")[:2]:
        prompt = encoder.prompt(asked.messages[:-1])
        ids = torch.tensor([prompt])
        made = model.generate(
            ids,
            attention_mask=torch.ones_like(ids),
            max_new_tokens=generations.MAX_NEW_TOKENS,
            do_sample=False,
            eos_token_id=sorted(encoder.stop_ids),
            pad_token_id=2,
        )[0, len(prompt) :].tolist()
        wanted = encoder.decode([i for i in made if i not in encoder.stop_ids])
        found = [
            line["detail"]["answer"]
            for line in read_jsonl(done.evaluation("generations"))
            if line["item"] == asked.id and line["run"] == "base:tiny"
        ]
        assert found == [wanted]


def test_an_answer_of_logits_that_are_not_finite_is_null(done: Folder, tiny: BaseSource):
    model = load_model(tiny, torch.float32)
    contestants = Contestants(BaseModel(model), "tiny", [("run", done.adapter("control-s0"))])
    with torch.no_grad():
        model.model.norm.weight.fill_(float("nan"))
    asked = load_examples(done.data("control") / "heldout.jsonl")[:1]
    rows = generations.answer_prompts(contestants, asked, Encoder(load_tokenizer(tiny)))
    assert [row["detail"]["answer"] for row in rows] == [None, None]
    contestants.close()


def test_none_are_made_where_none_are_asked(tiny: BaseSource, tmp_path: Path):
    values = settings(tiny.folder, write_corpus(tmp_path / "corpus.jsonl"), evaluate={"generations": 0})
    results = pipeline.run(load_study(tmp_path / "study.yaml", values), tmp_path / "out")
    assert results["evaluation"]["generations"] == []
    assert read_jsonl(Folder(tmp_path / "out").evaluation("generations")) == []
