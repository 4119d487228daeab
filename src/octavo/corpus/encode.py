"""Conversations as token ids with label spans.

The text of a conversation is the chat template's. It is cut at the template's control tokens; each run
of text between two of them is tokenised as a whole, so the ids are those that any program makes of the
text, but control tokens that stand in a content stay text. There is one more cut: where an answer
begins. A prompt ends there when text is generated, so the ids of the header may not depend on what
follows. An answer that begins with a newline gets other ids than by tokenising the finished text at
once, which would merge it with the header's newline: it gets those that the model meets in use.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from octavo.corpus.chat_layout import Layout, end_of_turn, lay_out
from octavo.corpus.chat_template import ChatTemplate, Message
from octavo.corpus.messages import TEXT_ROLE, canonical_messages, canonical_tools
from octavo.corpus.rendered import match_contents
from octavo.corpus.symbol_tokens import Part, TextRun
from octavo.corpus.text_ids import Place, TextIds
from octavo.errors import InputError

_LAYOUTS = 512
_log = logging.getLogger("octavo")


@dataclass(frozen=True)
class Encoded:
    """Token ids of an example, and which of them are learned.

    Arguments:
        ids: the whole example, not cut.
        labels: `labels[i]`: `ids[i]` is a target, predicted by the logits at `i - 1`; the first never is.
        runs: the text between control tokens, in order.
    """

    ids: list[int]
    labels: list[bool]
    runs: tuple[TextRun, ...] = field(default=(), compare=False, repr=False)


class Encoder:
    """Turns examples into ids and labels for one base model.

    Arguments:
        tokenizer: a fast tokenizer of transformers.
        chat_template: a template that replaces the tokenizer's own.
        eos: the token that ends a text, if not the tokenizer's own.
        pad: the token to pad with, if not the tokenizer's own; the eos where there is none.

    Attributes:
        notes: what a person should know about the template, each once; logged as a warning too.

    Raises:
        InputError: the tokenizer has no fast form; `eos` or `pad` is none of its tokens.
    """

    def __init__(
        self, tokenizer: Any, chat_template: str | None = None, eos: str | None = None, pad: str | None = None
    ):
        self.tokenizer = tokenizer
        self.notes: list[str] = []
        self._text_ids = TextIds(tokenizer)
        self._control_ids = {t.content: i for i, t in tokenizer.added_tokens_decoder.items() if t.special}
        self._template = ChatTemplate(tokenizer, chat_template)
        self._layouts: OrderedDict[Any, Layout] = OrderedDict()
        self.eos_id = self._token(eos, "eos", tokenizer.eos_token_id)
        self.pad_id = self._token(pad, "pad", tokenizer.pad_token_id)
        if self.pad_id is None:
            self.pad_id = self.eos_id

    def _token(self, text: str | None, key: str, own: int | None) -> int | None:
        if text is None:
            return own
        index = self.tokenizer.get_vocab().get(text)
        if index is None:
            raise InputError(f"`{key}: {text}` is no token of the base's tokenizer; name one that is")
        return index

    @property
    def has_template(self) -> bool:
        """Whether conversations can be encoded, or `text` rows only."""
        return self._template.exists

    @cached_property
    def end_of_turn(self) -> str:
        """The control token that ends an assistant turn; InputError where the template has none."""
        return end_of_turn(self._template, "chat template")

    @cached_property
    def stop_ids(self) -> set[int]:
        """The ids at which generation stops: end of turn and eos."""
        ends = {self._control_ids[self.end_of_turn]} if self.has_template else set()
        return ends | ({self.eos_id} if self.eos_id is not None else set())

    def encode(self, example_messages: list[Message], tools: Any = None, where: str = "example") -> Encoded:
        """Ids and labels of a conversation: every assistant turn is learned, its end-of-turn token included.

        Arguments:
            example_messages: turns, or the one `text` message that is learned whole.
            tools: schemas of the tools on offer, or None.
            where: file and line, named in errors.

        Raises:
            InputError: turns that cannot be meant, or that the template refuses; nothing to learn.
        """
        messages = canonical_messages(example_messages, where)
        if messages[0]["role"] == TEXT_ROLE:
            encoded = self.encode_text(messages[0]["content"])
        else:
            encoded, _ = self._conversation(messages, canonical_tools(tools, where), where)
        if not any(encoded.labels):
            raise InputError(f"{where}: nothing in this row would be learned; take it out")
        return encoded

    def encode_pair(self, prompt: str, completion: str, where: str = "example") -> Encoded:
        """A prompt and its completion as two turns."""
        return self.encode([_turn("user", prompt), _turn("assistant", completion)], where=where)

    def encode_text(self, text: str) -> Encoded:
        """A text learned whole: the token that the tokenizer begins with, if any, the text, the eos token.

        Raises:
            InputError: neither tokenizer nor study names an eos token.
        """
        if self.eos_id is None:
            raise InputError(
                "The base has no token that ends a text: set `eos:` of the base in the study file."
            )
        bos = self._bos_ids
        ids = [*bos, *self._text_ids(text, "first"), self.eos_id]
        start = max(len(bos), 1)  # nothing predicts the first token
        run = TextRun(len(bos), text, "first", (Part(0, text, 0),))
        return Encoded(ids, [i >= start for i in range(len(ids))], (run,))

    def offsets(self, run: TextRun) -> list[tuple[int, int]]:
        """The characters that each token of a run of text stands for, [begin, end)."""
        return self._text_ids.offsets(run.text, run.place)

    def prompt(self, messages: list[Message], tools: Any = None, where: str = "prompt") -> list[int]:
        """The ids after which the assistant's next turn begins: the same as in training, header included."""
        turns = canonical_messages([*messages, _turn("assistant", "x")], where)
        encoded, starts = self._conversation(turns, canonical_tools(tools, where), where)
        return encoded.ids[: starts[-1]]

    def decode(self, ids: Iterable[int]) -> str:
        """The text of ids, control tokens shown."""
        return self.tokenizer.decode(list(ids), skip_special_tokens=False, clean_up_tokenization_spaces=False)

    def text_ids(self, text: str) -> list[int]:
        """Ids of a plain text that follows the token a text starts with; control tokens in it stay text."""
        return list(self._text_ids(text, "first"))

    @property
    def text_start(self) -> int:
        """What the base reads before a plain text: the tokenizer's own beginning, else the token that ends a text.

        Raises:
            InputError: it has neither.
        """
        if self._bos_ids:
            return self._bos_ids[0]
        if self.eos_id is None:
            raise InputError(
                "The base has no token that begins or ends a text: set `eos:` of the base in the study file."
            )
        return self.eos_id

    @cached_property
    def _bos_ids(self) -> list[int]:
        """What the tokenizer puts before a text by itself."""
        # the ids of an empty text are beginning and end together
        added = self.tokenizer.backend_tokenizer.encode("", add_special_tokens=True).ids
        return [i for i in added if i == self.tokenizer.bos_token_id][:1]

    def _conversation(
        self, messages: list[Message], tools: list[Any] | None, where: str
    ) -> tuple[Encoded, list[int]]:
        """Ids and labels of canonical turns, and the positions at which the answers begin."""
        turns, shown_tools = self._template.conform(messages, tools)
        layout = self._layout(turns, shown_tools, where)
        rendered = self._template.render(turns, shown_tools, where)
        contents, rewritten = match_contents(self._template, layout, rendered, turns, where)
        if rewritten:
            self._note("this chat template rewrites what the assistant says; its version is what is learned")
        writer = _Writer(self._text_ids, self._control_ids)
        added = len(turns) - len(messages)  # a system turn that holds the schemas
        for atom in layout.atoms:
            if atom.opens:
                writer.open()
            if atom.content is not None:
                writer.text(contents[atom.content], atom.label, atom.content - added)
            elif atom.control:
                writer.control(atom.text, atom.label)
            elif atom.owner is None or atom.owner not in rewritten:
                writer.text(atom.text, atom.label)
        return writer.finish(), writer.starts

    def _layout(self, turns: list[Message], tools: list[Any] | None, where: str) -> Layout:
        """The layout of turns of this form, remembered: it depends on roles and tools, not on contents."""
        key = repr((tools, [(m | {"content": bool(m["content"])}) for m in turns]))
        layout = self._layouts.get(key)
        if layout is None:
            layout = lay_out(self._template, turns, tools, self.end_of_turn, where)
            self._layouts[key] = layout
            if len(self._layouts) > _LAYOUTS:
                self._layouts.popitem(last=False)
            for note in layout.notes:
                self._note(note)
        return layout

    def _note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)
            _log.warning("%s", text)


class _Writer:
    """Collects atoms into ids and labels; text that may merge is tokenised together."""

    def __init__(self, text_ids: TextIds, control_ids: dict[str, int]):
        self.starts: list[int] = []
        self._text_ids = text_ids
        self._control_ids = control_ids
        self._ids: list[int] = []
        self._labels: list[bool] = []
        self._run: list[str] = []
        self._parts: list[Part] = []
        self._runs: list[TextRun] = []
        self._run_label = False
        self._after_control = False

    def text(self, text: str, label: bool, message: int = -1) -> None:
        """`message`: the number of the message whose content this is, below 0 for the template's own text."""
        if label != self._run_label:
            self._flush()
            self._run_label = label
        if message >= 0:
            self._parts.append(Part(message, text, sum(map(len, self._run))))
        self._run.append(text)

    def control(self, text: str, label: bool) -> None:
        self._flush()
        self._put((self._control_ids[text],), label)
        self._after_control = True

    def open(self) -> None:
        """An answer begins here."""
        self._flush()
        self.starts.append(len(self._ids))

    def finish(self) -> Encoded:
        self._flush()
        labels = self._labels
        labels[:1] = [False] * len(labels[:1])  # nothing predicts the first token
        return Encoded(self._ids, labels, tuple(self._runs))

    def _flush(self) -> None:
        run, parts = "".join(self._run), tuple(self._parts)
        self._run.clear()
        self._parts.clear()
        if not run:
            return
        later: Place = "after_control" if self._after_control else "after_text"
        place: Place = later if self._ids else "first"
        self._runs.append(TextRun(len(self._ids), run, place, parts))
        self._put(self._text_ids(run, place), self._run_label)
        self._after_control = False

    def _put(self, ids: tuple[int, ...], label: bool) -> None:
        self._ids.extend(ids)
        self._labels.extend([label] * len(ids))


def _turn(role: str, content: str) -> Message:
    return {"role": role, "content": content}
