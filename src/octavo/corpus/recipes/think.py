"""think: a plan in `<think>` tags before the answer, made from the example's own steps."""

from dataclasses import replace
from typing import Any

from octavo.corpus.example import Example
from octavo.corpus.messages import TEXT_ROLE
from octavo.corpus.recipe import Recipe


def _plan(example: Example) -> str:
    lines = [" ".join(step.split()) for step in example.steps or []]
    numbered = "\n".join(f"{i}. {line}" for i, line in enumerate((line for line in lines if line), start=1))
    return f"<think>\n{numbered}\n</think>\n\n" if numbered else ""


def _answer(example: Example) -> int | None:
    """The turn that gives the answer: the last one of the assistant that says something."""
    spoken = (
        i for i, m in enumerate(example.messages) if m["role"] in ("assistant", TEXT_ROLE) and m["content"]
    )
    return max(spoken, default=None)


def _apply(example: Example, _seed: int, _settings: dict[str, Any]) -> Example:
    plan, turn = _plan(example), _answer(example)
    if not plan or turn is None:
        return example
    moved = [
        {**site, "start": site["start"] + len(plan)} if site["message"] == turn else site
        for site in example.sites
    ]
    return replace(example.with_content({turn: plan + example.messages[turn]["content"]}), sites=moved)


def _undo(example: Example, _settings: dict[str, Any]) -> Example:
    plan, turn = _plan(example), _answer(example)
    if not plan or turn is None:
        return example
    return example.with_content({turn: example.messages[turn]["content"].removeprefix(plan)})


RECIPE = Recipe(
    name="think",
    description="a <think>...</think> plan before the answer, from the example's own steps",
    function=_apply,
    undo=_undo,
    leaves=lambda example, _settings: None if _plan(example) and _answer(example) is not None else "no steps",
)
