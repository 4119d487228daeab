"""Held-out scores against transformers and plain peft, lines as the contract has them."""

from __future__ import annotations

import json
import math
import warnings
from pathlib import Path

import peft
import pytest
import torch
from safetensors.torch import load_file, save_file

from octavo import pipeline
from octavo.artifacts import Folder, read_jsonl
from octavo.corpus.encode import Encoder
from octavo.corpus.example import Example, load_examples
from octavo.declared import control_variant
from octavo.errors import InputError
from octavo.evaluation import heldout
from octavo.evaluation.contestants import Contestants
from octavo.lanes.base import BaseModel
from octavo.models.load import load_model, load_tokenizer
from octavo.models.resolve import BaseSource
from octavo.study import Study
from octavo.training.data import tokenise
from tests.training.studies import load_study, read_strict, settings, write_corpus

LINE = {"suite", "version", "item", "item_sha", "prompt_sha", "run", "score", "detail"}


@pytest.fixture(scope="module")
def study(tiny: BaseSource, tmp_path_factory: pytest.TempPathFactory) -> Study:
    folder = tmp_path_factory.mktemp("study")
    variants = [
        {"name": "control", "recipe": "control"},
        {"name": "glyphs", "recipe": "glyphs", "options": {"density": 1.0}},
        {"name": "spore", "recipe": "spore", "train": {"lora.rank": 2, "lora.targets": "attention"}},
    ]
    corpus = write_corpus(folder / "corpus.jsonl")
    return load_study(folder / "study.yaml", settings(tiny.folder, corpus, variants=variants))


@pytest.fixture(scope="module")
def done(study: Study, tmp_path_factory: pytest.TempPathFactory) -> Folder:
    out = tmp_path_factory.mktemp("done") / "out"
    pipeline.run(study, out)
    return Folder(out)


@pytest.fixture(scope="module")
def encoder(tiny: BaseSource) -> Encoder:
    return Encoder(load_tokenizer(tiny))


def lines_of(done: Folder, run: str, variant: str) -> list[dict]:
    return [
        line
        for line in read_jsonl(done.evaluation("heldout"))
        if line["run"] == run and line["detail"]["set"] == variant
    ]


def plain_losses(model: torch.nn.Module, path: Path, encoder: Encoder) -> list[float]:
    """The loss that transformers itself gives, one sequence at a time."""
    found = []
    for row in tokenise(path, encoder, 512):
        ids = torch.tensor([row.ids])
        labels = torch.tensor([[i if label else -100 for i, label in zip(row.ids, row.labels, strict=True)]])
        with torch.no_grad():
            found.append(float(model(input_ids=ids, labels=labels).loss))
    return found


def test_a_line_has_the_keys_of_the_contract_and_no_others(done: Folder):
    for suite in ("heldout", "generations"):
        lines = read_jsonl(done.evaluation(suite))
        assert lines
        for line in lines:
            assert set(line) == LINE
            assert line["suite"] == suite
            assert line["version"] == 1
            assert len(line["item_sha"]) == len(line["prompt_sha"]) == 64
    text = done.evaluation("heldout").read_text(encoding="utf-8")
    assert "NaN" not in text
    assert "Infinity" not in text


def test_each_run_reads_its_own_set_and_the_controls_and_the_base_reads_all(done: Folder):
    read = {(line["run"], line["detail"]["set"]) for line in read_jsonl(done.evaluation("heldout"))}
    assert read == {
        ("control-s0", "control"),
        ("glyphs-s0", "control"),
        ("glyphs-s0", "glyphs"),
        ("spore-s0", "control"),
        ("spore-s0", "spore"),
        ("base:tiny", "control"),
        ("base:tiny", "glyphs"),
        ("base:tiny", "spore"),
    }


def test_items_are_paired(done: Folder):
    lines = read_jsonl(done.evaluation("heldout"))
    readers: dict[str, list[dict]] = {}
    for line in lines:
        readers.setdefault(line["item"], []).append(line)
    assert len(readers) == 3 * 4
    for item, group in readers.items():
        assert len(group) == len({line["run"] for line in group}) == (4 if item.startswith("control/") else 2)
        for key in ("item_sha", "prompt_sha", "version"):
            assert len({line[key] for line in group}) == 1
        assert len({line["detail"]["targets"] for line in group}) == 1


def test_scores_of_the_base_are_the_loss_of_transformers(done: Folder, tiny: BaseSource, encoder: Encoder):
    model = load_model(tiny, torch.float32)
    for variant in ("control", "glyphs", "spore"):
        wanted = plain_losses(model, done.data(variant) / "heldout.jsonl", encoder)
        found = [line["score"] for line in lines_of(done, "base:tiny", variant)]
        assert found == pytest.approx(wanted, rel=1e-5)


@pytest.mark.parametrize("run", ["control-s0", "glyphs-s0", "spore-s0"])
def test_scores_of_an_adapter_are_the_loss_of_plain_peft(
    done: Folder, tiny: BaseSource, encoder: Encoder, run: str
):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # peft asks transformers by a name that will go
        model = peft.PeftModel.from_pretrained(load_model(tiny, torch.float32), done.adapter(run)).eval()
    variant = run.removesuffix("-s0")
    for name in dict.fromkeys(["control", variant]):
        wanted = plain_losses(model, done.data(name) / "heldout.jsonl", encoder)
        found = [line["score"] for line in lines_of(done, run, name)]
        assert found == pytest.approx(wanted, rel=1e-5)
        assert found != [line["score"] for line in lines_of(done, "base:tiny", name)]


def test_an_adapter_of_zeros_scores_exactly_as_the_base(
    done: Folder, tiny: BaseSource, encoder: Encoder, tmp_path: Path
):
    zero = tmp_path / "zero"
    zero.mkdir()
    (zero / "adapter_config.json").write_bytes(
        (done.adapter("control-s0") / "adapter_config.json").read_bytes()
    )
    tensors = load_file(done.adapter("control-s0") / "adapter_model.safetensors")
    tensors = {k: t * 0 if "lora_B" in k else t for k, t in tensors.items()}
    save_file(tensors, zero / "adapter_model.safetensors")
    rows = score(tiny, [("zero", zero), ("trained", done.adapter("control-s0"))], done, encoder)
    assert rows["zero"] == rows["base:tiny"]
    assert rows["trained"] != rows["base:tiny"]


def score(
    tiny: BaseSource,
    adapters: list[tuple[str, Path]],
    done: Folder,
    encoder: Encoder,
    budget: int = 4096,
) -> dict[str, list[float]]:
    """Scores of adapters and the base on the control's set."""
    contestants = Contestants(BaseModel(load_model(tiny, torch.float32)), "tiny", adapters)
    items = heldout.load_items("control", done.data("control") / "heldout.jsonl", encoder, 512)
    pairs = [(who, item) for item in items for who in contestants.lanes]
    found: dict[str, list[float]] = {}
    for line in heldout.score_items(contestants, pairs, budget):
        found.setdefault(line["run"], []).append(line["score"])
    contestants.close()
    return found


def test_the_token_budget_changes_no_score(done: Folder, tiny: BaseSource, encoder: Encoder):
    adapters = [(run, done.adapter(run)) for run in ("control-s0", "spore-s0")]
    whole = score(tiny, adapters, done, encoder)
    for budget in (1, 150):
        cut = score(tiny, adapters, done, encoder, budget)
        for who, scores in whole.items():
            assert cut[who] == pytest.approx(scores, rel=1e-6)


def test_an_adapter_that_is_not_finite_is_refused(
    done: Folder, tiny: BaseSource, encoder: Encoder, tmp_path: Path
):
    bad = tmp_path / "bad"
    bad.mkdir()
    (bad / "adapter_config.json").write_bytes(
        (done.adapter("control-s0") / "adapter_config.json").read_bytes()
    )
    tensors = load_file(done.adapter("control-s0") / "adapter_model.safetensors")
    next(iter(tensors.values())).view(-1)[3] = math.nan
    save_file(tensors, bad / "adapter_model.safetensors")
    with pytest.raises(
        InputError, match=r"bad: 1 numbers of the adapter 'bad' are not finite; train it again"
    ):
        score(tiny, [("bad", bad)], done, encoder)


def test_the_matrix_is_null_where_nothing_was_measured(done: Folder):
    matrix = read_strict(done.results)["matrix"]
    assert matrix["columns"] == ["control", "glyphs", "spore"]
    cells = dict(zip(matrix["rows"], matrix["heldout_loss"], strict=True))
    measured = {row: [cell is not None for cell in line] for row, line in cells.items()}
    assert measured == {
        "control-s0": [True, False, False],
        "glyphs-s0": [True, True, False],
        "spore-s0": [True, False, True],
        "base:tiny": [True, True, True],
    }


def test_the_loss_of_a_set_is_a_mean_over_its_targets(done: Folder):
    results = read_strict(done.results)
    for run in results["runs"]:
        details = [line["detail"] for line in lines_of(done, run["id"], run["variant"])]
        loss = sum(d["loss_sum"] for d in details) / sum(d["targets"] for d in details)
        assert run["heldout_loss"] == pytest.approx(loss, rel=1e-12)
        control = [line["detail"] for line in lines_of(done, run["id"], "control")]
        on_control = sum(d["loss_sum"] for d in control) / sum(d["targets"] for d in control)
        assert run["heldout_loss_control"] == pytest.approx(on_control, rel=1e-12)


def test_the_last_heldout_loss_of_the_training_is_that_of_the_evaluation(done: Folder):
    for run in read_strict(done.results)["runs"]:
        assert run["curves"]["heldout"]["loss"][-1] == pytest.approx(run["heldout_loss"], rel=1e-5)


def test_bits_per_character_by_hand(done: Folder):
    """Variants of one text share the number of characters: inserted symbols do not count."""
    answers = [
        example.messages[-1]["content"] for example in load_examples(done.data("control") / "heldout.jsonl")
    ]
    characters = sum(map(len, answers))
    for run in read_strict(done.results)["runs"]:
        nats = sum(line["detail"]["loss_sum"] for line in lines_of(done, run["id"], run["variant"]))
        assert run["heldout_bits_per_character"] == pytest.approx(nats / math.log(2) / characters, rel=1e-12)


def test_characters_of_one_example_by_hand():
    turns = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "How many?"},
        {"role": "assistant", "content": "Two🌱, so."},
        {"role": "user", "content": "🌱 And now?"},
        {"role": "assistant", "content": "Five."},
    ]
    sites = [
        {"message": 2, "start": 3, "text": "🌱", "role": "emoji"},
        {"message": 3, "start": 0, "text": "🌱 ", "role": "emoji"},
    ]
    example = Example("e", "f", "k", True, turns, sites=sites)
    assert heldout.control_characters(example) == len("Two, so.") + len("Five.")
    text = Example("t", "", "", True, [{"role": "text", "content": "Once upon a time"}])
    assert heldout.control_characters(text) == len("Once upon a time")


def test_the_hash_of_an_item_follows_what_it_says(done: Folder):
    lines = {line["item"]: line for line in read_jsonl(done.evaluation("heldout"))}
    for example in load_examples(done.data("control") / "heldout.jsonl"):
        line = lines[f"control/{example.id}"]
        assert line["item_sha"] == heldout.sha(json.loads(json.dumps(example.to_json())))
        assert line["prompt_sha"] == heldout.sha(example.messages[:-1])
        assert line["item_sha"] != lines[f"glyphs/{example.id}"]["item_sha"]


def test_without_a_control_each_run_reads_its_own_set(tiny: BaseSource, tmp_path: Path):
    variants = [
        {"name": "spore", "recipe": "spore"},
        {"name": "glyphs", "recipe": "glyphs", "options": {"density": 1.0}},
    ]
    corpus = write_corpus(tmp_path / "corpus.jsonl")
    study = load_study(tmp_path / "study.yaml", settings(tiny.folder, corpus, variants=variants))
    assert control_variant(study) is None
    results = pipeline.run(study, tmp_path / "out")
    cells = dict(zip(results["matrix"]["rows"], results["matrix"]["heldout_loss"], strict=True))
    assert [cell is not None for cell in cells["spore-s0"]] == [True, False]
    assert [cell is not None for cell in cells["glyphs-s0"]] == [False, True]
    assert [run["heldout_loss_control"] for run in results["runs"]] == [None, None]
    assert results["matrix"]["control"] is None
