"""The common part of the recipes that put symbols at sites: they differ in which sites and which symbol."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from octavo.corpus.example import Example
from octavo.corpus.recipe import Option, Recipe, role_names, share
from octavo.corpus.symbols import Place, choose_places, insert_at, places

# (seed, example, place) -> the symbol and its role
Choice = Callable[[int, Example, Place], tuple[str, str]]


def symbol_recipe(
    name: str,
    description: str,
    choice: Choice,
    stream: str = "glyphs",
    sentences_only: bool = False,
) -> Recipe:
    """A recipe that puts a symbol at a share of the sites.

    Arguments:
        name, description: of the recipe.
        choice: which symbol goes to a place, and the role it is recorded with.
        stream: recipes with the same stream draw the same sites of an example.
        sentences_only: ends of sentences alone, not of clauses or connectives.
    """

    def found(example: Example, settings: dict[str, Any]) -> list[Place]:
        return places(example, settings["roles"], sentences_only)

    def apply(example: Example, seed: int, settings: dict[str, Any]) -> Example:
        chosen = choose_places(found(example, settings), settings["density"], seed, example.id, stream)
        return insert_at(example, chosen, lambda place: choice(seed, example, place))

    def leaves(example: Example, settings: dict[str, Any]) -> str | None:
        return None if found(example, settings) else "no site for a symbol"

    return Recipe(
        name=name,
        description=description,
        function=apply,
        options={
            "density": Option(1.0, "share of the sites that get a symbol, 0 to 1", share),
            "roles": Option(
                ["assistant"], "turns that symbols go into: assistant, user, system, tool", role_names
            ),
        },
        leaves=leaves,
        places=found,
    )
