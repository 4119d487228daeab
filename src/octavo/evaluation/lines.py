"""Evaluation lines of the suites on the disk: kept while they are made, so that a stop loses little, then whole."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from octavo.artifacts import append_jsonl, read_jsonl
from octavo.evaluation.answering import Asker, chunks, line, option_tokens, raw_row, response_of
from octavo.evaluation.chosen import Chosen
from octavo.evaluation.suite import ChanceFacts, Chances, Item


class Kept:
    """Responses so far, in a file whose first row says what they were made from.

    Arguments:
        path: of the file; None keeps nothing.
        made_from: fingerprint of adapters, items and settings; a file of another one is begun anew.
    """

    def __init__(self, path: Path | None, made_from: str) -> None:
        self.path = path
        self.rows: dict[tuple[str, str], dict[str, Any]] = {}
        if path is None:
            return
        rows = read_jsonl(path) if path.exists() else []
        if rows and rows[0] == {"made_from": made_from}:
            self.rows = {(row["run"], row["item"]): row for row in rows[1:]}
            self._rewrite(made_from)  # a killed process may have left half a line
        else:
            self.rows = {}
            self._rewrite(made_from)

    def _rewrite(self, made_from: str) -> None:
        from octavo.artifacts import json_safe, write_text_atomic

        assert self.path is not None
        rows = [{"made_from": made_from}, *self.rows.values()]
        text = "".join(json.dumps(json_safe(row), ensure_ascii=False) + "\n" for row in rows)
        write_text_atomic(self.path, text)

    def add(self, rows: Sequence[dict[str, Any]]) -> None:
        """Keep the responses of a chunk."""
        for row in rows:
            self.rows[row["run"], row["item"]] = row
            if self.path is not None:
                append_jsonl(self.path, row)

    def drop(self) -> None:
        """All is written elsewhere."""
        if self.path is not None:
            self.path.unlink(missing_ok=True)


def measure(
    asker: Asker,
    chosen: Chosen,
    items: Sequence[Item],
    kept: Kept,
    tell: Callable[[str], None] = lambda _: None,
) -> list[dict[str, Any]]:
    """The lines of a suite for all contestants; what `kept` has is not asked again.

    Arguments:
        tell: told how far it is, and what was cut or refused.
    """
    names = list(asker.contestants.lanes)
    left = list(chunks(items, lambda item: all((who, item.id) in kept.rows for who in names)))
    total, done = len(items), len(items) - sum(map(len, left))
    for chunk in left:
        kept.add([raw_row(who, item, response) for who, item, response in asker.ask(chunk)])
        done += len(chunk)
        if len(left) > 1:
            tell(f"{chosen.name}: {done} of {total} items answered by {len(names)} contestants")
    lines = [
        line(chosen.suite, chosen.name, who, item, response_of(kept.rows[who, item.id]))
        for item in items
        for who in names
    ]
    _warn(chosen.name, lines, tell)
    return lines


def _warn(name: str, lines: Sequence[dict[str, Any]], tell: Callable[[str], None]) -> None:
    if cut := {row["item"] for row in lines if "cut_tokens" in row["detail"]}:
        tell(
            f"{name}: {len(cut)} contexts are longer than the base reads; their beginnings were cut off "
            f"(first: item '{min(cut)}')"
        )
    refused: dict[str, int] = {}
    for row in lines:
        if row["score"] is None:
            refused[row["run"]] = refused.get(row["run"], 0) + 1
    for run, count in refused.items():
        tell(f"{name}: {count} scores of {run} are refused, because they are not finite: it has no mean")


def chances(asker: Asker, chosen: Chosen, items: Sequence[Item]) -> Chances | None:
    """What answers that know nothing get, by metric."""
    if chosen.suite.chance is None:
        return None
    vocabulary = int(asker.contestants.base.config.get_text_config().vocab_size)
    return chosen.suite.chance(items, ChanceFacts(option_tokens(asker, items), vocabulary))
