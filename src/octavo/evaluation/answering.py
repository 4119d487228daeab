"""Items to contestants, contestants' responses to evaluation lines: every item in one pass over the lanes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from octavo.corpus.encode import Encoder
from octavo.errors import InputError
from octavo.evaluation.choices import Sequences, encode_options
from octavo.evaluation.contestants import Contestants
from octavo.evaluation.generations import continue_all
from octavo.evaluation.suite import Choose, Item, Read, Response, Suite, Write
from octavo.objectives.causal import CAUSAL
from octavo.objectives.objective import Objective, score_rows

CHUNK = 32  # items that are asked and kept at a time: what a stop can lose


@dataclass(frozen=True)
class Asked:
    """A sequence whose marked tokens are scored, as objectives take rows; `units` are looked for in data only."""

    id: str
    ids: Sequence[int]
    labels: Sequence[bool]
    units: Sequence[int] | None = None

    @property
    def targets(self) -> int:
        """Marked tokens; the first is never one."""
        return sum(self.labels)


@dataclass(frozen=True)
class Asker:
    """How items are put to the contestants of one base.

    Attributes:
        budget: most tokens of a pack. at_once: most answers written side by side; None: all.
        objective: of the base; likelihoods are what it says of them, bounds on the same masks for all where it masks.
        window: most tokens that the base reads, None where it does not say.
    """

    contestants: Contestants
    encoder: Encoder
    budget: int
    at_once: int | None = None
    objective: Objective = CAUSAL

    @property
    def window(self) -> int | None:
        """The longest sequence the base was made for."""
        config = self.contestants.base.config.get_text_config()
        found = getattr(config, "max_position_embeddings", None) or getattr(config, "n_positions", None)
        return int(found) if found else None

    @property
    def _lanes(self) -> list[int]:
        """Every lane once: adapters that change nothing share the base's."""
        return list(dict.fromkeys(self.contestants.lanes.values()))

    def ask(self, items: Sequence[Item]) -> Iterator[tuple[str, Item, Response]]:
        """(contestant, item, response) of every item and contestant; those of an item stand together."""
        likely = [item for item in items if not isinstance(item.question, Write)]
        written = [item for item in items if isinstance(item.question, Write)]
        yield from self._likelihoods(likely)
        yield from self._texts(written)

    def sequences(self, item: Item) -> Sequences:
        """The sequences whose likelihood an item asks for."""
        if isinstance(item.question, Choose):
            return encode_options(item.question, self.encoder, self.window, f"item '{item.id}'")
        assert isinstance(item.question, Read)
        ids, labels = zip(*item.question.sequences, strict=True)
        return Sequences([list(one) for one in ids], [list(one) for one in labels], 0)

    def _likelihoods(self, items: Sequence[Item]) -> Iterator[tuple[str, Item, Response]]:
        asked = [self.sequences(item) for item in items]
        pairs = [
            (self.objective, lane, Asked(f"{item.id}/{n}", ids, labels))
            for item, one in zip(items, asked, strict=True)
            for lane in self._lanes
            for n, (ids, labels) in enumerate(zip(one.ids, one.labels, strict=True))
        ]
        if not pairs:
            return
        losses = score_rows(self.contestants.base, pairs, self.budget)
        tokens = [row.targets for _, _, row in pairs]
        at = 0
        for item, one in zip(items, asked, strict=True):
            found = {}
            for lane in self._lanes:
                part = slice(at, at + len(one.ids))
                at += len(one.ids)
                found[lane] = Response(losses=tuple(losses[part]), tokens=tuple(tokens[part]), cut=one.cut)
            for who, lane in self.contestants.lanes.items():
                yield who, item, found[lane]

    def _texts(self, items: Sequence[Item]) -> Iterator[tuple[str, Item, Response]]:
        if items and not self.objective.writes:
            raise InputError(
                f"item '{items[0].id}' asks for a written answer, which a base of objective: {self.objective.name} "
                "does not give yet; take its suite out"
            )
        for most in sorted({_write(item).max_new_tokens for item in items}):
            own = [item for item in items if _write(item).max_new_tokens == most]
            prompts = [self._prompt(item, most) for item in own]
            jobs = [(lane, ids) for ids, _ in prompts for lane in self._lanes]
            answers = continue_all(
                self.contestants.base,
                jobs,
                self.encoder.stop_ids,
                most,
                self.at_once,
            )
            rows = iter(answers)
            for item, (_, cut) in zip(own, prompts, strict=True):
                made_by = {lane: next(rows) for lane in self._lanes}
                for who, lane in self.contestants.lanes.items():
                    made = made_by[lane]
                    yield (
                        who,
                        item,
                        Response(text=None if made is None else self.encoder.decode(made), cut=cut),
                    )

    def _prompt(self, item: Item, most: int) -> tuple[list[int], int]:
        """Ids of an item's prompt, and how many tokens were cut off its front so that the answer has room."""
        question = _write(item)
        ids = prompt_ids(self.encoder, question, f"item '{item.id}'")
        room = None if self.window is None else max(1, self.window - most)
        cut = 0 if room is None else max(0, len(ids) - room)
        return ids[cut:], cut


def prompt_ids(encoder: Encoder, question: Write, where: str) -> list[int]:
    """Ids up to where the assistant speaks, or of the text that is to be continued."""
    from octavo.corpus.messages import TEXT_ROLE
    from octavo.evaluation.choices import plain

    if question.messages[0]["role"] == TEXT_ROLE:
        return [encoder.text_start, *encoder.text_ids(str(question.messages[0]["content"]))]
    if not encoder.has_template:
        return [encoder.text_start, *encoder.text_ids(plain(question.messages))]
    tools = None if question.tools is None else list(question.tools)
    return encoder.prompt(list(question.messages), tools, where)


def _write(item: Item) -> Write:
    assert isinstance(item.question, Write)
    return item.question


def raw_row(who: str, item: Item, response: Response) -> dict[str, Any]:
    """A response as it is kept until all are there."""
    return {"run": who, "item": item.id, **asdict(response)}


def response_of(row: dict[str, Any]) -> Response:
    """A kept response."""
    return Response(
        row["text"], tuple(float(x) for x in row["losses"]), tuple(row["tokens"]), int(row["cut"])
    )


def line(suite: Suite, name: str, who: str, item: Item, response: Response) -> dict[str, Any]:
    """The evaluation line of one contestant and item; `score` is None where it was refused."""
    score = suite.score(item, response)
    detail: dict[str, Any] = {"cluster": item.cluster or item.id}
    if item.group:
        detail["group"] = item.group
    if response.cut:
        detail["cut_tokens"] = response.cut
    if score.others:
        detail["scores"] = dict(score.others)
    if isinstance(item.question, Write):
        detail["answer"] = response.text
    return {
        "suite": name,
        "version": suite.version,
        "item": item.id,
        "item_sha": item.sha,
        "prompt_sha": item.prompt_sha,
        "run": who,
        "score": score.value,
        "detail": {**detail, **score.detail},
    }


def option_tokens(asker: Asker, items: Sequence[Item]) -> dict[str, list[int]]:
    """How many tokens of its own each option has, by item."""
    found = {}
    for item in items:
        if isinstance(item.question, Choose):
            found[item.id] = [sum(labels) for labels in asker.sequences(item).labels]
    return found


def chunks(items: Sequence[Item], done: Callable[[Item], bool]) -> Iterator[Sequence[Item]]:
    """The items that are still to be asked, some at a time."""
    left = [item for item in items if not done(item)]
    for start in range(0, len(left), CHUNK):
        yield left[start : start + CHUNK]
