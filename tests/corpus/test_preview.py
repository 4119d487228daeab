"""Recipes and data shown in a terminal."""

import io

import pytest
from rich.console import Console

from octavo.artifacts import Folder, write_text_atomic
from octavo.corpus.example import dump_lines
from octavo.corpus.preview import SAMPLE, difference, show_examples
from octavo.corpus.recipes import build_chain, describe_recipes, recipe_names, show
from octavo.errors import InputError
from tests.corpus.conftest import conversation


def test_every_recipe_is_described_with_an_example():
    rows = {row["name"]: row for row in describe_recipes()}
    assert list(rows) == recipe_names()
    assert "∴" in rows["glyphs"]["after"]
    assert "∴" not in rows["glyphs"]["before"]
    assert "<think>" in rows["think"]["after"]
    assert {option["name"] for option in rows["spore"]["options"]} == {"density", "roles"}
    assert "🙂" not in rows["control"]["after"]
    assert SAMPLE.sites == []


def console_of(width, coloured=False):
    colours = "standard" if coloured else None
    return Console(width=width, file=io.StringIO(), force_terminal=coloured, color_system=colours)


def test_the_listing_colours_what_is_new():
    plain, coloured = console_of(100), console_of(100, coloured=True)
    show(plain)
    show(coloured)
    assert "placebo_neutral" in plain.file.getvalue()
    assert "density: 1.0" in plain.file.getvalue()
    assert "\x1b" not in plain.file.getvalue()
    assert "🙂" in plain.file.getvalue().split("control")[0]
    assert "🙂" not in plain.file.getvalue().split("control")[1]
    assert "\x1b[1;32m" in coloured.file.getvalue()


def test_differences():
    text = difference("one two three", "one 2 three four")
    assert text.plain == "one two2 three four"
    assert [(text.plain[s.start : s.end], s.style) for s in text.spans if s.style] == [
        ("two", "strike red"),
        ("2", "bold green"),
        (" four", "bold green"),
    ]
    assert difference("a b", "a", removed=False).plain == "a"


def test_examples_side_by_side(tmp_path):
    folder = Folder(tmp_path)
    names = ["control", "glyphs", "spore", "think"]
    examples = [conversation(f"Q{i} [bold]", f"It is {i}. [/x]", f"e{i}", steps=["s"]) for i in range(3)]
    for name in names:
        chain = build_chain(name, {}, 0)
        write_text_atomic(folder.data(name) / "train.jsonl", dump_lines(map(chain.apply, examples)))
    console = console_of(110)
    show_examples(folder, names, 2, console)
    text = console.file.getvalue()
    assert "e0" in text
    assert "e2" not in text
    assert "Q1 [bold]" in text
    assert text.count("think") >= 2
    assert "⊥⊥⊥" in text or "●" in text
    with pytest.raises(InputError, match="octavo data"):
        show_examples(folder, ["none"], 1, console)
