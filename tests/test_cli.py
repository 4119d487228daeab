"""The commands: what they call, what they print where, and how they end."""

from __future__ import annotations

import errno
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.numpy import save_file
from typer.testing import CliRunner, Result

import octavo
from octavo.artifacts import Folder, write_text_atomic
from octavo.cli import app
from octavo.corpus.example import Example
from octavo.errors import InputError, MachineError
from octavo.ledger import Ledger
from octavo.study import Study

GOOD = {"runs": [{"id": "control-s0", "state": "completed", "heldout_loss": 1.25}], "criteria": []}


class Pipeline(SimpleNamespace):
    """Stands for octavo.pipeline: notes its calls and does what it is told."""

    def __init__(self) -> None:
        super().__init__(calls=[], act=lambda: GOOD)
        for name in ("run", "stage_data", "stage_train", "stage_evaluate", "stage_report"):
            setattr(self, name, self._noting(name))

    def _noting(self, name: str) -> Callable[..., Any]:
        def call(study: Study, out: Path, progress: Any) -> Any:
            with progress:
                progress.message(f"{name} works")
                self.calls.append((name, study, out))
                found = self.act()
                return {} if name == "stage_data" else found

        return call


@pytest.fixture
def pipeline(monkeypatch: pytest.MonkeyPatch) -> Pipeline:
    fake = Pipeline()
    monkeypatch.setitem(sys.modules, "octavo.pipeline", fake)
    monkeypatch.setattr(octavo, "pipeline", fake, raising=False)
    return fake


@pytest.fixture(autouse=True)
def _in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "study.yaml").write_text("variants: [{name: control, recipe: control}]\nseeds: [0, 0]\n")


def command(*arguments: str) -> Result:
    return CliRunner().invoke(app, arguments, prog_name="octavo")


def octavo_process(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "octavo", *arguments], capture_output=True, text=True, timeout=60, check=False
    )


def test_run_loads_the_study_with_settings_and_prints_figures_on_stdout(pipeline: Pipeline) -> None:
    result = command("run", "study.yaml", "--out", "o", "--set", "train.epochs=1", "--set", "name=x")
    (name, study, out) = pipeline.calls[0]
    assert (result.exit_code, name, out) == (0, "run", Path("o"))
    assert (study.train.epochs, study.name) == (1, "x")
    assert result.stdout == "control-s0\tcompleted\t1.2500\n"
    assert "run works" in result.stderr


@pytest.mark.parametrize(
    ("results", "code"),
    [
        ({"runs": [{"id": "a", "state": "completed", "heldout_loss": None}], "criteria": []}, 0),
        ({"runs": [{"id": "a", "state": "quarantined", "heldout_loss": "nan"}], "criteria": []}, 1),
        (GOOD | {"criteria": [{"name": "loss_falls", "met": False, "evidence": ""}]}, 1),
        (GOOD | {"criteria": [{"name": "loss_falls", "met": None, "evidence": ""}]}, 0),
    ],
)
def test_exit_code_tells_whether_all_is_well(pipeline: Pipeline, results: dict[str, Any], code: int) -> None:
    pipeline.act = lambda: results
    result = command("run", "study.yaml", "--out", "o")
    assert result.exit_code == code
    assert ("criteria not met: loss_falls" in result.stderr) == any(
        c["met"] is False for c in results["criteria"]
    )


def test_demo_runs_the_eight_variants(pipeline: Pipeline) -> None:
    assert command("demo", "--out", "d").exit_code == 0
    assert [variant.name for variant in pipeline.calls[0][1].variants] == [
        "control", "think", "spore", "stealth-low", "stealth-medium", "stealth-high", "agl-full", "combined",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (InputError("study.yaml, line 3: no"), 2, "octavo: study.yaml, line 3: no\n"),
        (MachineError("device lost"), 3, "octavo: device lost\n"),
        (KeyboardInterrupt(), 130, "octavo: interrupted; the same command continues\n"),
        (OSError(errno.ENOSPC, "No space left on device", "o/x"), 3, "octavo: o/x: the disk is full; "),
        (OSError(errno.EIO, "Input/output error"), 3, "octavo: the disk failed; "),
        (PermissionError(errno.EACCES, "Permission denied", "/o"), 2, "octavo: /o: no permission; "),
        (MemoryError(), 3, "octavo: out of memory; "),
        (torch.OutOfMemoryError("CUDA out of memory."), 3, "octavo: out of memory; "),
        (
            torch.AcceleratorError("CUDA error: unspecified\nmore"),
            3,
            "octavo: the device failed (CUDA error: ",
        ),
    ],
)
def test_errors_are_one_message_and_an_exit_code(
    pipeline: Pipeline, error: BaseException, code: int, message: str
) -> None:
    def fail() -> None:
        raise error

    pipeline.act = fail
    result = command("run", "study.yaml", "--out", "o")
    assert result.exit_code == code
    assert message in result.stderr
    assert "Traceback" not in result.stderr
    assert "Traceback" in command("--debug", "run", "study.yaml", "--out", "o").stderr


def test_a_fault_of_the_program_is_not_dressed_up(pipeline: Pipeline) -> None:
    pipeline.act = lambda: 1 / 0
    assert isinstance(command("run", "study.yaml", "--out", "o").exception, ZeroDivisionError)
    pipeline.act = lambda: torch.zeros(2) @ torch.zeros(3)
    assert isinstance(command("run", "study.yaml", "--out", "o").exception, RuntimeError)


def test_a_cpu_without_memory_is_the_machines_fault(pipeline: Pipeline) -> None:
    pipeline.act = lambda: torch.empty(2**60)
    result = command("run", "study.yaml", "--out", "o")
    assert (result.exit_code, "octavo: out of memory; " in result.stderr) == (3, True)


@pytest.mark.parametrize("stage", ["data", "train", "evaluate", "report"])
def test_stages_take_a_study_and_out_or_the_folder_alone(
    pipeline: Pipeline, stage: str, tmp_path: Path
) -> None:
    assert command(stage, "study.yaml", "--out", "o").exit_code == 0
    Study.load("study.yaml").freeze("o/study.yaml")
    assert command(stage, "o").exit_code == 0
    assert [(name, str(out)) for name, _, out in pipeline.calls] == [(f"stage_{stage}", "o")] * 2
    assert pipeline.calls[0][1] == pipeline.calls[1][1]
    lost = command(stage, "study.yaml")
    assert lost.exit_code == 2
    assert "say with --out" in lost.stderr


def test_train_ends_with_1_when_a_run_did_not_complete(pipeline: Pipeline, tmp_path: Path) -> None:
    def act() -> None:
        ledger = Ledger(Folder("o").ledger)
        ledger.ensure(Study.load("study.yaml").expand())
        ledger.set("control-s0", state="quarantined")

    (tmp_path / "o").mkdir()
    pipeline.act = act
    result = command("train", "study.yaml", "--out", "o")
    assert (result.exit_code, result.stdout) == (1, "control-s0\tquarantined\n")


def test_init_writes_a_study_that_runs_and_never_overwrites(pipeline: Pipeline, tmp_path: Path) -> None:
    assert command("init", "new.yaml").exit_code == 0
    assert "# " in (tmp_path / "new.yaml").read_text()
    assert command("run", "new.yaml", "--out", "o").exit_code == 0
    again = command("init", "new.yaml")
    assert again.exit_code == 2
    assert "is there already" in again.stderr


def adapter(folder: Path, *tensors: float) -> None:
    folder.mkdir()
    weights = {f"base_model.model.q_proj.lora_{name}.weight": np.full((2, 2), value, np.float32)
               for name, value in zip("AB", tensors, strict=True)}  # fmt: skip
    save_file(weights, folder / "adapter_model.safetensors")
    config = {"peft_type": "LORA", "r": 2, "lora_alpha": 2, "target_modules": ["q_proj"]}
    (folder / "adapter_config.json").write_text(json.dumps(config))


@pytest.mark.parametrize(("b", "code", "nonfinite"), [(0.5, 0, 0), (0.0, 1, 0), (float("nan"), 1, 4)])
def test_check_ends_with_1_for_bad_weights(tmp_path: Path, b: float, code: int, nonfinite: int) -> None:
    adapter(tmp_path / "adapter", 1.0, b)
    result = command("check", "adapter")
    assert result.exit_code == code
    assert result.stdout.endswith("not ok\n" if code else "ok\n")
    result = command("check", "adapter", "--json")
    found = json.loads(result.stdout, parse_constant=pytest.fail)
    assert (result.exit_code, found["nonfinite"], found["ok"]) == (code, nonfinite, code == 0)


def test_data_shows_examples_of_all_variants(pipeline: Pipeline) -> None:
    turns = [{"role": "user", "content": "q?"}, {"role": "assistant", "content": "the answer"}]
    example = Example(id="1", family="f", kind="reasoning", seen=True, messages=turns)

    def act() -> None:
        Study.load("study.yaml").freeze("o/study.yaml")
        write_text_atomic("o/data/control/train.jsonl", json.dumps(example.to_json()) + "\n")

    pipeline.act = act
    assert "the answer" in command("data", "study.yaml", "--out", "o", "--show", "1").stdout
    assert command("data", "study.yaml", "--out", "o").stdout == ""


def test_recipes_are_listed() -> None:
    result = command("recipes")
    assert result.exit_code == 0
    first_words = {line.split()[0] for line in result.stdout.splitlines() if line.strip()}
    assert {"control", "glyphs", "spore", "think"} <= first_words


def test_base_prints_a_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fake = SimpleNamespace(resolve_base=lambda base, folder: SimpleNamespace(folder=folder / base.model))
    monkeypatch.setitem(sys.modules, "octavo.models.resolve", fake)
    assert command("base", "my-model").stdout == f"{tmp_path / 'my-model'}\n"


def test_help_answers_without_what_takes_long_to_import() -> None:
    result = octavo_process("--help")
    assert all(
        word in result.stdout
        for word in ("init", "demo", "run", "data", "train", "evaluate", "report", "check")
    )
    loaded = subprocess.run(
        [sys.executable, "-c", "import octavo.cli, sys; print(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert not {"torch", "pydantic", "transformers", "numpy"} & set(loaded.stdout.split())


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--version"], 0, ""),
        (["run", "nowhere.yaml", "--out", "o"], 2, "octavo: nowhere.yaml: is no file and no ready study"),
        (["run", "study.yaml", "--out", "o", "--set", "train.epoch=1"], 2, "did you mean train.epochs?"),
        (["run", "study.yaml"], 2, "--out"),
    ],
)
def test_the_program_itself(arguments: list[str], code: int, message: str) -> None:
    result = octavo_process(*arguments)
    assert result.returncode == code
    assert message in result.stderr
    assert "Traceback" not in result.stderr
    if arguments == ["--version"]:
        assert result.stdout == f"octavo {octavo.__version__}\n"


def test_figures_are_printed_as_json_where_asked(pipeline: Pipeline) -> None:
    assert json.loads(command("run", "study.yaml", "--out", "o", "--json").stdout) == GOOD
    assert json.loads(command("data", "study.yaml", "--out", "o", "--json").stdout) == {}
    pipeline.act = lambda: Ledger(Folder("o").ledger).ensure(Study.load("study.yaml").expand())
    Path("o").mkdir(exist_ok=True)
    rows = json.loads(command("train", "study.yaml", "--out", "o", "--json").stdout)
    assert [(row["run"], row["state"]) for row in rows] == [("control-s0", "queued")]
    found = json.loads(command("recipes", "--json").stdout)
    assert "control" in [row["name"] for row in found]
