"""The demo as a newcomer runs it: minutes on two cores, so only `make test-all` does it."""

from __future__ import annotations

from pathlib import Path

import pytest

from octavo import pipeline
from octavo.study import Study


@pytest.mark.slow
@pytest.mark.real
@pytest.mark.timeout(1800)
def test_eight_runs_complete_finite_and_better_than_the_base(tmp_path: Path):
    results = pipeline.run(Study.load("demo"), tmp_path / "demo")
    matrix = results["matrix"]
    base = dict(
        zip(matrix["columns"], matrix["heldout_loss"][matrix["rows"].index("base:smollm2")], strict=True)
    )
    assert [run["state"] for run in results["runs"]] == ["completed"] * 8
    assert sum(run["nonfinite_parameters"] for run in results["runs"]) == 0
    for run in results["runs"]:
        assert run["heldout_loss"] < base[run["variant"]], run["id"]
    assert all(criterion["met"] for criterion in results["criteria"])
