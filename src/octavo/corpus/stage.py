"""The data stage: a study in, `data/<variant>/{train,heldout}.jsonl` and `quality.json` out."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from octavo import __version__
from octavo.artifacts import json_safe, write_json_atomic, write_text_atomic
from octavo.corpus.arms import Arm, study_arms
from octavo.corpus.example import dump_lines
from octavo.corpus.fitting import Chosen, choose
from octavo.corpus.measure import EncoderLike
from octavo.corpus.quality import make_card, refuse_failed
from octavo.corpus.sources import open_shares, source_fingerprint
from octavo.corpus.sources.split import SIDES, Sides

if TYPE_CHECKING:
    from octavo.artifacts import Folder
    from octavo.progress import Progress
    from octavo.study import Study

CARD = "quality.json"


def build_datasets(
    study: Study, folder: Folder, encoders: Mapping[str, EncoderLike], progress: Progress | None = None
) -> None:
    """Write every variant's data and quality card; does nothing where they stand as the study wants them.

    All variants hold the same examples in the same order, as many as the study asks for: what is too long in
    one variant is left out of all, and the next of the source takes its place. A variant with a data file of
    its own holds examples of that file (`corpus.fields` speaks of the corpus only); none that another variant
    is tested on is trained on, and where ids are the corpus's, they keep the corpus's order.

    Arguments:
        study: corpus, variants and the runs' lengths are read.
        folder: where to write.
        encoders: base name -> encoder; every base that a run is on.
        progress: told what was left out and what the cards warn of.

    Raises:
        InputError: a source, a recipe or a row is wrong, there are too few examples, or a variant fails its
            card. Nothing has been written then.
    """
    arms = study_arms(study, encoders)
    fingerprint = _fingerprint(study, arms)
    if all(_stands(folder.data(arm.name), fingerprint) for arm in arms):
        return
    rows = _choose_all(study, arms)
    cards, texts = {}, {}
    for arm in arms:
        texts[arm.name] = {f"{side}.jsonl": _text(rows[arm.name][side], arm) for side in SIDES}
        cards[arm.name] = make_card(arm, rows[arm.name], [source.source for source in study.corpus.source])
    refuse_failed(cards)
    for arm in arms:
        _write(folder.data(arm.name), texts[arm.name], cards[arm.name], fingerprint)
    if progress:
        for text in _remarks(cards):
            progress.message(text)


def read_card(folder: Folder, variant: str) -> dict[str, Any]:
    """The quality card of a variant that was built.

    Raises:
        FileNotFoundError: it was not.
    """
    return json.loads((folder.data(variant) / CARD).read_text(encoding="utf-8"))


def _choose_all(study: Study, arms: list[Arm]) -> dict[str, dict[str, Chosen]]:
    """Arm -> side -> rows; arms made by recipes share one choice."""
    corpus = study.corpus
    counts = {"train": corpus.examples, "heldout": corpus.heldout}
    sides = Sides()
    made: dict[str, dict[str, Chosen]] = {}
    shared = [arm for arm in arms if arm.chain]
    if shared:
        sources = [(source.source, source.weight) for source in corpus.source]
        shares = open_shares(sources, corpus.kinds, counts, corpus.seed, corpus.fields)
        chosen = choose(shared, shares, corpus.seed, sides)
        made = {arm.name: chosen for arm in shared}
        first = shared[0].name
        sides.fix_ids(*([row[first].control for row in chosen[side].rows] for side in SIDES))
    for arm in arms:
        if arm.data:
            shares = open_shares([(arm.data, 1.0)], corpus.kinds, counts, corpus.seed)
            made[arm.name] = choose([arm], shares, corpus.seed, sides)
    return made


def _remarks(cards: Mapping[str, dict[str, Any]]) -> list[str]:
    """What a person should know of the data, each thing once."""
    remarks: dict[str, None] = {}
    for name, card in cards.items():
        for side in SIDES:
            for reason, count in card["dropped"][side].items():
                remarks[f"data: {count} {side} examples left out of all variants ({reason})"] = None
        remarks.update((f"data: variant {name}: {warning}", None) for warning in card["warnings"])
    return list(remarks)


def _text(chosen: Chosen, arm: Arm) -> str:
    return dump_lines(row[arm.name].example for row in chosen.rows)


def _fingerprint(study: Study, arms: list[Arm]) -> str:
    """A hash of all that the data depends on."""
    bases = [base.model_dump() for base in study.bases]
    sources = [
        [source.source, source.weight, source_fingerprint(source.source)] for source in study.corpus.source
    ]
    parts = [__version__, study.corpus.model_dump(), sources, bases, [arm.fingerprint for arm in arms]]
    return hashlib.sha256(json.dumps(json_safe(parts), sort_keys=True).encode()).hexdigest()


def _stands(folder: Path, fingerprint: str) -> bool:
    """Are the files there, whole, and made by the same settings?"""
    try:
        card = json.loads((folder / CARD).read_text(encoding="utf-8"))
        hashes = {name: _sha256((folder / name).read_bytes()) for name in card["files"]}
    except (OSError, ValueError, KeyError, TypeError):
        return False
    return card.get("fingerprint") == fingerprint and hashes == card["files"]


def _write(folder: Path, texts: dict[str, str], card: dict[str, Any], fingerprint: str) -> None:
    """The card last: while it is not there, or names other bytes, the folder counts as not built."""
    for name, text in texts.items():
        write_text_atomic(folder / name, text)
    files = {name: _sha256(text.encode()) for name, text in texts.items()}
    write_json_atomic(folder / CARD, {**card, "files": files, "fingerprint": fingerprint})


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
