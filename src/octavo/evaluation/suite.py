"""What a suite is: items, how each is asked, and a rule that turns what came back into a score."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from octavo.errors import InputError
from octavo.evaluation.heldout import sha

if TYPE_CHECKING:
    from octavo.corpus.encode import Encoder
    from octavo.corpus.example import Example

Message = dict[str, Any]

# {metric: {kind of ignorance: mean score}}; the best constant answer is the largest but "noise"
Chances = dict[str, dict[str, float]]


@dataclass(frozen=True)
class Choose:
    """How likely is each option, as the assistant's reply to `messages` or as the continuation of a text?

    Attributes:
        messages: turns that end with the user's; or one turn of the role "text", which the options continue.
        options: none of them empty.
    """

    messages: Sequence[Message]
    options: tuple[str, ...]


@dataclass(frozen=True)
class Write:
    """What does the assistant say? Greedy, up to `max_new_tokens`."""

    messages: Sequence[Message]
    tools: Sequence[Any] | None = None
    max_new_tokens: int = 128


@dataclass(frozen=True)
class Read:
    """How likely are the marked tokens of each sequence? `sequences`: (ids, labels) each, made by the suite."""

    messages: Sequence[Message]
    sequences: tuple[tuple[Sequence[int], Sequence[bool]], ...]


@dataclass(frozen=True)
class Item:
    """One question of a suite.

    Attributes:
        id: unique within the suite.
        content: all that the item consists of, as JSON values; its SHA-256 is the line's `item_sha`.
        question: how it is asked.
        key: what the rule compares with (the right answer, in whatever form the suite reads it).
        cluster: items of one cluster are not independent (a family, a category); statistics draw clusters.
        group: part of the suite that is shown on its own.
    """

    id: str
    content: Any
    question: Choose | Write | Read
    key: Any = None
    cluster: str = ""
    group: str = ""

    @property
    def sha(self) -> str:
        """SHA-256 of the content."""
        return sha(self.content)

    @property
    def prompt_sha(self) -> str:
        """SHA-256 of what is asked."""
        return sha(list(self.question.messages))


@dataclass(frozen=True)
class Response:
    """What one contestant gave for one item.

    Attributes:
        text: of a `Write`; None where the logits stopped being finite.
        losses: of the options or sequences: summed negative log-likelihood in nats; tokens: how many were summed.
        cut: tokens taken off the front of the context because the window does not hold them.
    """

    text: str | None = None
    losses: tuple[float, ...] = ()
    tokens: tuple[int, ...] = ()
    cut: int = 0


@dataclass(frozen=True)
class Score:
    """A score with what is to be known of it; `value` is None where nothing finite came back.

    Attributes:
        others: further measures of the same answer by name.
    """

    value: float | None
    detail: Mapping[str, Any] = field(default_factory=dict)
    others: Mapping[str, float | None] = field(default_factory=dict)


@dataclass(frozen=True)
class Request:
    """What a suite may make its items of.

    Attributes:
        file: the user's own file, if any. limit: most items; None: all. options: the suite's own settings.
        heldout: held-out examples of each variant; train: a function that reads a variant's training examples.
        control: the variant that others are set against.
        encoder: of the base, for suites that make sequences of their own.
    """

    file: Path | None = None
    limit: int | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    heldout: Mapping[str, Sequence[Example]] = field(default_factory=dict)
    train: Callable[[str], Sequence[Example]] = lambda _: ()
    control: str | None = None
    encoder: Encoder | None = None


@dataclass(frozen=True)
class Suite:
    """A set of evaluation items with one scoring rule and a version.

    Attributes:
        name: of the suite, its file and its lines.
        version: goes up when items or rule change, so that scores of different versions are never compared.
        rule: name and version of the scoring rule, for people.
        says: what the score is, in a sentence; stands beside the table.
        load: the items.
        score: rule for one item. It must not know who answered.
        chance: of each metric what answers that know nothing get, by name. None: the score is no accuracy.
        metric: name of the score; `Score.others` are further metrics.
        settings: names of `options` that the suite knows; configure: the suite with such options.
        file: what its file is, "" where it takes none; needs_file: whether there must be one.
        named_by_file: its lines go under the name of its file, so that a study may have several.
        unit: of the score.
    """

    name: str
    version: int
    rule: str
    says: str
    load: Callable[[Request], list[Item]]
    score: Callable[[Item, Response], Score]
    chance: Callable[[Sequence[Item], ChanceFacts], Chances] | None = None
    metric: str = "score"
    settings: Collection[str] = ()
    configure: Callable[[Mapping[str, Any]], Suite] | None = None
    file: str = ""
    needs_file: bool = False
    named_by_file: bool = False
    unit: str = "share right"


@dataclass(frozen=True)
class ChanceFacts:
    """What chance needs to know of the base.

    Attributes:
        tokens: of each option, by item id. vocabulary: size of it.
    """

    tokens: Mapping[str, Sequence[int]]
    vocabulary: int


def take(items: Sequence[Item], limit: int | None) -> list[Item]:
    """The `limit` items whose ids hash lowest, in their own order: the same subset for everybody, and a smaller limit
    takes a part of a larger one."""
    if limit is None or limit >= len(items):
        return list(items)
    chosen = set(sorted((digest(item.id), item.id) for item in items)[:limit])
    return [item for item in items if (digest(item.id), item.id) in chosen]


def digest(text: str) -> str:
    """SHA-256 of a text."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def shuffled(options: Sequence[Any], key: str) -> list[Any]:
    """The options in an order that follows from `key` alone."""
    order = sorted(range(len(options)), key=lambda i: digest(f"{key}/{i}"))
    return [options[i] for i in order]


def refuse_same_ids(items: Sequence[Item], where: str) -> list[Item]:
    """The items, unless two have one id."""
    seen: set[str] = set()
    for item in items:
        if item.id in seen:
            raise InputError(f"{where}: two items have the id '{item.id}'; give each its own")
        seen.add(item.id)
    return list(items)
