"""What a recipe is: a named, seeded transform from an example to a variant's example, with declared options.

A recipe of your own is a Python file named in the study (`recipe: shout.py`), or a function registered as an
entry point of the group `octavo.recipes`. Such a file holds one function named `recipe`:

    \"\"\"Ends every answer with a word.\"\"\"

    def recipe(example, rng, word="Indeed."):
        last = len(example.messages) - 1
        return example.with_content({last: example.messages[last]["content"] + " " + word})

`example` is an `octavo.corpus.example.Example` free of emoji and glyphs, to be left as it is; `rng` is a
`random.Random` that depends on the corpus seed and the example's id alone; the keyword arguments are the
recipe's options, their defaults the defaults. To put in symbols that the card counts, return
`octavo.corpus.symbols.insert_symbols(example, ...)`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from octavo.corpus.example import Example
from octavo.corpus.messages import ROLES
from octavo.corpus.symbols import Place
from octavo.errors import InputError

Apply = Callable[[Example, int, dict[str, Any]], Example]


@dataclass(frozen=True)
class Option:
    """One option of a recipe: its default, what it does; `check` returns the value or raises ValueError."""

    default: Any
    description: str
    check: Callable[[Any], Any] = lambda value: value


@dataclass(frozen=True)
class Recipe:
    """A named transform.

    Arguments:
        name: as written in the study.
        description: one line for people.
        function: (example, seed, all options) -> example; a pure function of these.
        options: by name.
        undo: (example without inserted symbols, options) -> the example it was made from; None where the
            recipe cannot tell.
        leaves: why the recipe leaves this example as it is, or None; counted on the quality card.
        places: the sites that the recipe draws from; None for a recipe without sites. Its option `density`
            is the share of them that get a symbol.
    """

    name: str
    description: str
    function: Apply
    options: Mapping[str, Option] = field(default_factory=dict)
    undo: Callable[[Example, dict[str, Any]], Example] | None = lambda example, _options: example
    leaves: Callable[[Example, dict[str, Any]], str | None] = lambda _example, _options: None
    places: Callable[[Example, dict[str, Any]], list[Place]] | None = None

    def settings(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """All options with their values, those it does not know left out.

        Raises:
            InputError: a value that the option does not take.
        """
        made = {}
        for name, option in self.options.items():
            value = options.get(name, option.default)
            try:
                made[name] = option.check(value)
            except ValueError as error:
                raise InputError(f"recipe {self.name}: option {name} {error}, not {value!r}") from None
        return made

    def apply(self, example: Example, seed: int, options: Mapping[str, Any] | None = None) -> Example:
        """The variant's example; the same for the same example id, text, seed and options."""
        return self.function(example, seed, self.settings(options or {}))


def share(value: Any) -> float:
    """A number from 0 to 1."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise ValueError("must be a number from 0 to 1")
    return float(value)


def role_names(value: Any) -> list[str]:
    """A list of roles of turns."""
    if not isinstance(value, Sequence) or isinstance(value, str) or not value or not set(value) <= set(ROLES):
        raise ValueError(f"must be a list of roles out of {', '.join(ROLES)}")
    return list(value)
