"""What the report says of memory beside its bars."""

from __future__ import annotations

from octavo.report.memory import memory_parts, memory_words

MEASURED = {"predicted_bytes": 100, "peak_bytes": 110, "limit_bytes": 200}


def test_the_error_and_the_share_are_said():
    assert memory_words(MEASURED) == "The peak was 10.0 % above the prediction. It took 55 % of the limit."


def test_running_out_and_cut_examples_are_flagged():
    words = memory_words({**MEASURED, "halvings": 2, "shortened_to": 256})
    assert "Memory ran out 2 times" in words
    assert "Examples were cut at 256 tokens" in words
    assert "halves" not in memory_words({**MEASURED, "halvings": 0, "shortened_to": None})


def test_sums_are_no_parts():
    parts = {"base": 2**20, "training": 2**21, "evaluation": 2**20, "peak": 2**21}
    assert memory_parts({"by_part": parts}) == [("base", "1.0 MiB")]
