"""What is watched in a study, from its settings, and the files that say so: `vitals/<base>.json`, `thresholds.json`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from octavo.artifacts import Folder, read_jsonl, write_json_atomic
from octavo.errors import InputError
from octavo.study import Study
from octavo.training.data import Encoder
from octavo.training.watch import WatchPlan
from octavo.vitals import thresholds as limits
from octavo.vitals.prompts import PROMPTS, prompt_ids
from octavo.vitals.signal import Cadence
from octavo.vitals.thresholds import Thresholds

_LONGEST = 64  # tokens of a prompt: tokenizers of characters make them long


def watch_plan(
    study: Study, base: str, folder: Folder, encoder: Encoder, most_positions: int | None = None
) -> WatchPlan | None:
    """What is watched in the runs of a base, None where `vitals` is null.

    Thresholds are those of `vitals/thresholds.json` where a calibration has put them there, else this version's own;
    the study's own values take the place of either. What an earlier call has written for the base is read again.

    Arguments:
        most_positions: tokens that the base can read at once.

    Raises:
        InputError: `vitals.thresholds` names no threshold; a file is not what was written.
    """
    settings = study.vitals
    if settings is None:
        return None
    own = {} if settings.thresholds == "calibrated" else settings.thresholds
    calibrated = thresholds_path(folder)
    start = limits.load(calibrated) if calibrated.exists() else Thresholds()
    there = _read(folder, base)
    longest = min(_LONGEST, most_positions or _LONGEST)
    ids = prompt_ids(lambda text: encoder.encode_text(text).ids[:longest])
    cadence = Cadence(settings.every, max(settings.every, Cadence.probe_every), settings.spectrum_every)
    plan = WatchPlan(ids, cadence, start.with_values(own), settings.on_trip)
    if there is not None:
        return WatchPlan(there["ids"], cadence, _thresholds(there), settings.on_trip, there["base"])

    def keep(readings: Mapping[str, Any]) -> None:
        write_json_atomic(vitals_path(folder, base), _to_json(plan, readings))

    return WatchPlan(plan.prompts, cadence, plan.thresholds, plan.on_trip, None, keep)


def most_positions(config: Any) -> int | None:
    """Tokens that a model can read at once, as far as its config tells."""
    return getattr(config.get_text_config(), "max_position_embeddings", None)


def vitals_path(folder: Folder, base: str) -> Any:
    """Prompts, thresholds and the base model's own readings."""
    return folder.out / "vitals" / f"{base}.json"


def thresholds_path(folder: Folder) -> Any:
    """Thresholds of a calibration, put there before training."""
    return folder.out / "vitals" / "thresholds.json"


def _to_json(plan: WatchPlan, readings: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "prompts": list(PROMPTS),
        "ids": plan.prompts,
        "every": {
            "relative_update": plan.cadence.every,
            "probe": plan.cadence.probe_every,
            "spectrum": plan.cadence.spectrum_every,
        },
        "thresholds": plan.thresholds.to_json(),
        "base": readings,
    }


def _read(folder: Folder, base: str) -> dict[str, Any] | None:
    path = vitals_path(folder, base)
    if not path.exists():
        return None
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        _thresholds(found)
        return {key: found[key] for key in ("ids", "every", "thresholds", "base")}
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise InputError(f"{path}: not what was written there ({error}); start with another --out") from error


def _thresholds(found: Mapping[str, Any]) -> Thresholds:
    values = dict(found["thresholds"])
    origin = values.pop("origin")
    return Thresholds(**values, origin=origin)


def watched_rows(folder: Folder, run: str, base: str) -> list[dict[str, Any]]:
    """The metrics lines of a run, with the base model's readings as the line of step 0: what verdicts are drawn from.

    Raises:
        InputError: the study's vitals were not watched.
    """
    there = _read(folder, base)
    if there is None or not folder.metrics(run).exists():
        raise InputError(f"{folder.out}: {run} has no vitals; train it with `vitals` on")
    return [{"step": 0, "loss": None, "vitals": there["base"]}, *read_jsonl(folder.metrics(run))]


def calibrate_study(out: Folder, healthy: Iterable[tuple[Folder, str, str]]) -> Thresholds:
    """Set a study's thresholds from healthy runs of other studies, before it is trained.

    Arguments:
        out: the study whose runs will be judged.
        healthy: (folder, run, base) of each run that is known to be well; none of them in `out`.

    Raises:
        InputError: a run is of the study itself, too few, not healthy; or the study has been trained already.
    """
    chosen = list(healthy)
    if any(folder.out == out.out for folder, _, _ in chosen):
        raise InputError(f"{out.out}: thresholds are set from other runs than those that they judge")
    if any(path.name != thresholds_path(out).name for path in (out.out / "vitals").glob("*.json")):
        raise InputError(f"{out.out}: its runs are judged by other thresholds already; take another --out")
    rows = {f"{folder.out.name}/{run}": watched_rows(folder, run, base) for folder, run, base in chosen}
    found = limits.calibrate(rows)
    limits.save(found, thresholds_path(out))
    return found
