"""The GPU script runs without Octavo's dependencies, on a tiny model and the CPU."""

from __future__ import annotations

import json
import os
import subprocess
import sys

from tests.conftest import ROOT

# every finder is asked through one that knows nothing of Octavo's other dependencies
ALONE = """
import builtins, runpy, sys

ABSENT = {"pydantic", "pydantic_core", "typer", "rich", "trl", "datasets", "jinja2", "matplotlib", "gguf"}

class Poorer:
    def __init__(self, finder):
        self.finder = finder

    def find_spec(self, name, path=None, target=None):
        return None if name.split(".")[0] in ABSENT else self.finder.find_spec(name, path, target)

    def __getattr__(self, name):
        return getattr(self.finder, name)

plain_import = builtins.__import__

def without_yaml(name, globals=None, *rest, **named):  # transformers and peft have it anyway; ours must do without
    importer = str((globals or {}).get("__name__"))
    if name.split(".")[0] == "yaml" and importer.startswith(("octavo", "speed", "__main__")):
        raise ImportError(name)
    return plain_import(name, globals, *rest, **named)

builtins.__import__ = without_yaml
sys.meta_path[:] = [Poorer(finder) for finder in sys.meta_path]
sys.path.insert(0, "bench")
sys.argv = ["bench/gpu_check.py", "--tiny", *sys.argv[1:]]
runpy.run_path("bench/gpu_check.py", run_name="__main__")
assert not ABSENT & {name.split(".")[0] for name in sys.modules}
"""


def run(*arguments: str) -> tuple[int, dict]:
    environment = os.environ | {"PYTHONPATH": "src", "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
    words = [sys.executable, "-c", ALONE, *arguments]
    done = subprocess.run(words, check=False, capture_output=True, text=True, cwd=ROOT, env=environment)
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout.splitlines()[-1])


def test_the_script_shows_all_that_it_claims_with_torch_transformers_and_peft_alone():
    code, figures = run()
    assert code == 0
    assert figures["good"]
    assert figures["equivalence"]["max_relative_difference"] < 1e-3
    assert figures["isolation"]["others_bit_for_bit"] == "3/3"
    assert set(figures["speed tiny"]["fused"]) == {"1", "2", "4"}
    assert figures["eight lanes under 16 GB"]["predicted_bytes"] > 0
    assert figures["skipped"] == []


def test_sections_that_there_is_no_time_for_are_named_and_nothing_is_claimed():
    code, figures = run("--seconds", "0")
    assert code == 1
    assert "equivalence" in figures["skipped"]
    assert not figures["good"]
