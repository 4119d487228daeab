"""Data files as people have them: each trouble is one message with file and line, and nothing of the folder is lost."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from octavo.artifacts import Folder
from octavo.cli import app
from octavo.corpus.example import load_examples
from octavo.models.resolve import BaseSource
from tests.training.studies import settings, write_corpus, write_study


def command(*arguments: str) -> Result:
    return CliRunner().invoke(app, arguments, prog_name="octavo")


def row(number: int, **changes: Any) -> dict[str, Any]:
    """A chat of its own family."""
    turns = [
        {"role": "user", "content": f"What is {number} and {number + 1}?"},
        {"role": "assistant", "content": f"It is {2 * number + 1}."},
    ]
    return {"id": f"e{number}", "family": f"f{number % 5}", "messages": turns} | changes


def lines(count: int = 24, **bad: Any) -> str:
    """Good rows; `bad` takes the place of the third."""
    rows = [row(n) for n in range(count)]
    if bad:
        rows[2] = row(2) | bad
    return "".join(json.dumps(one, ensure_ascii=True) + "\n" for one in rows)


def study_of(tiny: BaseSource, folder: Path, corpus: str, **changes: Any) -> str:
    values = settings(tiny.folder, corpus, **changes)
    return str(write_study(folder / "study.yaml", values))


# name of the trouble: (the file's bytes, parts of the message)
TROUBLES: dict[str, tuple[bytes, list[str]]] = {
    "empty": (b"", ["data.jsonl"]),
    "only blank lines": (b"\n\n  \n", ["data.jsonl"]),
    "broken JSON": (lines().replace('"e2"', '"e2', 1).encode(), ["data.jsonl", "3"]),
    "not UTF-8": (
        lines().encode().replace(b"What is 2 ", b"What \xff\xfe 2 ", 1),
        ["data.jsonl", "3", "UTF-8"],
    ),
    "lone surrogate": (lines().replace("What is 2 ", "What \\ud800 2 ", 1).encode(), ["data.jsonl", "3"]),
    "null content": (
        lines(messages=[{"role": "user", "content": "a"}, {"role": "assistant", "content": None}]).encode(),
        ["data.jsonl", "3"],
    ),
    "an image in the content": (
        lines(
            messages=[
                {"role": "user", "content": [{"type": "image", "url": "x"}]},
                {"role": "assistant", "content": "b"},
            ]
        ).encode(),
        ["data.jsonl", "3", "image"],
    ),
    "no assistant turn": (lines(messages=[{"role": "user", "content": "a"}]).encode(), ["data.jsonl", "3"]),
    "a number where messages belong": (lines(messages=7).encode(), ["data.jsonl", "3"]),
    "an unknown role": (
        lines(messages=[{"role": "wizard", "content": "a"}, {"role": "assistant", "content": "b"}]).encode(),
        ["data.jsonl", "3", "wizard"],
    ),
    "a list where a row belongs": (lines().encode() + b"[1, 2]\n", ["data.jsonl", "25"]),
    "too few rows": (lines(6).encode(), ["data.jsonl"]),
}


@pytest.mark.parametrize("name", TROUBLES)
def test_a_data_file_in_trouble_is_one_message(tiny: BaseSource, tmp_path: Path, name: str) -> None:
    content, said = TROUBLES[name]
    (tmp_path / "data.jsonl").write_bytes(content)
    study = study_of(tiny, tmp_path, "data.jsonl")
    result = command("data", study, "--out", str(tmp_path / "out"))
    assert result.exit_code == 2, result.output
    message = " ".join(result.stderr.split())
    for part in said:
        assert part in message
    assert "Traceback" not in result.output
    assert len(message) < 1500
    # the file is mended, and the same command goes on in the same folder
    (tmp_path / "data.jsonl").write_text(lines(), encoding="utf-8")
    assert command("data", study, "--out", str(tmp_path / "out")).exit_code == 0


def test_a_missing_file_is_named(tiny: BaseSource, tmp_path: Path) -> None:
    result = command("data", study_of(tiny, tmp_path, "nowhere.jsonl"), "--out", str(tmp_path / "out"))
    assert (result.exit_code, "nowhere.jsonl" in result.stderr) == (2, True)


HARMLESS: dict[str, Callable[[str], bytes]] = {
    "byte-order mark": lambda text: b"\xef\xbb\xbf" + text.encode(),
    "CRLF": lambda text: text.replace("\n", "\r\n").encode(),
    "blank lines between": lambda text: text.replace("\n", "\n\n").encode(),
    "no newline at the end": lambda text: text.rstrip("\n").encode(),
    "line separators in a text": lambda text: text.replace("What is", "What\u2028is\u0085now").encode(),
    "content as a list of text parts": lambda text: text.replace(
        '"content": "It is 5."',
        '"content": [{"type": "text", "text": "It is "}, {"type": "text", "text": "5."}]',
    ).encode(),
}


@pytest.mark.parametrize("name", HARMLESS)
def test_what_is_harmless_gives_the_same_rows(tiny: BaseSource, tmp_path: Path, name: str) -> None:
    (tmp_path / "data.jsonl").write_bytes(HARMLESS[name](lines()))
    study = study_of(tiny, tmp_path, "data.jsonl")
    result = command("data", study, "--out", str(tmp_path / "out"))
    assert result.exit_code == 0, result.stderr
    out = Folder(tmp_path / "out")
    found = [
        example
        for file in ("train.jsonl", "heldout.jsonl")
        for example in load_examples(out.data("control") / file)
    ]
    texts = {
        turns["content"] for example in found for turns in example.messages if turns["role"] == "assistant"
    }
    assert len(found) == 22  # 18 and 4
    assert texts <= {f"It is {2 * n + 1}." for n in range(24)}
    assert not any("\ufeff" in text for text in texts)


def test_all_prompts_too_long_is_said_with_what_to_do(tiny: BaseSource, tmp_path: Path) -> None:
    (tmp_path / "data.jsonl").write_text(lines(), encoding="utf-8")
    study = study_of(tiny, tmp_path, "data.jsonl", train={"max_length": 3})
    result = command("data", study, "--out", str(tmp_path / "out"))
    assert result.exit_code == 2, result.output
    assert "max_length" in result.stderr


def test_a_table_of_questions_and_answers_asks_for_its_columns(tiny: BaseSource, tmp_path: Path) -> None:
    rows = ["question,answer", *(f"What is {n}?,It is {n}." for n in range(40))]
    (tmp_path / "data.csv").write_text("\n".join(rows), encoding="utf-8")
    study = study_of(tiny, tmp_path, "data.csv")
    result = command("data", study, "--out", str(tmp_path / "out"))
    if result.exit_code == 2:
        assert "fields" in result.stderr
        fields = {"prompt": "question", "completion": "answer"}
        study = study_of(
            tiny,
            tmp_path,
            "data.csv",
            corpus={"source": "data.csv", "examples": 18, "heldout": 4, "fields": fields},
        )
        result = command("data", study, "--out", str(tmp_path / "out2"))
    assert result.exit_code == 0, result.stderr


def test_a_table_with_a_nul_byte_is_one_message(tiny: BaseSource, tmp_path: Path) -> None:
    rows = ["prompt,completion", *(f"What is {n}?,It is {n}." for n in range(40))]
    (tmp_path / "data.csv").write_bytes("\n".join(rows).encode().replace(b"What is 7", b"What\x00is 7"))
    result = command("data", study_of(tiny, tmp_path, "data.csv"), "--out", str(tmp_path / "out"))
    assert "Traceback" not in result.output
    assert result.exit_code in (0, 2), result.output
    if result.exit_code == 2:
        assert "data.csv" in result.stderr


def test_rows_that_are_all_one_row_are_said_to_be_duplicates(tiny: BaseSource, tmp_path: Path) -> None:
    one = row(1)
    text = "".join(json.dumps(one | {"id": f"e{n}"}) + "\n" for n in range(40))
    (tmp_path / "data.jsonl").write_text(text, encoding="utf-8")
    result = command("data", study_of(tiny, tmp_path, "data.jsonl"), "--out", str(tmp_path / "out"))
    assert result.exit_code == 2, result.output
    assert "duplicate" in result.stderr


def test_a_study_of_its_own_corpus_still_works(tiny: BaseSource, tmp_path: Path) -> None:
    study = study_of(tiny, tmp_path, str(write_corpus(tmp_path / "c.jsonl")))
    assert command("data", study, "--out", str(tmp_path / "out")).exit_code == 0
