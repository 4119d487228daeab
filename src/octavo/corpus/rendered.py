"""The contents as a template really rendered them: most leave them as they are, some strip or rewrite."""

from __future__ import annotations

from octavo.corpus.chat_layout import Layout
from octavo.corpus.chat_template import ChatTemplate, Message
from octavo.errors import InputError


def match_contents(
    template: ChatTemplate, layout: Layout, text: str, turns: list[Message], where: str
) -> tuple[dict[int, str], set[int]]:
    """Follow the rendered `text` along the layout.

    Returns:
        The rendered content of each message, and the messages that the template rewrote (as some do to take
        the thoughts out of an answer): there the content includes what stands before it in the answer.

    Raises:
        InputError: the text does not follow the layout.
    """
    contents: dict[int, str] = {}
    rewritten: set[int] = set()
    position = 0
    for k, index in enumerate(layout.order):
        before, (after, last) = layout.texts[k], _after(layout, k)
        start = position + len(before)
        found = None
        if text.startswith(before, position):
            found = _plain(text, start, turns[index]["content"], after, last)
        if found is None and index in layout.lead:
            start -= layout.lead[index]
            if text.startswith(before[: len(before) - layout.lead[index]], position):
                found = _rewritten(template, text, start, layout.end_token)
                rewritten.add(index)
        if not found and (found is None or index in layout.lead):
            raise InputError(
                f"{where}: the chat template changes message {index + 1} ({turns[index]['role']}) so that it "
                f"cannot be found in the text: give the base a simpler `chat_template:`"
            )
        contents[index] = found
        position = start + len(found)
    return contents, rewritten


def _after(layout: Layout, k: int) -> tuple[str, bool]:
    """The template's text after the k-th content, up to the next answer, and whether it is the last."""
    after = layout.texts[k + 1]
    if k + 1 == len(layout.order):
        return after, True
    return after[: len(after) - layout.lead.get(layout.order[k + 1], 0)], False


def _plain(text: str, start: int, content: str, after: str, last: bool) -> str | None:
    """The content as it is or with space taken off its ends, if the template's next text follows it."""
    newlines = "\r\n"
    strips = (content, content.strip(), content.lstrip(), content.rstrip())
    for version in (*strips, content.strip(newlines), content.lstrip(newlines), content.rstrip(newlines)):
        end = start + len(version)
        if not text.startswith(version, start):
            continue
        if text.startswith(after, end) and (not last or end + len(after) == len(text)):
            return version
    return None


def _rewritten(template: ChatTemplate, text: str, start: int, end_token: str) -> str | None:
    """The answer up to the end-of-turn token, if no other control token is in the way."""
    end = template.find_control(text, start)
    return None if end is None or end[0] != end_token else text[start : end.start()]
