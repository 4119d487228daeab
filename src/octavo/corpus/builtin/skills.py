"""What a tool is for this corpus: its schema, how people ask for it, what it returns, how that is told."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from octavo.corpus.builtin.dice import Dice

Values = dict[str, Any]
DATE = r"^\d{4}-\d{2}-\d{2}$"
TIME = r"^\d{2}:\d{2}$"


@dataclass(frozen=True)
class Argument:
    """One argument: JSON type and meaning, how it is said ([v] is the value as spoken), how it is asked for."""

    type: str
    meaning: str
    phrase: str
    question: str = ""  # empty: a request never leaves it out
    options: tuple[str, ...] = ()
    pattern: str = ""
    supply: str = ""  # how it is said alone, when asked for; empty: as in a request

    def schema(self) -> dict[str, Any]:
        """Its JSON schema."""
        schema: dict[str, Any] = {"type": self.type, "description": self.meaning}
        if self.options:
            schema["enum"] = list(self.options)
        if self.pattern:
            schema["pattern"] = self.pattern
        return schema


@dataclass(frozen=True)
class Skill:
    """A tool with all that is needed to draw a conversation about it.

    `request` and `reply` are templates; in a request `[name]` is the spoken phrase of an argument, in a reply it is the
    spoken value, and `[r_field]` a field of the result.
    """

    name: str
    description: str
    arguments: dict[str, Argument]
    draw: Callable[[Dice], dict[str, tuple[Any, str]]]  # argument -> (value in the call, as it is spoken)
    request: str
    run: Callable[[Dice, Values], Values]
    reply: str
    purpose: str  # "check the weather": what cannot be done without the tool

    def schema(self) -> dict[str, Any]:
        """The tool in the form that chat templates take."""
        return {
            "type": "function",
            "function": {
                "name": self.name,
                "description": self.description,
                "parameters": {
                    "type": "object",
                    "properties": {name: argument.schema() for name, argument in self.arguments.items()},
                    "required": list(self.arguments),
                },
            },
        }

    def ask(self, dice: Dice, spoken: dict[str, str], without: str = "") -> str:
        """The request in words, in lower case, one argument left out where `without` names it."""
        phrases = {
            name: "" if name == without else dice.raw(argument.phrase, v=spoken[name])
            for name, argument in self.arguments.items()
        }
        text = " ".join(dice.raw(self.request, **phrases).split()).replace(" ,", ",")
        return text.replace(", please", "") if text.count("please") > 1 else text

    def tell(self, dice: Dice, spoken: dict[str, str], result: Values) -> str:
        """The result in words."""
        fields = {f"r_{k}": shown(v, k) for k, v in result.items()}
        return dice.say(self.reply, **spoken, **fields)


_SUMS = {"rate", "converted", "monthly", "total_with_tip", "each", "price", "month_total"}


def shown(value: Any, key: str = "") -> str:
    """A field of a result as it stands in a sentence: commas at thousands, cents in full."""
    if isinstance(value, float) and value != int(value):
        return (
            f"{value:,.2f}"
            if key in _SUMS
            else f"{value:,g}"
            if abs(value) < 1000
            else f"{value:,.4f}".rstrip("0")
        )
    if isinstance(value, float):
        value = int(value)
    return (
        f"{value:,}"
        if isinstance(value, int) and not isinstance(value, bool) and not key.endswith("_id")
        else str(value)
    )
