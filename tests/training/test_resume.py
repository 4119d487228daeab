"""Killed at any moment, a study goes on with the same command and ends with the same bits."""

from __future__ import annotations

import json
import shutil
import signal
from dataclasses import dataclass
from pathlib import Path

import pytest

from octavo import pipeline
from octavo.artifacts import Folder, read_jsonl
from octavo.errors import InputError
from octavo.study import Study
from tests.training.children import Fault, run_child
from tests.training.studies import (
    Notes,
    adapter_hashes,
    ledger_rows,
    load_study,
    read_strict,
    settings,
    steps_of,
    train_only,
    write_corpus,
)

SAVE_EVERY = 2
# longer than the others, so that lanes are handed on: glyphs-s0 waits for a lane
STEPS = {"control-s0": 5, "control-s1": 5, "long-s0": 7, "long-s1": 7, "glyphs-s0": 5, "glyphs-s1": 5}


@dataclass
class Whole:
    """A study that was never interrupted."""

    file: Path
    out: Path
    hashes: dict[str, str]

    @property
    def study(self) -> Study:
        return Study.load(self.file)


@pytest.fixture(scope="module")
def whole(tiny, tmp_path_factory: pytest.TempPathFactory) -> Whole:
    folder = tmp_path_factory.mktemp("whole")
    values = settings(
        tiny.folder,
        write_corpus(folder / "corpus.jsonl"),
        seeds=[0, 1],
        variants=[
            {"name": "control", "recipe": "control"},
            {"name": "long", "recipe": "control", "train": {"steps": 7, "epochs": None}},
            {"name": "glyphs", "recipe": "glyphs", "options": {"density": 1.0}},
        ],
        lanes={"strategy": 4},
        train={"save_every": SAVE_EVERY},
    )
    load_study(folder / "study.yaml", values)
    code, log = run_child(folder / "study.yaml", folder / "out")
    assert code == 0, log
    hashes = adapter_hashes(folder / "out")
    assert list(hashes) == sorted(STEPS)
    return Whole(folder / "study.yaml", folder / "out", hashes)


def assert_same_training(out: Path, whole: Whole) -> None:
    """Same adapters, every step once in the same words, a ledger that says so, and nothing half written."""
    assert adapter_hashes(out) == whole.hashes
    for run, row in ledger_rows(out).items():
        assert (row["state"], row["verdict"], row["lease"], row["message"]) == ("completed", None, None, None)
        assert steps_of(out, run) == list(range(1, STEPS[run] + 1))
        for mine, theirs in zip(*(read_jsonl(Folder(o).metrics(run)) for o in (out, whole.out)), strict=True):
            assert mine | {"seconds": 0} == theirs | {"seconds": 0}
    assert not list(out.rglob("*.tmp"))


def assert_same_end(out: Path, whole: Whole) -> None:
    """The same training, evaluation and matrix."""
    assert_same_training(out, whole)
    for name in ("heldout", "generations"):
        assert Folder(out).evaluation(name).read_bytes() == Folder(whole.out).evaluation(name).read_bytes()
    assert read_strict(Folder(out).results)["matrix"] == read_strict(Folder(whole.out).results)["matrix"]


def repeated(out: Path) -> list[int]:
    """How many steps each `resumed` event of any run says were done twice."""
    events = [row for run in STEPS for row in read_jsonl(Folder(out).events(run)) if row["kind"] == "resumed"]
    return [int(row["evidence"].split("; ")[1].split(" ")[0]) for row in events]


KILLS = [
    Fault("step", 1, "control-s0"),  # before any checkpoint
    Fault("step", 3, "long-s1"),
    Fault("lane file", 7),
    Fault("manifest", 1),
    Fault("export", 2),
    Fault("exported", 1),
    Fault("step", 4, "glyphs-s1"),  # in a lane that was another run's
]


def test_kills_at_seven_moments_end_in_the_same_bits(whole: Whole, tmp_path: Path):
    for fault in KILLS:
        code, log = run_child(whole.file, tmp_path, fault)
        assert code == -signal.SIGKILL, (fault, log)
        assert "resumed" not in log
        states = {row["state"] for row in ledger_rows(tmp_path).values()}
        assert states <= {"queued", "training", "completed"}
    code, log = run_child(whole.file, tmp_path)
    assert code == 0, log
    assert_same_end(tmp_path, whole)
    assert repeated(tmp_path)
    assert max(repeated(tmp_path)) <= SAVE_EVERY


@pytest.mark.parametrize(
    "fault",
    [Fault("lane file", 1), Fault("manifest", 4), Fault("export", 6), Fault("exported", 6)],
    ids=lambda fault: f"{fault.at} {fault.count}",
)
def test_a_kill_while_a_file_is_written(whole: Whole, tmp_path: Path, fault: Fault):
    assert run_child(whole.file, tmp_path, fault)[0] == -signal.SIGKILL
    code, log = run_child(whole.file, tmp_path)
    assert code == 0, log
    assert_same_end(tmp_path, whole)
    assert max(repeated(tmp_path), default=0) <= SAVE_EVERY


def test_ctrl_c_ends_the_window_and_continues(whole: Whole, tmp_path: Path):
    code, log = run_child(whole.file, tmp_path, Fault("step", 3, "control-s0", signal.SIGINT))
    assert code == 130
    assert "octavo: interrupted; the same command continues" in log
    rows = ledger_rows(tmp_path)
    assert {row["state"] for row in rows.values()} == {"queued"}
    assert {row["lease"] for row in rows.values()} == {None}
    assert rows["control-s0"]["message"] == "interrupted after step 3; the same command continues"
    assert rows["control-s0"]["checkpoint"] == 3
    assert rows["glyphs-s0"]["message"] is None
    code, log = run_child(whole.file, tmp_path)
    assert code == 0, log
    assert_same_end(tmp_path, whole)
    assert set(repeated(tmp_path)) == {0}


def test_ctrl_c_in_the_last_window_is_not_lost(whole: Whole, tmp_path: Path):
    code, log = run_child(whole.file, tmp_path, Fault("step", 5, "glyphs-s1", signal.SIGINT))
    assert code == 130, log
    assert not Folder(tmp_path).results.exists()
    assert {row["state"] for row in ledger_rows(tmp_path).values()} == {"completed"}
    code, log = run_child(whole.file, tmp_path)
    assert code == 0, log
    assert_same_end(tmp_path, whole)
    assert read_strict(Folder(tmp_path).results)["memory"]["peak_bytes"]


# --- damaged checkpoints ---------------------------------------------------------------------------------------


class Stop(Exception):
    pass


def stop_at(whole: Whole, out: Path, window: int) -> Folder:
    """Train in this process and stop dead in a window, before anything of it is saved."""

    def stop(trainer: object) -> None:
        if trainer.window_number == window:  # type: ignore[attr-defined]
            raise Stop

    with pytest.raises(Stop):
        train_only(whole.study, out, stop)
    return Folder(out)


@pytest.fixture(scope="module")
def stopped(whole: Whole, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Stopped in window 5: there are checkpoints of windows 2 and 4. Not to be written to."""
    return stop_at(whole, tmp_path_factory.mktemp("stopped") / "out", 5).out


@pytest.fixture
def out(stopped: Path, tmp_path: Path) -> Path:
    """A copy of `stopped`."""
    return Path(shutil.copytree(stopped, tmp_path / "out"))


def manifests(out: Path) -> list[Path]:
    return sorted((out / "packs" / "tiny").glob("window-*.json"))


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def flip(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert '"step": 4' in text
    path.write_text(text.replace('"step": 4', '"step": 3', 1), encoding="utf-8")


def older(path: Path) -> None:
    path.write_text(
        json.dumps(json.loads(path.read_text(encoding="utf-8")) | {"format": 0}), encoding="utf-8"
    )


def damage_lane_file(how: str):
    def damage(path: Path) -> None:
        name = json.loads(path.read_text(encoding="utf-8"))["lanes"][1]["file"]
        file = path.parent.parent.parent / name
        if how == "missing":
            file.unlink()
        elif how == "truncated":
            cut(file)
        else:
            content = bytearray(file.read_bytes())
            content[-5] ^= 1
            file.write_bytes(content)

    return damage


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (damage_lane_file("truncated"), "is not what was written"),
        (damage_lane_file("changed"), "is not what was written"),
        (damage_lane_file("missing"), "No such file"),
        (cut, ""),
        (flip, "content is not what was written"),
        (older, "format 0 is not 1"),
        (lambda path: path.write_bytes(b""), ""),
        (lambda path: path.write_text("[]"), ""),
        (lambda path: path.write_bytes(b"\xff\xfe\x00"), ""),
    ],
    ids=["truncated", "changed", "missing", "cut", "flip", "older", "empty", "list", "bytes"],
)
def test_a_damaged_checkpoint_is_passed_over_for_the_one_before(whole: Whole, out: Path, damage, said: str):
    assert [path.name for path in manifests(out)] == ["window-00000002.json", "window-00000004.json"]
    damage(manifests(out)[-1])
    notes = Notes()
    train_only(whole.study, out, progress=notes)
    passed = [text for text in notes.messages if "window-00000004.json is damaged" in text]
    assert len(passed) == 1
    assert said in passed[0]
    assert "going back to the one before it" in passed[0]
    events = read_jsonl(Folder(out).events("control-s0"))
    assert [row["evidence"] for row in events] == ["continues after step 2; 2 steps are repeated"]
    assert_same_training(out, whole)


def test_with_no_whole_checkpoint_training_begins_anew(whole: Whole, out: Path):
    for path in manifests(out):
        cut(path)
    notes = Notes()
    train_only(whole.study, out, progress=notes)
    assert sum("is damaged" in text for text in notes.messages) == 2
    assert sum("begins anew" in text for text in notes.messages) == 1
    assert_same_training(out, whole)


def test_a_damaged_older_checkpoint_does_not_stop_the_training(whole: Whole, out: Path):
    cut(manifests(out)[0])
    train_only(whole.study, out)
    assert_same_training(out, whole)


def test_only_as_many_checkpoints_stay_as_asked(whole: Whole, tmp_path: Path):
    folder = stop_at(whole, tmp_path, 8)
    # of windows 2, 4, 5 (the first runs end), 6 and 7 two are kept, with the files that they name and no others
    assert [path.stem for path in manifests(tmp_path)] == ["window-00000006", "window-00000007"]
    files = {run: sorted(f.name for f in folder.checkpoints(run).iterdir()) for run in STEPS}
    assert files["control-s0"] == []
    assert files["long-s0"] == ["step-00000006.safetensors"]
    assert files["glyphs-s0"] == ["step-00000001.safetensors", "step-00000002.safetensors"]


# --- failures that are no kill ---------------------------------------------------------------------------------


def test_an_exception_marks_the_runs_in_lanes_as_failed_and_the_next_call_goes_on(
    whole: Whole, tmp_path: Path
):
    stop_at(whole, tmp_path, 3)
    rows = ledger_rows(tmp_path)
    assert {run: row["state"] for run, row in rows.items()} == {
        run: "queued" if run.startswith("glyphs") else "failed" for run in STEPS
    }
    assert rows["long-s1"]["message"] == "Stop: "
    assert {row["lease"] for row in rows.values()} == {None}
    with pytest.raises(
        InputError, match=r"2 of 6 runs have not been trained to their end, first 'glyphs-s0'"
    ):
        pipeline.stage_evaluate(whole.study, tmp_path)
    pipeline.run(whole.study, tmp_path)
    assert_same_end(tmp_path, whole)


def test_two_processes_cannot_work_on_one_folder(whole: Whole, tmp_path: Path):
    seen: list[str] = []

    def try_again(trainer: object) -> None:
        if not seen:
            seen.append(run_child(whole.file, tmp_path)[1])

    train_only(whole.study, tmp_path, try_again)
    assert "another octavo (process " in seen[0]
    pipeline.run(whole.study, tmp_path)
    assert_same_end(tmp_path, whole)
