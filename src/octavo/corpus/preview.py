"""Looking at recipes and data in a terminal: before and after, and variants side by side, differences coloured."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Any

from octavo.corpus.example import Example, load_examples
from octavo.corpus.messages import TEXT_ROLE
from octavo.errors import InputError

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from octavo.artifacts import Folder
    from octavo.corpus.recipe import Recipe

COLUMN = 36  # characters; narrower columns cannot be read
ADDED, REMOVED = "bold green", "strike red"
WORDS = r"\s+|\w+|."

SAMPLE = Example(
    id="sample",
    family="",
    kind="reasoning",
    seen=True,
    messages=[
        {
            "role": "user",
            "content": "A tray holds 12 buns 🙂. How many buns are on 3 trays, and is that enough for 40?",
        },
        {
            "role": "assistant",
            "content": "One tray holds 12 buns, so three trays hold 3 * 12 = 36 buns. However, 40 guests want one "
            "each. Therefore it is not enough, because 36 is less than 40.",
        },
    ],
    steps=["3 * 12 = 36 buns", "36 < 40, so four are missing"],
    answer="36",
)


def describe_recipes(seed: int = 0) -> list[dict[str, Any]]:
    """A row a recipe: `name`, `description`, `options` (name, default, description), `before` and `after`.

    `before` and `after` are the answer of one sample, as it is and as the recipe makes it.
    """
    from octavo.corpus.recipes import build_chain, get_recipe, recipe_names

    rows = []
    for name in recipe_names():
        recipe = get_recipe(name)
        after = build_chain(name, {}, seed).apply(SAMPLE)
        rows.append(
            {
                "name": recipe.name,
                "description": recipe.description,
                "options": _options(recipe),
                "before": conversation(SAMPLE),
                "after": conversation(after),
            }
        )
    return rows


def show(console: Console) -> None:
    """Print every recipe with its options and an example, what it changes coloured."""
    console.print("Before every recipe emoji and glyphs go out of the text. The sample:\n")
    console.print(conversation(SAMPLE), style="dim", markup=False, highlight=False)
    for row in describe_recipes():
        console.print(f"\n[bold]{row['name']}[/bold]  {row['description']}")
        for option in row["options"]:
            line = f"  {option['name']}: {option['default']!r}  {option['description']}"
            console.print(line, style="cyan", markup=False, highlight=False)
        console.print(difference(row["before"], row["after"], console.is_terminal))


def show_examples(folder: Folder, variants: Sequence[str], n: int, console: Console) -> None:
    """Print the first `n` training examples of variants side by side; what differs from the first is coloured.

    As many columns as the terminal is wide enough for, then the next ones below.

    Raises:
        InputError: a variant's data is not there.
    """
    from rich.table import Table

    rows = {variant: _train(folder, variant)[:n] for variant in variants}
    first = variants[0]
    columns = max(1, console.width // COLUMN - 1)
    for i in range(max(map(len, rows.values()), default=0)):
        base = rows[first][i] if i < len(rows[first]) else None
        others = [variant for variant in variants[1:] if i < len(rows[variant])]
        console.rule(f"{i + 1}  {base.id if base else ''}")
        for start in range(0, max(1, len(others)), columns):
            group = others[start : start + columns]
            table = Table(expand=True)
            for name in [*([first] if base else []), *group]:
                table.add_column(name, overflow="fold")
            plain = conversation(base) if base else ""
            cells = [
                difference(plain, conversation(rows[variant][i]), console.is_terminal) for variant in group
            ]
            table.add_row(*([_plain(plain)] if base else []), *cells)
            console.print(table)


def conversation(example: Example) -> str:
    """The turns of an example as text for people."""
    return "\n".join(_turn(message) for message in example.messages)


def difference(before: str, after: str, removed: bool = True) -> Text:
    """`after` with what is new coloured and, if `removed`, what is gone struck through.

    Without colours (`removed=False`) what is gone would read as if it were still there.
    """
    from rich.text import Text

    old, new = re.findall(WORDS, before, re.DOTALL), re.findall(WORDS, after, re.DOTALL)
    text = Text()
    for kind, i, j, k, m in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if removed and kind in ("delete", "replace"):
            text.append("".join(old[i:j]), REMOVED)
        text.append("".join(new[k:m]), ADDED if kind in ("insert", "replace") else "")
    return text


def _plain(text: str) -> Text:
    from rich.text import Text

    return Text(text)


def _turn(message: dict[str, Any]) -> str:
    calls = [
        f"{call['function']['name']}({call['function']['arguments']})"
        for call in message.get("tool_calls", [])
    ]
    said = "\n".join([*([message["content"]] if message["content"] else []), *calls])
    return said if message["role"] == TEXT_ROLE else f"{message['role']}: {said}"


def _options(recipe: Recipe) -> list[dict[str, Any]]:
    return [
        {"name": name, "default": option.default, "description": option.description}
        for name, option in recipe.options.items()
    ]


def _train(folder: Folder, variant: str) -> list[Example]:
    path = folder.data(variant) / "train.jsonl"
    if not path.is_file():
        raise InputError(f"{path} is not there; make the data with `octavo data`")
    return load_examples(path)
