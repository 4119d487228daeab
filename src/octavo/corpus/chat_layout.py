"""Where the contents of a conversation stand in its rendered text, and which part of each answer is learned.

A conversation is rendered with a mark in place of every content. What is between the marks is the
template's own text. An answer is learned from the end of its header, where a generation prompt ends, to
the token that ends the turn.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from octavo.corpus.chat_template import CONTENT_MARK, MARKS, ChatTemplate, Message
from octavo.errors import InputError

_NO_PREFIX = (
    "the generation prompt of this chat template is not how a finished assistant turn begins: training and "
    "generation both use the header of the finished turn"
)


@dataclass(frozen=True)
class Atom:
    """A piece of a conversation: a control token, template text, or the place of a content.

    Arguments:
        text: the control token or the template's text ("" for a content).
        control: is it a control token?
        content: index of the message whose content stands here, or None.
        label: is it learned?
        opens: does an answer begin here, so that the text before may not merge with it?
        owner: for template text between an answer's beginning and its content: the index of the message.
    """

    text: str = ""
    control: bool = False
    content: int | None = None
    label: bool = False
    opens: bool = False
    owner: int | None = None


@dataclass(frozen=True)
class Layout:
    """The atoms of a conversation of a certain form, and its text cut at the contents.

    Arguments:
        atoms: in the order of the text.
        texts: template text before, between and after the contents (one more than `order`).
        order: index of the message of each content.
        lead: for an assistant message: how many characters before its content are part of the answer already.
        end_token: the control token that ends each answer.
        notes: what a person should know about the template.
    """

    atoms: tuple[Atom, ...]
    texts: tuple[str, ...]
    order: tuple[int, ...]
    lead: dict[int, int]
    end_token: str
    notes: tuple[str, ...]


@dataclass(frozen=True)
class _Span:
    """Characters [start, end) of the marked text are learned of message `owner`, its content is at `mark`."""

    owner: int
    start: int
    end: int
    mark: int | None


def end_of_turn(template: ChatTemplate, where: str) -> str:
    """The control token that ends an assistant turn, found by rendering a conversation of two.

    Raises:
        InputError: the template has none, or not the same one inside and at the end of a conversation.
    """
    roles = ("user", "assistant", "user", "assistant")
    marked = [{"role": role, "content": CONTENT_MARK.format(i)} for i, role in enumerate(roles)]
    text = template.render(marked, None, where)
    marks = _marks(text, marked, where)
    inner, last = template.find_control(text, marks[1][1]), template.find_control(text, marks[3][1])
    if inner and last and inner[0] == last[0] and inner.start() < marks[2][0]:
        return inner[0]
    raise InputError(
        f"{where}: this template has no end-of-turn token: the same control token must follow every "
        f"assistant turn, or the model cannot learn to stop. Give the base a `chat_template:` that closes "
        f"each turn with one."
    )


def lay_out(
    template: ChatTemplate, messages: list[Message], tools: list | None, end_token: str, where: str
) -> Layout:
    """The layout of conformed turns (see `ChatTemplate.conform`).

    Raises:
        InputError: the template refuses the turns, drops one, or an answer cannot be found in its text.
    """
    marked = [m | {"content": CONTENT_MARK.format(i)} if m["content"] else m for i, m in enumerate(messages)]
    text = template.render(marked, tools, where)
    marks = _marks(text, marked, where)
    finder = _Finder(template, marked, tools, text, end_token, where)
    spans = [finder.span(i, marks.get(i)) for i, m in enumerate(marked) if m["role"] == "assistant"]
    atoms = _atoms(template, text, spans)
    found = [m for m in MARKS.finditer(text) if m[1] == CONTENT_MARK[0]]
    ends, starts = [0, *(m.end() for m in found)], [*(m.start() for m in found), len(text)]
    return Layout(
        atoms=tuple(atoms),
        texts=tuple(text[a:b] for a, b in zip(ends, starts, strict=True)),
        order=tuple(int(m[2]) for m in found),
        lead={s.owner: s.mark - s.start for s in spans if s.mark is not None},
        end_token=end_token,
        notes=tuple(finder.notes),
    )


def _marks(text: str, marked: list[Message], where: str) -> dict[int, tuple[int, int]]:
    """Start and end of each content in the marked text: an answer once, the others at least once."""
    found: dict[int, tuple[int, int]] = {}
    for match in MARKS.finditer(text):
        if match[1] != CONTENT_MARK[0]:
            continue
        index = int(match[2])
        if index in found and marked[index]["role"] == "assistant":
            raise InputError(f"{where}: the chat template shows the assistant's message {index + 1} twice")
        found[index] = match.span()
    for i, message in enumerate(marked):
        if i not in found and message["content"]:
            raise InputError(
                f"{where}: the chat template leaves out message {i + 1} ({message['role']}): take such turns "
                f"out, or give the base another `chat_template:`"
            )
    return found


@dataclass
class _Finder:
    """Finds the answers in the marked text of one conversation."""

    template: ChatTemplate
    marked: list[Message]
    tools: list | None
    text: str
    end_token: str
    where: str

    def __post_init__(self) -> None:
        self.notes: list[str] = []

    def span(self, index: int, mark: tuple[int, int] | None) -> _Span:
        start = self._start(index, None if mark is None else mark[0])
        if self.marked[index].get("tool_calls"):
            end = self._end_of_calls(index, start if mark is None else mark[1])
        else:
            end = self._end(index, start if mark is None else mark[1])
        return _Span(index, start, end, None if mark is None else mark[0])

    def _start(self, index: int, mark: int | None) -> int:
        """Where the header ends: as the generation prompt ends, if the finished text begins with it."""
        head = self.marked[:index]
        prompt = self.template.try_render(head, self.tools, generation=True) if head else None
        if prompt is not None and self.text.startswith(prompt) and (mark is None or len(prompt) <= mark):
            has_prompt = prompt != self.template.try_render(head, self.tools)
            # a template without a generation prompt may still put a space before the answer (Llama 2's)
            if has_prompt or (mark is not None and not self.text[len(prompt) : mark].strip()):
                return len(prompt)
        if mark is None:
            return self._start_of_bare_calls(index)
        if prompt is not None:
            self.notes.append(_NO_PREFIX)
        return mark

    def _start_of_bare_calls(self, index: int) -> int:
        """Calls without content have no mark: take the header of a turn that has content."""
        plain = {"role": "assistant", "content": CONTENT_MARK.format(index)}
        text = self.template.try_render([*self.marked[:index], plain], self.tools)
        header = (text or "").partition(plain["content"])[0]
        if not header or not self.text.startswith(header):
            raise InputError(f"{self.where}: cannot find the tool calls of message {index + 1} in its text")
        return len(header)

    def _end(self, index: int, start: int) -> int:
        found = self.template.find_control(self.text, start)
        if found is None or found[0] != self.end_token:
            raise InputError(
                f"{self.where}: the assistant's message {index + 1} does not end in {self.end_token} with "
                f"this chat template, so the model could not learn to stop there"
            )
        return found.end()

    def _end_of_calls(self, index: int, start: int) -> int:
        """Calls may contain control tokens: the usual end token, else the last control token of the turn."""
        turn = self.template.try_render(self.marked[: index + 1], self.tools) or ""
        stop = len(turn) if self.text.startswith(turn) and len(turn) > start else len(self.text)
        controls = self.template.controls_in(self.text[start:stop])
        usual = [c for c in controls if c[0] == self.end_token]
        if not controls or (not usual and stop == len(self.text) and index + 1 < len(self.marked)):
            raise InputError(
                f"{self.where}: cannot find the end of the tool calls of message {index + 1} in its text"
            )
        return start + (usual[0] if usual else controls[-1]).end()


def _atoms(template: ChatTemplate, text: str, spans: list[_Span]) -> list[Atom]:
    """Cut the marked text at marks, control tokens and the beginnings of answers."""
    cuts = [(m.start(), m.end(), m[1], m[2]) for m in MARKS.finditer(text)]
    cuts += [(*template.reach(m), "control", m[0]) for m in template.controls_in(text)]
    atoms: list[Atom] = []
    position = 0
    for start, end, kind, value in [*sorted(cuts), (len(text), len(text), "end", "")]:
        for a, b in _pieces(position, start, spans):
            atoms.append(_atom(text[a:b], a, spans))
        if kind == "control":
            atoms.append(_atom(value, start, spans, control=True))
        elif kind == CONTENT_MARK[0]:
            atoms.append(_atom("", start, spans, content=int(value)))
        elif kind != "end":
            atoms.append(_atom(template.unmark(int(value)), start, spans))
        position = end
    return atoms


def _pieces(start: int, end: int, spans: list[_Span]) -> list[tuple[int, int]]:
    """The text from `start` to `end`, cut where an answer begins; empty pieces are left out."""
    edges = [start, *(s.start for s in spans if start < s.start < end), end]
    return [(a, b) for a, b in pairwise(edges) if a < b]


def _atom(
    text: str, position: int, spans: list[_Span], control: bool = False, content: int | None = None
) -> Atom:
    span = next((s for s in spans if s.start <= position < s.end), None)
    if span is None:
        return Atom(text, control, content)
    leads = content is None and span.mark is not None and position < span.mark
    opens = position == span.start
    return Atom(text, control, content, label=True, opens=opens, owner=span.owner if leads else None)
