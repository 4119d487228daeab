"""The reference of the study file is complete, true and current."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from octavo.cli import app
from octavo.reference import reference_text, study_keys
from octavo.settings import leaf_keys
from octavo.study import Study
from tests.conftest import ROOT


def test_every_key_has_a_meaning_and_every_meaning_a_key() -> None:
    meanings = yaml.safe_load((files("octavo") / "study_keys.yaml").read_text(encoding="utf-8"))
    assert set(meanings) == set(leaf_keys(Study))
    assert all(isinstance(text, str) and text for text in meanings.values())


@pytest.mark.parametrize(
    ("name", "values", "default"),
    [
        ("train.batch_size", "whole number from 1", "2"),
        ("train.max_grad_norm", "number above 0 or null", "1.0"),
        ("train.lora.dropout", "number from 0 below 1", "0.1"),
        ("train.schedule.kind", "`constant`, `linear`, `cosine`, `wsd`", '"cosine"'),
        ("lanes.memory", '`auto`, a size ("12GiB") or a share', '"auto"'),
        ("variants.name", "name", ""),
        ("bases.trust_remote_code", "true or false", "false"),
    ],
)
def test_a_key_takes_what_its_model_takes(name: str, values: str, default: str) -> None:
    (key,) = [key for key in study_keys() if key.name == name]
    assert (key.values, key.default) == (values, default)


def test_what_is_refused_is_said() -> None:
    by_name = {key.name: key for key in study_keys()}
    assert by_name["stopping.rungs"].missing == ("...",)
    assert by_name["report.loggers"].missing == ("tensorboard", "trackio", "wandb")
    assert by_name["train.learning_rate"].missing == ()


def test_the_page_of_the_docs_is_current() -> None:
    page = Path(ROOT / "docs" / "study-file.md").read_text(encoding="utf-8")
    assert page == reference_text(), "run: octavo keys --markdown > docs/study-file.md"


def test_keys_are_printed_by_the_command_line() -> None:
    shown = CliRunner().invoke(app, ["keys", "train.lora"], prog_name="octavo")
    assert shown.exit_code == 0
    assert "train.lora.rank" in shown.stdout
    assert "train.epochs" not in shown.stdout
    unknown = CliRunner().invoke(app, ["keys", "train.lorra"], prog_name="octavo")
    assert unknown.exit_code == 2
    assert "train.lora" in unknown.stderr
