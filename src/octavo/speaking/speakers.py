"""Adapters and models loaded so that they answer side by side: each base once, its adapters in lanes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from octavo.corpus.encode import Encoder
from octavo.errors import InputError
from octavo.evaluation.contestants import Contestants
from octavo.lanes.base import BaseModel
from octavo.lanes.generate import Choice, generate
from octavo.models.load import load_model, load_tokenizer
from octavo.models.resolve import resolve_base
from octavo.speaking.named import Named
from octavo.speaking.text_stream import TextStream
from octavo.training.device import pick_device, pick_dtype

Turn = dict[str, Any]


@dataclass(frozen=True)
class Group:
    """Speakers of one base: names, their lanes, and the base's way of writing conversations."""

    lanes: dict[str, int]
    contestants: Contestants
    encoder: Encoder


@dataclass(frozen=True)
class Answer:
    """What a speaker said.

    Attributes:
        text: up to the end of its turn. ended: it ended its turn itself, before the most tokens it might make.
        tokens: made. finite: False where its logits stopped being finite; the text is what came before.
    """

    text: str
    tokens: int
    ended: bool
    finite: bool


class Speakers:
    """All that were named.

    Arguments:
        named: of `find_named`.
        with_base: the bases answer too, as `base:<name>`.

    Attributes:
        names: in the order of their answers.

    Raises:
        InputError: a base or an adapter is not to be had, is not finite, or cannot speak a token after the other.
    """

    def __init__(self, named: Sequence[Named], with_base: bool = False) -> None:
        self._groups = [_group(of_base, with_base) for of_base in _by_base(named)]
        self.names = [name for group in self._groups for name in group.lanes]

    def answer(
        self,
        conversations: Mapping[str, Sequence[Turn]],
        most: int,
        choose: Choice | None = None,
        heard: Callable[[str, str], None] | None = None,
    ) -> dict[str, Answer]:
        """Each named speaker's next turn.

        Arguments:
            conversations: turns so far, by name. most: new tokens. choose: as `octavo.lanes.generate` takes it.
            heard: called with a name and the text that has been added to its answer.
        """
        found: dict[str, Answer] = {}
        for group in self._groups:
            asked = {name: turns for name, turns in conversations.items() if name in group.lanes}
            if asked:
                found |= _answers(group, asked, most, choose, heard)
        return found


def _by_base(named: Sequence[Named]) -> list[list[Named]]:
    groups: dict[str, list[Named]] = {}
    for one in named:
        groups.setdefault(f"{one.base.model_dump_json()} {one.directory}", []).append(one)
    return list(groups.values())


def _group(named: Sequence[Named], with_base: bool) -> Group:
    base = named[0].base
    if base.objective != "causal" or base.attention != "causal":
        raise InputError(
            f"{named[0].name}: was trained as objective: {base.objective}, attention: {base.attention}; this "
            "version can let only causal models speak"
        )
    source = resolve_base(base, named[0].directory)
    encoder = Encoder(load_tokenizer(source), None, base.eos, base.pad)
    device = pick_device()
    model = BaseModel(load_model(source, pick_dtype(base.dtype, device)).to(device))
    adapters = [(one.name, one.adapter) for one in named if one.adapter is not None]
    contestants = Contestants(model, base.name, adapters)
    lanes = {one.name: contestants.lanes.get(one.name, len(adapters)) for one in named}
    if with_base and all(one.adapter is not None for one in named):
        lanes[contestants.base_key] = len(adapters)
    return Group(lanes, contestants, encoder)


def _prompt(encoder: Encoder, turns: Sequence[Turn]) -> list[int]:
    """Ids to continue; a base without a chat template continues the text itself."""
    if encoder.has_template:
        return encoder.prompt(list(turns))
    return encoder.encode_text("\n".join(str(turn["content"]) for turn in turns)).ids[:-1]


def _answers(
    group: Group,
    asked: Mapping[str, Sequence[Turn]],
    most: int,
    choose: Choice | None,
    heard: Callable[[str, str], None] | None,
) -> dict[str, Answer]:
    names = list(asked)
    ids = [_prompt(group.encoder, asked[name]) for name in names]
    _within_window(group, ids, most)
    streams = [TextStream(group.encoder.decode) for _ in names]

    def hear(prompt: int, token: int) -> None:
        grown = streams[prompt].add(token)
        if grown and heard is not None:
            heard(names[prompt], grown)

    prompts = [(group.lanes[name], prompt) for name, prompt in zip(names, ids, strict=True)]
    made = generate(group.contestants.base, prompts, group.encoder.stop_ids, most, None, choose, hear)
    found = {}
    for name, stream, tokens in zip(names, streams, made, strict=True):
        rest = stream.end()
        if rest and heard is not None:
            heard(name, rest)
        count = len(stream.ids)
        found[name] = Answer(stream.text, count, count < most and tokens is not None, tokens is not None)
    return found


def _within_window(group: Group, ids: Sequence[Sequence[int]], most: int) -> None:
    config = group.contestants.base.config.get_text_config()
    window = getattr(config, "max_position_embeddings", None)
    longest = max(map(len, ids))
    if window and longest + most > window:
        raise InputError(
            f"the conversation has {longest} tokens; with {most} new ones that is more than the {window} that the "
            "base reads: begin a new one, or lower --max-tokens"
        )
