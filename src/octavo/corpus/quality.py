"""The quality card of a variant: what its data is, and whether it is fit for an experiment."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from octavo.corpus.arms import Arm, Made
from octavo.corpus.example import Example
from octavo.corpus.fitting import Chosen
from octavo.corpus.messages import TEXT_ROLE
from octavo.corpus.near_duplicates import WORD, near_duplicates, share_with_common_sequence
from octavo.corpus.sources.split import SIDES, conversation_key
from octavo.corpus.symbols import strip_symbols
from octavo.errors import InputError

LONG_SEQUENCE = 13  # words; the length by which leakage is usually judged


def make_card(arm: Arm, chosen: Mapping[str, Chosen], sources: Sequence[str]) -> dict[str, Any]:
    """The card of an arm.

    Arguments:
        arm: the variant.
        chosen: side -> its rows.
        sources: names of the corpus's sources.

    Returns:
        strict JSON: `train` and `heldout` with the same keys, `overlap`, `dropped`, `damage`, `warnings`,
        `problems` (each says what to change) and `passed`. Missing is null.
    """
    made = {side: [row[arm.name] for row in chosen[side].rows] for side in SIDES}
    card: dict[str, Any] = {
        "variant": arm.name,
        "recipe": arm.label,
        "options": dict(arm.options),
        "source": arm.data or list(sources),
        **{side: _part(arm, made[side]) for side in SIDES},
        "overlap": _overlap(made),
        "dropped": {side: dict(chosen[side].dropped) for side in SIDES},
        "damage": _damage([*made["train"], *made["heldout"]]),
    }
    card["warnings"] = _warnings(card)
    card["problems"] = _problems(card)
    card["passed"] = not card["problems"]
    return card


def refuse_failed(cards: Mapping[str, Mapping[str, Any]]) -> None:
    """Stop before anything is trained on data that is not fit for it.

    Raises:
        InputError: names each variant that failed, why, and what to change.
    """
    failed = [f"variant {name}: {problem}" for name, card in cards.items() for problem in card["problems"]]
    if failed:
        raise InputError("the data fails its quality card; nothing was written\n  " + "\n  ".join(failed))


def _part(arm: Arm, made: Sequence[Made]) -> dict[str, Any]:
    examples = [one.example for one in made]
    bare = [strip_symbols(example) for example in examples]
    words = sum(len(_words(text)) for example in bare for text in _spoken(example))
    symbols = sum(len(example.sites) for example in examples)
    left = Counter(reason for one in made for reason in one.left)
    return {
        "examples": len(examples),
        "kinds": dict(sorted(Counter(example.kind for example in examples if example.kind).items())),
        "families": len({example.family for example in examples if example.family}),
        "tokens": {base: _tokens(made, base) for base in (made[0].tokens if made else ())},
        "characters": _spread([sum(len(m["content"]) for m in example.messages) for example in examples]),
        "words": words,
        "symbols": symbols,
        "symbols_per_word": symbols / words if words else None,
        "density": _densities(arm, made),
        "duplicates": len(examples) - len({example.text_key() for example in examples}),
        "near_duplicates": near_duplicates(tuple(_whole_text(example) for example in bare)),
        "left_as_is": dict(sorted(left.items())),
        "cleared": sum(one.cleared for one in made),
    }


def _tokens(made: Sequence[Made], base: str) -> dict[str, Any]:
    counts = [one.tokens[base] for one in made]
    total, labelled = sum(c.total for c in counts), sum(c.labelled for c in counts)
    symbols = _sum(c.symbols for c in counts)
    return {
        "total": total,
        "labelled": labelled,
        "template": _sum(c.template for c in counts),
        "symbols": symbols,
        "symbol_share": None if symbols is None else symbols / total,
        "symbol_share_of_labelled": None if symbols is None else symbols / labelled,
        **_spread([c.total for c in counts]),
        "cut": sum(c.cut for c in counts),
    }


def _sum(values: Iterable[int | None]) -> int | None:
    known = list(values)
    return None if None in known else sum(value or 0 for value in known)


def _spread(values: Sequence[int]) -> dict[str, float | None]:
    if not values:
        return {"shortest": None, "median": None, "longest": None}
    return {"shortest": min(values), "median": statistics.median(values), "longest": max(values)}


def _densities(arm: Arm, made: Sequence[Made]) -> dict[str, Any] | None:
    """Recipe -> density asked for, density measured and sites; None without recipes that draw from sites."""
    densities = {}
    for recipe in arm.chain.recipes if arm.chain else ():
        if recipe.places:
            placed = [one.placed[recipe.name] for one in made]
            symbols, sites = sum(k for k, _ in placed), sum(n for _, n in placed)
            densities[recipe.name] = {
                "asked": recipe.settings(arm.options)["density"],
                "measured": symbols / sites if sites else None,
                "sites": sites,
                "tolerance": _tolerance(len(made), sites),
            }
    return densities or None


def _tolerance(examples: int, sites: int) -> float | None:
    """How far a right density may be off by chance.

    k = floor(d n + u) has a standard deviation of at most 1/2 an example; this is three of those of the sum
    over independent examples, by the sites there are.
    """
    return 1.5 * math.sqrt(examples) / sites if sites else None


def _overlap(made: Mapping[str, Sequence[Made]]) -> dict[str, Any]:
    bare = {side: [strip_symbols(one.example) for one in made[side]] for side in SIDES}
    keys = {conversation_key(example) for example in bare["train"]}
    spoken = {side: tuple("\n".join(_asked_and_said(example)) for example in bare[side]) for side in SIDES}
    return {
        "exact": sum(conversation_key(example) in keys for example in bare["heldout"]),
        "share_with_common_13_words": share_with_common_sequence(
            spoken["heldout"], spoken["train"], LONG_SEQUENCE
        ),
    }


def _damage(made: Sequence[Made]) -> dict[str, Any]:
    """Does taking out what the recipes put in give the control's text back, character for character?"""
    checked = [one for one in made if one.undone is not None]
    damaged = [
        one.example.id for one in checked if one.undone and one.undone.messages != one.control.messages
    ]
    return {"checked": len(checked), "damaged": len(damaged), "first": damaged[:3]}


def _spoken(example: Example) -> list[str]:
    return [m["content"] for m in example.messages if m["role"] in ("assistant", TEXT_ROLE)]


def _asked_and_said(example: Example) -> list[str]:
    """Without system turns and tool results, which many examples share by design."""
    return [m["content"] for m in example.messages if m["role"] in ("user", "assistant", TEXT_ROLE)]


def _whole_text(example: Example) -> str:
    return "\n".join(m["content"] for m in example.messages)


def _words(text: str) -> list[str]:
    return WORD.findall(text)


def _warnings(card: Mapping[str, Any]) -> list[str]:
    warnings = []
    train = card["train"]
    for reason, count in train["left_as_is"].items():
        if count == train["examples"]:
            warnings.append(f"{reason} in any example: this recipe changes nothing")
    if train["near_duplicates"] * 10 > train["examples"] > 0:
        warnings.append(f"{train['near_duplicates']} of {train['examples']} examples resemble an earlier one")
    return warnings


def _problems(card: Mapping[str, Any]) -> list[str]:
    problems = []
    if card["train"]["examples"] == 0:
        problems.append("no training examples; raise corpus.examples or name another source")
    if card["overlap"]["exact"]:
        exact = card["overlap"]["exact"]
        problems.append(f"{exact} held-out conversations are trained on; take duplicates out of the source")
    if card["damage"]["damaged"]:
        problems.append(
            f"without symbols, {card['damage']['damaged']} examples are not the control's text (first: "
            f"{', '.join(card['damage']['first'])}); correct the recipe"
        )
    for name, density in (card["train"]["density"] or {}).items():
        problem = _density_problem(name, density)
        if problem:
            problems.append(problem)
    return problems


def _density_problem(recipe: str, density: Mapping[str, Any]) -> str | None:
    asked, measured = density["asked"], density["measured"]
    if measured is None:
        return (
            None
            if asked == 0
            else f"{recipe} found no site for a symbol; use texts with sentences, or no density"
        )
    if abs(measured - asked) > density["tolerance"]:
        off = f"{measured:.3f} of the sites have a symbol, {asked:.3f} were asked for"
        return f"{recipe}: {off} (tolerance {density['tolerance']:.3f}); raise corpus.examples"
    return None
