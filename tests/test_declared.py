"""Comparisons in the study file: defaults, mistakes by line, and that they are frozen when training begins."""

from __future__ import annotations

from pathlib import Path

import pytest

from octavo.artifacts import Folder
from octavo.errors import InputError
from octavo.settings import Comparison
from octavo.study import Study
from octavo.study_folder import claim, read_exploratory

TEXT = """\
variants:
  - {name: control, recipe: control}
  - {name: think, recipe: think}
  - {name: low, recipe: glyphs, options: {density: 0.5}}
  - {name: high, recipe: glyphs, options: {density: 1.0}}
"""


def load(folder: Path, text: str) -> Study:
    (folder / "study.yaml").write_text(text, encoding="utf-8")
    return Study.load(folder / "study.yaml")


def with_comparison(comparison: str, more: str = "") -> str:
    return f"{TEXT}{more}evaluate:\n  comparisons:\n    - {comparison}\n"


def test_without_a_word_every_variant_is_set_against_the_control(tmp_path: Path) -> None:
    assert load(tmp_path, TEXT).evaluate.comparisons == [Comparison()]
    renamed = load(tmp_path, TEXT.replace("name: control", "name: plain"))
    assert renamed.evaluate.comparisons == [Comparison(control="plain")]
    assert load(tmp_path, TEXT.replace("recipe: control", "recipe: spore")).evaluate.comparisons == []
    assert load(tmp_path, TEXT + "evaluate: {comparisons: []}").evaluate.comparisons == []


def test_what_is_written_out_reads_back(tmp_path: Path) -> None:
    study = load(tmp_path, with_comparison("{kind: equivalence, variants: [think], margin: 0.02}"))
    study.freeze(tmp_path / "frozen.yaml")
    assert Study.load(tmp_path / "frozen.yaml") == study


@pytest.mark.parametrize(
    ("comparison", "parts"),
    [
        ("{control: controll}", ["control: controll is no variant; did you mean control?"]),
        ("{variants: [thnk]}", ["variants", "'thnk', which is no variant; did you mean think?"]),
        ("{variants: null}", ["has no variants"]),
        ("{metric: heldout_los}", ["metric: heldout_los is not measured", "did you mean heldout_loss?"]),
        ("{metric: truthfulqa}", ["metric: truthfulqa is not measured by this study"]),
        ("{kind: equivalence}", ["is an equivalence without a margin"]),
        ("{margin: 0.1}", ["is a difference with a margin"]),
        ("{kind: slope}", ["kind: slope is not one of difference, equivalence, trend, interaction"]),
        ("{alpha: 0}", ["alpha: 0 is not above 0"]),
        ("{variants: [control]}", ["leaves nothing to compare with control"]),
        ("{kind: trend, variants: [think, high]}", ["holds think, which has no option density"]),
        ("{kind: trend, variants: [high]}", ["fewer than three density values"]),
        ("{kind: interaction}", ["the control runs on one base only"]),
        ("{kind: interaction, variants: [think]}", ["holds think, which does not run on two bases"]),
        ("{contrl: control}", ["unknown key; did you mean evaluate.comparisons.control?"]),
    ],
)
def test_a_mistake_names_its_line_and_what_to_do(tmp_path: Path, comparison: str, parts: list[str]) -> None:
    with pytest.raises(InputError) as error:
        load(tmp_path, with_comparison(comparison))
    assert "line 8" in str(error.value)
    for part in parts:
        assert part in str(error.value)


def test_variants_without_a_common_base_cannot_be_compared(tmp_path: Path) -> None:
    text = TEXT.replace("{name: think,", "{name: think, base: two,") + "bases: [{name: one}, {name: two}]\n"
    assert len(load(tmp_path, text).evaluate.comparisons or []) == 1  # `all` passes over it
    with pytest.raises(InputError, match="holds think, which has no base in common with control"):
        load(tmp_path, text + "evaluate: {comparisons: [{variants: [think]}]}")


def test_the_loss_on_the_controls_set_needs_a_control(tmp_path: Path) -> None:
    text = TEXT.replace("recipe: control", "recipe: spore") + "evaluate: {comparisons: [{control: control}]}"
    with pytest.raises(InputError, match="no variant has the recipe control"):
        load(tmp_path, text)


def test_comparisons_are_declared_until_training_begins(tmp_path: Path) -> None:
    first, second = load(tmp_path, TEXT), load(tmp_path, with_comparison("{variants: [think], alpha: 0.01}"))
    folder = Folder(tmp_path / "out")
    folder.out.mkdir()
    claim(folder, first)
    (folder.out / "data").mkdir()
    claim(folder, second)  # data is made, nothing is trained
    assert Study.load(folder.study) == second
    (folder.out / "runs").mkdir()
    claim(folder, first)
    assert Study.load(folder.study) == second
    assert read_exploratory(folder) == [Comparison().model_dump()]
    claim(folder, first)
    claim(folder, second)
    assert read_exploratory(folder) == [Comparison().model_dump()]


def test_another_study_notes_no_comparison(tmp_path: Path) -> None:
    folder = Folder(tmp_path / "out")
    (folder.out / "runs").mkdir(parents=True)
    claim(folder, load(tmp_path, TEXT))
    with pytest.raises(InputError, match="holds another study: seeds"):
        claim(folder, load(tmp_path, with_comparison("{variants: [think]}", "seeds: 3\n")))
    assert read_exploratory(folder) == []
