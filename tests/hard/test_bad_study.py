"""Study files, bases and folders as people have them: one message, exit code 2, nothing lost."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from octavo.artifacts import Folder
from octavo.cli import app
from octavo.models.resolve import BaseSource
from octavo.yaml_text import dump_yaml
from tests.training.studies import settings, write_corpus, write_study


def command(*arguments: str) -> Result:
    return CliRunner().invoke(app, arguments, prog_name="octavo")


@pytest.fixture
def values(tiny: BaseSource, tmp_path: Path) -> dict[str, Any]:
    return settings(tiny.folder, write_corpus(tmp_path / "c.jsonl"))


def refused(folder: Path, values: dict[str, Any], *said: str, stage: str = "data") -> str:
    """The message of a study that is refused."""
    study = write_study(folder / "study.yaml", values)
    result = command(stage, str(study), "--out", str(folder / "out"))
    assert result.exit_code == 2, result.output
    assert "Traceback" not in result.output
    message = " ".join(result.stderr.split())
    for part in said:
        assert part in message, message
    return message


BAD_KEYS: list[tuple[dict[str, Any], list[str]]] = [
    ({"trian": {}}, ["trian", "train"]),
    ({"train": {"learning_rat": 1e-4}}, ["learning_rat", "learning_rate"]),
    ({"train": {"learning_rate": "fast"}}, ["learning_rate", "fast"]),
    ({"train": {"learning_rate": -1}}, ["learning_rate", "-1"]),
    ({"train": {"batch_size": 0}}, ["batch_size"]),
    ({"seeds": []}, ["seeds"]),
    ({"seeds": [-1]}, ["seeds"]),
    ({"variants": []}, ["variants"]),
    ({"variants": [{"name": "a", "recipe": "contrl"}]}, ["contrl", "control"]),
    ({"variants": [{"name": "a"}]}, ["recipe"]),
    ({"variants": [{"name": "a", "recipe": "control"}, {"name": "a", "recipe": "think"}]}, ["another name"]),
    ({"sweep": {"train.learning_rates": [1e-3]}}, ["learning_rates"]),
    ({"lanes": {"memory": "12 bananas"}}, ["memory"]),
]


@pytest.mark.parametrize(("changes", "said"), BAD_KEYS, ids=[str(c)[:50] for c, _ in BAD_KEYS])
def test_a_bad_key_is_named_with_what_it_should_be(
    values: dict[str, Any], tmp_path: Path, changes: dict[str, Any], said: list[str]
) -> None:
    refused(tmp_path, values | changes, "study.yaml", *said)


@pytest.mark.parametrize("name", ["a/b", "..", ".hidden", "a b", "🙂", "x" * 300, "", "con\nrol"])
def test_a_name_that_cannot_be_a_folder_is_refused(values: dict[str, Any], tmp_path: Path, name: str) -> None:
    refused(tmp_path, values | {"variants": [{"name": name, "recipe": "control"}]}, "study.yaml", "name")
    assert not (tmp_path / "out").exists() or not any((tmp_path / "out").glob("runs/*"))


def test_a_study_file_that_is_no_study(tmp_path: Path) -> None:
    for content in (b"", b"- a\n- b\n", b"{a: [", b"\xff\xfe\x00", b"name: !!python/object:os.system x\n"):
        (tmp_path / "study.yaml").write_bytes(content)
        result = command("data", str(tmp_path / "study.yaml"), "--out", str(tmp_path / "out"))
        assert result.exit_code == 2, (content, result.output)
        assert "study.yaml" in result.stderr
        assert "Traceback" not in result.output
    result = command("data", str(tmp_path / "nowhere.yaml"), "--out", str(tmp_path / "out"))
    assert (result.exit_code, "nowhere.yaml" in result.stderr) == (2, True)


def test_targets_that_match_nothing_list_the_layers_there_are(values: dict[str, Any], tmp_path: Path) -> None:
    values["train"]["lora"]["targets"] = ["qq_proj"]
    refused(tmp_path, values, "qq_proj", "q_proj", stage="run")


def test_equal_seeds_are_one_run(values: dict[str, Any], tmp_path: Path) -> None:
    study = write_study(tmp_path / "study.yaml", values | {"seeds": [3, 3]})
    result = command("plan", str(study), "--json")
    assert result.exit_code == 0, result.stderr
    (plan,) = json.loads(result.stdout)
    assert plan["runs"] == ["control-s3", "glyphs-s3"]
    assert "3" in result.stderr


def test_absurd_sizes_are_refused_before_anything_is_made(values: dict[str, Any], tmp_path: Path) -> None:
    for key, size in [("rank", 1e9), ("steps", 1e99)]:
        changed = json.loads(json.dumps(values))
        if key == "rank":
            changed["train"]["lora"]["rank"] = size
        else:
            changed["train"] |= {"steps": size, "epochs": None}
        study = write_study(tmp_path / "study.yaml", changed)
        result = command("run", str(study), "--out", str(tmp_path / "out"))
        assert result.exit_code == 2, (key, result.output)
        assert "Traceback" not in result.output


def base_without(tiny: BaseSource, folder: Path, *files: str) -> Path:
    shutil.copytree(tiny.folder, folder)
    for name in files:
        (folder / name).unlink()
    return folder


def test_bases_that_lack_something_say_what(tiny: BaseSource, values: dict[str, Any], tmp_path: Path) -> None:
    cases = [
        (base_without(tiny, tmp_path / "a", "config.json"), "config.json"),
        (base_without(tiny, tmp_path / "b", "model.safetensors"), "safetensors"),
        (
            base_without(
                tiny,
                tmp_path / "c",
                *(p.name for p in tiny.folder.iterdir() if p.name.startswith("tokenizer")),
            ),
            "tokenizer",
        ),
        (tmp_path / "nowhere", "nowhere"),
    ]
    for folder, said in cases:
        values["bases"][0]["model"] = str(folder)
        message = refused(tmp_path, values, said)
        assert "base base" not in message


def test_a_tokenizer_of_another_model_is_refused(
    tiny: BaseSource, values: dict[str, Any], tmp_path: Path
) -> None:
    from tests.models.makers import tiny_tokenizer

    folder = base_without(tiny, tmp_path / "wrong")
    tiny_tokenizer(900).add_tokens([f"<extra{n}>" for n in range(1000)])
    bigger = tiny_tokenizer(900)
    bigger.add_tokens([f"<extra{n}>" for n in range(1000)])
    bigger.save_pretrained(folder)
    values["bases"][0]["model"] = str(folder)
    refused(tmp_path, values, "do not belong together")


def test_a_template_that_is_not_there(tiny: BaseSource, values: dict[str, Any], tmp_path: Path) -> None:
    values["bases"][0]["chat_template"] = "nowhere.jinja"
    refused(tmp_path, values, "chat_template", "nowhere.jinja")
    folder = base_without(tiny, tmp_path / "bare")
    for name in ("chat_template.jinja",):
        (folder / name).unlink(missing_ok=True)
    config = json.loads((folder / "tokenizer_config.json").read_text())
    config.pop("chat_template", None)
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
    del values["bases"][0]["chat_template"]
    values["bases"][0]["model"] = str(folder)
    refused(tmp_path, values, "template")


def test_a_hub_id_without_a_network_is_one_message(
    values: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    values["bases"][0]["model"] = "nobody/nothing-at-all"
    refused(tmp_path, values, "nobody/nothing-at-all")


def test_the_folder_of_another_study_is_left_alone(values: dict[str, Any], tmp_path: Path) -> None:
    study = write_study(tmp_path / "study.yaml", values)
    assert command("data", str(study), "--out", str(tmp_path / "out")).exit_code == 0
    before = {p: p.read_bytes() for p in Folder(tmp_path / "out").out.rglob("*.jsonl")}
    values["train"]["learning_rate"] = 1e-5
    message = refused(tmp_path, values, "learning_rate")
    assert "--out" in message
    assert {p: p.read_bytes() for p in Folder(tmp_path / "out").out.rglob("*.jsonl")} == before


def test_a_folder_that_cannot_be_written(values: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    study = write_study(tmp_path / "study.yaml", values)
    for out in (tmp_path / "file", tmp_path / "file" / "below", Path("/proc/octavo")):
        result = command("data", str(study), "--out", str(out))
        assert result.exit_code == 2, (out, result.output)
        assert "Traceback" not in result.output
    assert (tmp_path / "file").read_text() == "x"


def test_two_processes_on_one_folder(values: dict[str, Any], tmp_path: Path) -> None:
    from octavo.study_folder import study_lock

    study = write_study(tmp_path / "study.yaml", values)
    out = Folder(tmp_path / "out")
    with study_lock(out):
        child = subprocess.run(
            [sys.executable, "-m", "octavo", "data", str(study), "--out", str(out.out)],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
    assert child.returncode == 2, child.stderr
    assert "Traceback" not in child.stderr
    assert command("data", str(study), "--out", str(out.out)).exit_code == 0


def test_without_a_home(values: dict[str, Any], tmp_path: Path) -> None:
    study = write_study(tmp_path / "study.yaml", values)
    environment = {k: v for k, v in os.environ.items() if k not in ("HOME", "XDG_CACHE_HOME", "OCTAVO_CACHE")}
    child = subprocess.run(
        [sys.executable, "-m", "octavo", "data", str(study), "--out", str(tmp_path / "out")],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env=environment,
    )
    assert child.returncode == 0, child.stderr


def test_a_cache_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    child = subprocess.run(
        [sys.executable, "-m", "octavo", "base", "smollm2-135m-instruct"],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env=os.environ | {"OCTAVO_CACHE": str(tmp_path / "file" / "cache")},
    )
    assert child.returncode == 2, child.stderr
    assert "OCTAVO_CACHE" in child.stderr
    assert "Traceback" not in child.stderr


def test_settings_on_the_command_line_are_checked_as_the_files(
    values: dict[str, Any], tmp_path: Path
) -> None:
    study = write_study(tmp_path / "study.yaml", values)
    for setting, said in [
        ("train.learning_rat=1", "learning_rate"),
        ("train.batch_size=none", "batch_size"),
        ("nonsense", "="),
        ("bases.tinny.dtype=float32", "tinny"),
    ]:
        result = command("data", str(study), "--out", str(tmp_path / "out"), "--set", setting)
        assert result.exit_code == 2, (setting, result.output)
        assert said in result.stderr, result.stderr
    bare = {key: value for key, value in values.items() if key != "bases"}
    (tmp_path / "bare.yaml").write_text(dump_yaml(bare), encoding="utf-8")
    result = command("plan", str(tmp_path / "bare.yaml"), "--set", "bases.smollm2.dtype=wrong")
    assert (result.exit_code, "dtype" in result.stderr) == (2, True), result.output
