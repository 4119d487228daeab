"""What a person names on the command line, resolved to adapters, whole models and the bases they stand on."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from octavo.artifacts import Folder
from octavo.errors import InputError
from octavo.lanes.peft_io import CONFIG, WEIGHTS
from octavo.settings import Base
from octavo.study import Study


@dataclass(frozen=True)
class Named:
    """One that can answer.

    Attributes:
        name: a run's id, or the adapter's folder.
        base: what it stands on; of a model that trained whole, that model itself.
        directory: relative paths of the base start here.
        adapter: its folder; None for a model without one.
    """

    name: str
    base: Base
    directory: Path
    adapter: Path | None


def find_named(paths: Sequence[str], base: str | None = None) -> list[Named]:
    """All that a command's paths mean, in order, each once.

    Arguments:
        paths: adapter folders, ours or of any PEFT; `OUT/RUN` or `OUT/runs/RUN` for a run; `OUT` for every run of a
            study that has been trained; a model's folder or name.
        base: the model that adapters stand on, in place of the one that their study or config names.

    Raises:
        InputError: nothing there, nothing trained yet, or no base known.
    """
    found: list[Named] = []
    for path in paths:
        for one in _meant(path, base):
            if one not in found:
                found.append(one)
    names = [one.name for one in found]
    # two studies can have a run of one name
    return [
        one if names.count(one.name) == 1 else Named(str(one.adapter), one.base, one.directory, one.adapter)
        for one in found
    ]


def _meant(text: str, base: str | None) -> list[Named]:
    path = Path(text).expanduser()
    if (path / CONFIG).is_file() or (path / WEIGHTS).is_file():
        return [_adapter(path, base)]
    if (path / "study.yaml").is_file():
        return _study(path, base)
    study, run = _of_study(path)
    if study is not None:
        return [_run(study, run, base)]
    if (path / "config.json").is_file() or not path.is_dir():
        return [_model(text)]
    raise InputError(
        f"{text}: holds no adapter, no study and no model; give an adapter folder, OUT/RUN, or a study folder"
    )


def _of_study(path: Path) -> tuple[Path | None, str]:
    """(study folder, run) of `OUT/RUN`, `OUT/runs/RUN` and what lies below that."""
    parts = path.parts
    for folder in path.parents:
        if (folder / "study.yaml").is_file():
            below = [p for p in parts[len(folder.parts) :] if p != "runs"]
            return folder, below[0]
    return None, ""


def _study(out: Path, base: str | None) -> list[Named]:
    study, folder = Study.load(out), Folder(out)
    trained = [run for run in study.expand() if _exported(folder, run.id)]
    if not trained:
        raise InputError(f"{out}: none of its runs has been trained to its end; run `octavo train` first")
    return [_run(out, run.id, base, study) for run in trained]


def _exported(folder: Folder, run: str) -> bool:
    return (folder.adapter(run) / WEIGHTS).is_file() or (folder.model(run) / "config.json").is_file()


def _run(out: Path, name: str, base: str | None, study: Study | None = None) -> Named:
    study, folder = study or Study.load(out), Folder(out)
    runs = {run.id: run for run in study.expand()}
    if name not in runs:
        raise InputError(f"{out}: has no run '{name}'; its runs are {', '.join(runs)}")
    if not _exported(folder, name):
        raise InputError(
            f"{out}: the run '{name}' has exported nothing: it is not trained to its end, or was stopped"
        )
    own = next(one for one in study.bases if one.name == runs[name].base)
    if (folder.model(name) / "config.json").is_file():
        whole = own.model_copy(update={"model": str(folder.model(name)), "init": "pretrained"})
        return Named(name, whole, Path.cwd(), None)
    taken = own if base is None else _base(base)
    return Named(name, taken, study.directory if base is None else Path.cwd(), folder.adapter(name))


def _adapter(path: Path, base: str | None) -> Named:
    study, run = _of_study(path.absolute())
    if study is not None and base is None:
        return _run(study, run, None)
    return Named(str(path), _base(base or _config_base(path)), Path.cwd(), path)


def _config_base(path: Path) -> str:
    try:
        config: Any = json.loads((path / CONFIG).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{path / CONFIG}: cannot be read ({error}); write the adapter again") from error
    name = config.get("base_model_name_or_path") if isinstance(config, dict) else None
    if not isinstance(name, str) or not name:
        raise InputError(f"{path / CONFIG}: names no base model; give it with --base")
    return name


def _model(text: str) -> Named:
    return Named(text, _base(text), Path.cwd(), None)


def _base(model: str) -> Base:
    try:
        return Base.model_validate({"model": model})
    except ValidationError as error:
        raise InputError(f"'{model}': is no name of a model") from error
