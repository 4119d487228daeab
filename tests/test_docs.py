"""What the pages show can be done: their studies load, their Python runs, their commands exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from typer.main import get_command

from octavo.cli import app
from octavo.study import Study
from tests.conftest import ROOT
from tests.lanes.tiny import tiny_llama

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)


STUDIES = [(page.name, text) for page in PAGES for text in blocks(page, "yaml") if "variants:" in text]


@pytest.mark.parametrize(("page", "text"), STUDIES, ids=[f"{p}-{i}" for i, (p, _) in enumerate(STUDIES)])
def test_studies_of_the_pages_load(page: str, text: str, tmp_path: Path) -> None:
    (tmp_path / "study.yaml").write_text(text, encoding="utf-8")
    assert Study.load(tmp_path / "study.yaml").expand()


def test_the_example_of_the_lanes_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (text,) = [text for text in blocks(ROOT / "docs" / "python.md", "python") if "LaneEngine" in text]
    monkeypatch.chdir(tmp_path)
    tiny_llama().save_pretrained("smollm2")
    names: dict[str, object] = {}
    exec(text, names)
    first, second = names["outcome"].losses  # type: ignore[attr-defined]
    assert first < second  # ten times the learning rate
    assert len(names["matrices"]) == 8  # type: ignore[arg-type]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_of_the_pages_exist(page: Path) -> None:
    known = get_command(app).commands  # type: ignore[attr-defined]
    text = page.read_text(encoding="utf-8")
    named = set(re.findall(r"(?:`|^|&& )octavo ([a-z]+)", text, re.MULTILINE))
    assert named <= set(known), f"{page.name} names {named - set(known)}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_between_the_pages_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+?)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        if not target.startswith("http"):
            assert (page.parent / target).exists(), f"{page.name}: {target}"
