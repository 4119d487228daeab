"""An adapter of a short study on the embedded model, in the hands of plain peft."""

from __future__ import annotations

import warnings
from pathlib import Path

import peft
import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer
from typer.testing import CliRunner

from octavo.artifacts import Folder
from octavo.cli import app
from octavo.evaluation.contestants import Contestants
from octavo.lanes.base import BaseModel
from octavo.lanes.generate import generate
from octavo.lanes.pack import Sample, build_pack
from octavo.models.load import load_model
from octavo.models.quiet import quiet
from octavo.models.resolve import BaseSource
from tests.training.studies import load_study, settings, train_only, write_corpus

pytestmark = pytest.mark.real

PROMPTS = ["What is the capital of France?", "Say hello to Ann in two words."]
MOST = 40


@pytest.fixture(scope="module")
def adapter(embedded: BaseSource, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two steps at a learning rate that moves the logits."""
    folder = tmp_path_factory.mktemp("real")
    train = {
        "lora": {"rank": 4, "dropout": 0.1, "targets": "all-linear"},
        "steps": 2,
        "epochs": None,
        "batch_size": 1,
        "accumulation": 1,
        "learning_rate": 1e-3,
        "schedule": {"kind": "constant", "warmup_steps": 0},
        "max_length": 128,
    }
    values = settings(
        folder,
        write_corpus(folder / "corpus.jsonl"),
        bases=[{"name": "smollm2", "dtype": "float32"}],
        variants=[{"name": "control", "recipe": "control"}],
        train=train,
    )
    train_only(load_study(folder / "study.yaml", values), folder / "out")
    return Folder(folder / "out").adapter("control-s0")


@pytest.fixture(scope="module")
def base_folder(embedded: BaseSource) -> Path:
    """What `octavo base` prints."""
    result = CliRunner().invoke(app, ["base", "smollm2-135m-instruct"], prog_name="octavo")
    assert result.exit_code == 0
    return Path(result.stdout.strip())


def test_plain_peft_gives_our_logits_and_stops_at_the_end_of_the_turn(
    adapter: Path, base_folder: Path, embedded: BaseSource
):
    with quiet(), warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # peft asks transformers by a name that will go
        plain = AutoModelForCausalLM.from_pretrained(base_folder, dtype=torch.float32)
        model = peft.PeftModel.from_pretrained(plain, adapter).eval()
        tokenizer = AutoTokenizer.from_pretrained(base_folder)
    prompts = [
        tokenizer.apply_chat_template(
            [{"role": "user", "content": text}], add_generation_prompt=True, return_dict=False
        )
        for text in PROMPTS
    ]
    with torch.no_grad():
        theirs = [model(input_ids=torch.tensor([ids])).logits[0] for ids in prompts]
        with model.disable_adapter():
            untouched = model(input_ids=torch.tensor([prompts[0]])).logits[0]
        ids = torch.tensor([prompts[0]])
        said = model.generate(
            ids,
            attention_mask=torch.ones_like(ids),
            max_new_tokens=MOST,
            do_sample=False,
            pad_token_id=tokenizer.pad_token_id,
        )[0, len(prompts[0]) :].tolist()

    contestants = Contestants(
        BaseModel(load_model(embedded, torch.float32)), "smollm2", [("control-s0", adapter)]
    )
    lane = contestants.lanes["control-s0"]
    pack = build_pack([Sample(lane, ids, [False] * len(ids)) for ids in prompts], "cpu")
    with torch.no_grad():
        ours = contestants.base.head(contestants.base.hidden(pack)).split([len(ids) for ids in prompts])
    (answer,) = generate(contestants.base, [(lane, prompts[0])], {tokenizer.eos_token_id}, MOST)
    contestants.close()

    assert max(float((a - b).abs().max()) for a, b in zip(ours, theirs, strict=True)) < 1e-4
    assert float((theirs[0] - untouched).abs().max()) > 1e-2
    assert len(said) < MOST
    assert said[-1] == tokenizer.eos_token_id
    assert answer == said[:-1]
    assert "Paris" in tokenizer.decode(answer)
