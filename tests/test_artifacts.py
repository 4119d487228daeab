"""Files are whole or not there, JSON is JSON for every reader, and a folder holds one study for one process."""

from __future__ import annotations

import errno
import json
import math
import os
import signal
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from octavo import artifacts
from octavo.artifacts import (
    Folder,
    append_jsonl,
    json_safe,
    read_jsonl,
    write_bytes_atomic,
    write_json_atomic,
    write_text_atomic,
)
from octavo.errors import InputError
from octavo.study import Study
from octavo.study_folder import claim, study_lock
from octavo.yaml_text import Document


def study(**keys: object) -> Study:
    return Study.parse(Document({"variants": [{"name": "a", "recipe": "control"}], **keys}, "t"))


def test_paths_of_a_study_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    folder = Folder("out")
    monkeypatch.chdir("/")
    assert folder.adapter("a-s0") == tmp_path / "out/runs/a-s0/adapter"
    assert folder.data("a") == tmp_path / "out/data/a"
    assert folder.evaluation("heldout") == tmp_path / "out/evaluation/heldout.jsonl"
    assert not folder.out.exists()


def test_written_files_replace_the_old_and_make_their_folder(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b.txt"
    write_text_atomic(path, "one\r\n")
    write_text_atomic(path, "∞\n")
    assert path.read_bytes() == "∞\n".encode()
    assert os.listdir(path.parent) == ["b.txt"]
    mask = os.umask(0o027)
    try:
        write_text_atomic(path, "x")
    finally:
        os.umask(mask)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


@pytest.mark.parametrize("broken", ["write", "fsync", "replace"])
def test_a_failed_write_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    path = tmp_path / "file"
    write_bytes_atomic(path, b"old")

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    if broken == "write":
        monkeypatch.setattr(artifacts.os, "fchmod", full)
    else:
        monkeypatch.setattr(artifacts.os, broken, full)
    with pytest.raises(OSError, match="No space"):
        write_bytes_atomic(path, b"new" * 1000)
    monkeypatch.undo()
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["file"]


def test_data_is_on_the_disk_before_the_name_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    order: list[str] = []
    for name in ("fsync", "replace"):
        real = getattr(os, name)
        monkeypatch.setattr(
            artifacts.os, name, lambda *a, real=real, name=name: (order.append(name), real(*a))[1]
        )
    write_bytes_atomic(tmp_path / "file", b"x")
    assert order == ["fsync", "replace", "fsync"]


def test_non_finite_numbers_are_text_and_missing_is_null(tmp_path: Path) -> None:
    value = {
        "nan": math.nan,
        "inf": [math.inf, -math.inf],
        "none": None,
        "zero": 0.0,
        "numpy": (np.float32(0.5), np.float64("nan"), np.int64(3), np.bool_(True)),
        "glyph": "⊥⊥⊥\u2028",
        "path": Path("a/b"),
        7: True,
    }
    write_json_atomic(tmp_path / "r.json", value)
    text = (tmp_path / "r.json").read_text(encoding="utf-8")
    assert "⊥⊥⊥" in text
    assert json.loads(text, parse_constant=pytest.fail) == {
        "nan": "nan",
        "inf": ["inf", "-inf"],
        "none": None,
        "zero": 0.0,
        "numpy": [0.5, "nan", 3, True],
        "glyph": "⊥⊥⊥\u2028",
        "path": "a/b",
        "7": True,
    }
    with pytest.raises(TypeError, match="object has no JSON form"):
        json_safe({"x": object()})


@settings(max_examples=25, deadline=None)  # each row is synced to the disk
@given(
    st.lists(st.dictionaries(st.text(max_size=4), st.text(max_size=6) | st.floats() | st.none(), max_size=3))
)
def test_rows_read_back(tmp_path_factory: pytest.TempPathFactory, rows: list[dict[str, object]]) -> None:
    path = tmp_path_factory.mktemp("rows") / "m.jsonl"
    path.touch()
    for row in rows:
        append_jsonl(path, row)
    assert read_jsonl(path) == json_safe(rows)


def test_lines_end_at_newlines_only_and_a_cut_last_line_is_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "m.jsonl"
    append_jsonl(path, {"text": "a\u2028b\u2029c\u0085d\re"})
    append_jsonl(path, {"step": 2})
    with open(path, "ab") as file:
        file.write(b'\n{"step": 3, "lo')
    assert read_jsonl(path) == [{"text": "a\u2028b\u2029c\u0085d\re"}, {"step": 2}]


def test_a_broken_line_in_the_middle_is_not_hidden(tmp_path: Path) -> None:
    path = tmp_path / "m.jsonl"
    path.write_bytes(b'{"step": 1}\n{"ste\n{"step": 3}\n')
    with pytest.raises(ValueError, match=r"m\.jsonl, line 2"):
        read_jsonl(path)


HOLDER = """
import sys, time
from octavo.artifacts import Folder
from octavo.study_folder import study_lock
with study_lock(Folder(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""


def test_a_second_process_is_told_who_holds_the_folder_until_it_dies(tmp_path: Path) -> None:
    folder = Folder(tmp_path / "out")
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(folder.out)], stdout=subprocess.PIPE, text=True
    )
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with (
            pytest.raises(InputError, match=f"process {holder.pid}\\) works on this folder"),
            study_lock(folder),
        ):
            pass
    finally:
        holder.send_signal(signal.SIGKILL)
        holder.communicate()
    with study_lock(folder):
        assert folder.lock.read_text() == f"{os.getpid()}\n"


def test_a_lock_ends_with_its_block(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    with pytest.raises(RuntimeError), study_lock(folder):
        raise RuntimeError
    with study_lock(folder):
        pass


def test_a_folder_is_claimed_by_one_study(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    claim(folder, study(train={"epochs": 9}))
    claim(folder, study(train={"epochs": 2}))  # nothing had been made by the first
    folder.data("control").mkdir(parents=True)
    claim(folder, study(train={"epochs": "2"}))
    with pytest.raises(InputError) as caught:
        claim(folder, study(train={"epochs": 3, "eps": 1}))
    assert "train.epochs is 2 there and 3 here; choose another --out" in str(caught.value)
    with pytest.raises(InputError, match=r"variants\[0\].recipe\[0\] is 'control' there and 'spore' here"):
        claim(folder, study(train={"epochs": 2}, variants=[{"name": "a", "recipe": "spore"}]))
    with pytest.raises(InputError, match=r"seeds is \[0\] there and \[0, 1\] here"):
        claim(folder, study(train={"epochs": 2}, seeds=2))
    folder.study.write_text("variants: [")
    with pytest.raises(InputError, match="line 1"):
        claim(folder, study())


def _failing(error: OSError) -> Callable[..., None]:
    def fail(*_: object, **__: object) -> None:
        raise error

    return fail


def test_folders_that_cannot_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    for place in (tmp_path / "file", tmp_path / "file" / "out"):
        with (
            pytest.raises(InputError, match=r"cannot be made .*choose another --out"),
            study_lock(Folder(place)),
        ):
            pass
    for code, error in ((errno.EROFS, InputError), (errno.ENOENT, InputError), (errno.ENOSPC, OSError)):
        with monkeypatch.context() as patch:
            patch.setattr(Path, "mkdir", _failing(OSError(code, os.strerror(code))))
            with pytest.raises(error), study_lock(Folder(tmp_path / "new")):
                pass
    monkeypatch.setattr(os, "access", lambda *_: False)  # root may write everywhere
    with pytest.raises(InputError, match="cannot be written"), study_lock(Folder(tmp_path / "out")):
        pass
