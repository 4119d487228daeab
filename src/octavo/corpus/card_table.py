"""Quality cards as a table for the terminal: a row a figure, a column a variant."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.table import Table

Card = Mapping[str, Any]


def card_table(cards: Mapping[str, Card]) -> Table:
    """The cards of some variants, by name, side by side; a dash where nothing was measured."""
    from rich.table import Table

    table = Table(title="quality of the data")
    table.add_column("")
    for name in cards:
        table.add_column(name, justify="right")
    for label, figure in FIGURES.items():
        cells = [figure(card) for card in cards.values()]
        if any(cell != "-" for cell in cells):
            table.add_row(label, *cells)
    return table


def _number(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:,}" if isinstance(value, int) else f"{value:,.3g}"


def _share(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.1f} %"


def _tokens(card: Card, key: str) -> Any:
    """A figure of the first base's tokens."""
    bases = list(card["train"]["tokens"].values())
    return bases[0][key] if bases else None


def _lengths(card: Card) -> str:
    values = [_tokens(card, key) for key in ("shortest", "median", "longest")]
    return "-" if None in values else " / ".join(f"{value:g}" for value in values)


def _density(card: Card, key: str) -> str:
    densities = (card["train"]["density"] or {}).values()
    return " + ".join(_share(density[key]) for density in densities) or "-"


def _counts(counts: Mapping[str, int]) -> str:
    return "\n".join(f"{count:,} {reason}" for reason, count in counts.items()) or "-"


def _zero_as_dash(count: int | None) -> str:
    return _number(count or None)


FIGURES: dict[str, Callable[[Card], str]] = {
    "training examples": lambda card: _number(card["train"]["examples"]),
    "held-out examples": lambda card: _number(card["heldout"]["examples"]),
    "tokens": lambda card: _number(_tokens(card, "total")),
    "learned tokens": lambda card: _number(_tokens(card, "labelled")),
    "tokens of the template": lambda card: _number(_tokens(card, "template")),
    "tokens: shortest / median / longest": _lengths,
    "cut": lambda card: _zero_as_dash(_tokens(card, "cut")),
    "density asked": lambda card: _density(card, "asked"),
    "density measured": lambda card: _density(card, "measured"),
    "symbols a word": lambda card: _number(card["train"]["symbols_per_word"] or None),
    "symbols' share of tokens": lambda card: _share(_tokens(card, "symbol_share") or None),
    "symbols' share of learned tokens": lambda card: _share(
        _tokens(card, "symbol_share_of_labelled") or None
    ),
    "cleared of symbols": lambda card: _zero_as_dash(card["train"]["cleared"]),
    "left as is": lambda card: _counts(card["train"]["left_as_is"]),
    "left out": lambda card: _counts(card["dropped"]["train"]),
    "duplicates": lambda card: _number(card["train"]["duplicates"]),
    "near-duplicates": lambda card: _number(card["train"]["near_duplicates"]),
    "held-out in training": lambda card: _number(card["overlap"]["exact"]),
    "held-out with 13 words in common": lambda card: _share(card["overlap"]["share_with_common_13_words"]),
    "damaged": lambda card: f"{card['damage']['damaged']} of {card['damage']['checked']}",
    "fit": lambda card: "yes" if card["passed"] else "no",
}
