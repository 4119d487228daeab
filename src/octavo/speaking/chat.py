"""A conversation with one run or several: every speaker keeps its own, since their answers differ."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from rich.console import Console

from octavo.errors import InputError
from octavo.lanes.generate import Choice
from octavo.speaking.screen import screen_for
from octavo.speaking.speakers import Answer, Speakers, Turn

HELP = "/new begins a new conversation, /quit (or Ctrl-D) ends, Ctrl-C stops an answer"


class Chat:
    """Conversations of all speakers with one person.

    Arguments:
        speakers: who answers. most: tokens of an answer. choose: how tokens are chosen. system: the first turn.
        console: where answers go. say: told what is no answer.
    """

    def __init__(
        self,
        speakers: Speakers,
        most: int,
        choose: Choice | None,
        system: str | None,
        console: Console,
        say: Callable[[str], None],
    ) -> None:
        self.speakers, self.most, self.choose, self.console, self.say = speakers, most, choose, console, say
        self._first: list[Turn] = [] if system is None else [{"role": "system", "content": system}]
        self.turns: dict[str, list[Turn]] = {}
        self.new()

    def new(self) -> None:
        """Forget what was said."""
        self.turns = {name: list(self._first) for name in self.speakers.names}

    def talk(self, lines: Iterable[str]) -> None:
        """Answer each line until they end."""
        for line in lines:
            text = line.strip()
            if text in ("/quit", "/exit"):
                return
            if text == "/new":
                self.new()
                self.say("a new conversation")
            elif text.startswith("/"):
                self.say(HELP)
            elif text:
                self.ask(text)

    def ask(self, text: str) -> dict[str, Answer]:
        """One turn of the person, and everybody's answer to it; a turn that fails is as if it had not been said."""
        asked = {name: [*turns, {"role": "user", "content": text}] for name, turns in self.turns.items()}
        try:
            with screen_for(self.speakers.names, self.console) as heard:
                answers = self.speakers.answer(asked, self.most, self.choose, heard)
        except KeyboardInterrupt:
            self.say("stopped; this turn is forgotten")
            return {}
        except InputError as error:
            self.say(str(error))
            return {}
        for name, answer in answers.items():
            if not answer.finite:
                self.say(f"{name}: its logits are not finite; the answer is cut there")
            if answer.text:
                self.turns[name] = [*asked[name], {"role": "assistant", "content": answer.text}]
            else:
                self.say(f"{name}: says nothing; for it this turn is forgotten")
        return answers
