"""Adapters that other tools trained, compared without a study."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from octavo.cli import app
from octavo.models.resolve import BaseSource
from tests.evaluation.test_suites import TRUTHFUL, write_jsonl
from tests.speaking.conftest import write_adapter


def command(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["evaluate", *arguments], prog_name="octavo")


@pytest.fixture(scope="module")
def places(tiny: BaseSource, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("strangers")
    (root / "truthfulqa.csv").write_text(TRUTHFUL, encoding="utf-8")
    rows = [
        {
            "id": str(n),
            "prompt": f"Is {n} more than {n % 5}?",
            "options": ["yes", "no"],
            "answer": int(n <= n % 5),
        }
        for n in range(30)
    ]
    return {
        "one": write_adapter(tiny, root / "one", 1),
        "zero": write_adapter(tiny, root / "zero", 1, size=0.0),
        "broken": write_adapter(tiny, root / "broken", 1, size=float("nan")),
        "items": write_jsonl(root / "mine.jsonl", rows),
        "truthful": root / "truthfulqa.csv",
    }


def test_adapters_are_set_against_the_base_and_each_other(places: dict[str, Path]) -> None:
    one, zero = str(places["one"]), str(places["zero"])
    suites = ["--suite", f"items={places['items']}", "--suite", f"truthfulqa={places['truthful']}"]
    result = command("--adapters", one, zero, *suites, "--json")
    assert result.exit_code == 0, result.stderr
    found = json.loads(result.stdout)
    assert [run for run in found["runs"] if not run.startswith("base:")] == [one, zero]
    (base,) = [run for run in found["runs"] if run.startswith("base:")]
    pairs = {(p["first"], p["second"], p["metric"]): p for p in found["pairs"]}
    couples = [(one, base), (zero, base), (zero, one)]
    assert set(pairs) == {(a, b, metric) for a, b in couples for metric in ("score", "mc1", "mc2")}
    same = pairs[zero, base, "mc2"]["checkpoints"]
    assert (same["estimate"], same["p"]) == (0.0, 1.0)
    for pair in found["pairs"]:
        assert not pair["recipe"]["possible"]
        if pair["checkpoints"]["p"] is not None:
            assert pair["corrected_p"] >= pair["checkpoints"]["p"] - 1e-12
    means = {(r["run"], r["metric"]): r["mean"] for r in found["suites"]["mine"]["rows"]}
    estimate = pairs[one, base, "score"]["checkpoints"]["estimate"]
    assert estimate == pytest.approx(means[one, "score"] - means[base, "score"])
    assert all(r["chance"] is not None for r in found["suites"]["mine"]["rows"])
    plain = command("--adapters", one, zero, *suites)
    assert plain.exit_code == 0
    assert "not about the recipes" in plain.stdout


def test_what_cannot_be_compared_is_said(places: dict[str, Path], tmp_path: Path) -> None:
    one = str(places["one"])
    for arguments, said in [
        (["--adapters", one], "say what to measure"),
        (["--adapters", one, "--suite", "items"], "needs a file"),
        (["--adapters", one, "--suite", f"itmes={places['items']}"], "did you mean items"),
        (["--adapters", str(places["broken"]), "--suite", f"items={places['items']}"], "not finite"),
        (["--adapters", str(tmp_path), "--suite", f"items={places['items']}"], "holds no adapter"),
        (["--suite", f"items={places['items']}"], "give one study"),
        ([], "give one study"),
    ]:
        result = command(*arguments)
        assert result.exit_code == 2, (arguments, result.output)
        assert said in " ".join(result.stderr.split()), result.stderr
