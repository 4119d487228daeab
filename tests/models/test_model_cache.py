"""The cache: where it is, built once, checked when opened, never half written."""

from __future__ import annotations

import errno
import threading
from pathlib import Path

import pytest

from octavo.errors import InputError, MachineError
from octavo.models import cache


def write(text: str):
    def build(folder: Path) -> None:
        (folder / "inner").mkdir()
        (folder / "inner" / "weights").write_text(text)
        (folder / "config").write_text("{}")

    return build


def forbidden(folder: Path) -> None:
    raise AssertionError("built again")


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch):
    for name in ("OCTAVO_CACHE", "XDG_CACHE_HOME", "HOME", "USERPROFILE"):
        monkeypatch.delenv(name, raising=False)
    return monkeypatch


def test_place_by_environment(place, tmp_path):
    place.setenv("HOME", "/home/ann")
    assert cache.cache_dir() == Path("/home/ann/.cache/octavo")
    place.setenv("XDG_CACHE_HOME", "relative/is/ignored")
    assert cache.cache_dir() == Path("/home/ann/.cache/octavo")
    place.setenv("XDG_CACHE_HOME", "/var/xdg")
    assert cache.cache_dir() == Path("/var/xdg/octavo")
    place.setenv("OCTAVO_CACHE", str(tmp_path))
    assert cache.cache_dir() == tmp_path


def test_no_home_is_said(place):
    with pytest.raises(InputError, match=r"HOME is not set.*OCTAVO_CACHE"):
        cache.cache_dir()


def test_built_once(tmp_path):
    folder = cache.build_once(tmp_path / "a" / "base", write("one"))
    assert (folder / "inner" / "weights").read_text() == "one"
    assert cache.build_once(folder, forbidden) == folder
    assert not [path for path in folder.parent.iterdir() if path.name.startswith(".base")]


@pytest.mark.parametrize(
    "damage", ["cut", "changed", "gone", "manifest gone", "manifest torn", "manifest odd"]
)
def test_damage_is_rebuilt(tmp_path, damage):
    folder = cache.build_once(tmp_path / "base", write("one"))
    weights, manifest = folder / "inner" / "weights", folder / cache.MANIFEST
    match damage:
        case "cut":
            weights.write_text("o")
        case "changed":
            weights.write_text("two")
        case "gone":
            weights.unlink()
        case "manifest gone":
            manifest.unlink()
        case "manifest torn":
            manifest.write_text(manifest.read_text()[:20])
        case "manifest odd":
            manifest.write_text('{"files": [1]}')
    assert not cache.is_intact(folder)
    cache.build_once(folder, write("one"))
    assert weights.read_text() == "one"
    assert cache.is_intact(folder)


def test_damage_is_seen_by_a_new_process(tmp_path, monkeypatch):
    folder = cache.build_once(tmp_path / "base", write("one"))
    monkeypatch.setattr(cache, "_verified", {})
    assert cache.is_intact(folder)
    (folder / "inner" / "weights").write_text("two")
    monkeypatch.setattr(cache, "_verified", {})
    assert not cache.is_intact(folder)


def test_a_failed_build_leaves_nothing(tmp_path):
    def fail(folder: Path) -> None:
        (folder / "weights").write_text("half")
        raise RuntimeError("killed")

    with pytest.raises(RuntimeError, match="killed"):
        cache.build_once(tmp_path / "base", fail)
    assert [path.name for path in tmp_path.iterdir() if path.is_dir()] == []


def test_leftovers_of_a_killed_builder_go(tmp_path):
    stale = tmp_path / ".base-abcd1234"
    stale.mkdir()
    (stale / "weights").write_text("half")
    cache.build_once(tmp_path / "base", write("one"))
    assert not stale.exists()


def test_threads_wait_for_each_other(tmp_path):
    built: list[str] = []
    started = threading.Barrier(4)

    def build(folder: Path) -> None:
        built.append(folder.name)
        write("one")(folder)

    def ask() -> None:
        started.wait()
        cache.build_once(tmp_path / "base", build)

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(built) == 1


@pytest.mark.parametrize(
    "error", [OSError(errno.ENOSPC, "full"), RuntimeError("No space left on device (os error 28)")]
)
def test_full_disk(tmp_path, error):
    def fail(folder: Path) -> None:
        raise error

    with pytest.raises(MachineError, match="disk is full"):
        cache.build_once(tmp_path / "base", fail)


def test_unwritable_place(tmp_path):
    (tmp_path / "file").write_text("")
    for folder in (tmp_path / "file" / "base", tmp_path / "file" / "deeper" / "base"):
        with pytest.raises(InputError, match="set OCTAVO_CACHE"):
            cache.build_once(folder, forbidden)
