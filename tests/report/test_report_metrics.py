"""Metrics written elsewhere: what is not finite, null, zero or cut short stays what it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from octavo.errors import InputError
from octavo.report import read_metrics
from octavo.report.series import make_series

# As other trackers write them: bare NaN and Infinity, a number past a double, null, zero, a last line cut.
LINES = [
    '{"step": 1, "loss": 2.31, "grad_norm": Infinity}',
    '{"step": 2, "loss": NaN, "grad_norm": NaN}',
    '{"step": 3, "loss": 1e400, "grad_norm": 0.8}',
    '{"step": 4, "loss": null, "grad_norm": 0.7}',
    '{"step": 5, "loss": 0.0, "grad_norm": 0.7}',
]


def write(path: Path, *lines: str | bytes) -> Path:
    path.write_bytes(b"\n".join(line if isinstance(line, bytes) else line.encode() for line in lines))
    return path


@pytest.mark.parametrize(
    "tail", [b'{"step": 6, "loss": 2.2, "gr', b'{"step": 6, "gr\n', b'{"a": "\xc3', b"6", b""]
)
def test_kinds_stay_apart(tmp_path: Path, tail: bytes) -> None:
    curves = read_metrics(write(tmp_path / "m.jsonl", *LINES, tail))
    assert curves["step"] == [1, 2, 3, 4, 5]
    assert curves["loss"] == [2.31, "nan", "inf", None, 0.0]
    assert curves["grad_norm"] == ["inf", "nan", 0.8, 0.7, 0.7]
    assert curves["lr"] == curves["tokens"] == [None] * 5
    assert curves["heldout"] == {"step": [], "loss": []}


def test_they_become_gaps_and_marks(tmp_path: Path) -> None:
    curves = read_metrics(write(tmp_path / "m.jsonl", *LINES))
    one = make_series("x", 0, curves["step"], curves["loss"])
    assert one.finite.tolist() == [2.31, 0.0]
    assert one.marks == [(2, 2, "nan"), (3, 3, "inf")]


def test_a_broken_line_inside_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"m\.jsonl:3"):
        read_metrics(write(tmp_path / "m.jsonl", LINES[0], "", '{"step": 2, "lo', LINES[2]))


def test_missing_file_is_the_users_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        read_metrics(tmp_path / "none.jsonl")


def test_other_names_text_numbers_and_separate_lines(tmp_path: Path) -> None:
    lines = [
        '\ufeff{"global_step": 10, "loss": "NaN", "learning_rate": 1e-4}',
        '{"global_step": 10, "eval_loss": "Infinity"}\r',
        '{"global_step": 20, "loss": -Infinity, "eval_loss": 0, "note": "a\u2028b"}',
        '{"global_step": 20, "loss": 1' + "0" * 400 + ', "learning_rate": true}',
    ]
    curves = read_metrics(write(tmp_path / "m.jsonl", *lines))
    assert curves["step"] == [10, 20]
    assert curves["loss"] == ["nan", "inf"]
    assert curves["lr"] == [1e-4, None]
    assert curves["heldout"] == {"step": [10, 20], "loss": ["inf", 0.0]}


def test_a_step_logged_again_after_a_resume_counts_once(tmp_path: Path) -> None:
    lines = [
        f'{{"step": {step}, "loss": {loss}}}' for step, loss in ((1, 3), (2, 2), (3, 1), (2, 2.5), (3, 1.5))
    ]
    assert read_metrics(write(tmp_path / "m.jsonl", *lines))["loss"] == [3, 2.5, 1.5]
