"""The suites that a study asks for, checked before anything is trained."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from octavo.corpus.example import load_examples
from octavo.errors import InputError
from octavo.evaluation.suite import Item, Request, Suite, Write
from octavo.evaluation.suites import HELDOUT, suites_named
from octavo.fields import read_name

if TYPE_CHECKING:
    from octavo.artifacts import Folder
    from octavo.settings import SuiteChoice
    from octavo.study import Study


@dataclass(frozen=True)
class Chosen:
    """A suite as it was asked for; `name` is that of its lines and their file."""

    name: str
    suite: Suite
    request: Request

    def items(self) -> list[Item]:
        """Its items.

        Raises:
            InputError: there are none.
        """
        found = self.suite.load(self.request)
        if not found:
            raise InputError(f"suite {self.name}: there are no items; {self.suite.says}")
        return found


def choose(choices: Sequence[SuiteChoice]) -> list[Chosen]:
    """The suites of a list of choices, but the held-out loss.

    Raises:
        InputError: an unknown suite or option, a file that is missing or not taken, one suite twice.
    """
    found: list[Chosen] = []
    for choice in choices:
        if choice.name == HELDOUT:
            _refuse(choice, "file", choice.file is not None)
            _refuse(choice, "options", bool(choice.options))
            continue
        for suite in suites_named(choice.name):
            found.append(_chosen(choice, suite))
    names = [one.name for one in found]
    for name in names:
        if names.count(name) > 1 or name in (HELDOUT, "generations"):
            raise InputError(f"evaluate.suites: two suites would write the lines of '{name}'; rename a file")
    return found


def _chosen(choice: SuiteChoice, suite: Suite) -> Chosen:
    for option in choice.options:
        if option not in suite.settings:
            known = ", ".join(suite.settings) or "none"
            raise InputError(
                f"evaluate.suites: '{option}' is no option of {choice.name}; its options: {known}"
            )
    _refuse(choice, "file", choice.file is not None and not suite.file)
    if suite.needs_file and choice.file is None:
        raise InputError(
            f"evaluate.suites: {choice.name} needs a file: {{name: {choice.name}, file: {suite.file}}}"
        )
    file = None if choice.file is None else Path(choice.file)
    if file is not None and not file.exists():
        raise InputError(f"evaluate.suites: {file} is not there; {choice.name} reads a {suite.file}")
    configured = suite.configure(choice.options) if suite.configure else suite
    name = read_suite_name(file) if suite.named_by_file and file is not None else suite.name
    return Chosen(name, configured, Request(file, choice.limit, choice.options))


def read_suite_name(file: Path) -> str:
    """The name of a suite that is called after its file."""
    try:
        return read_name(file.stem)
    except ValueError as error:
        raise InputError(
            f"evaluate.suites: the suite of {file} would be called '{file.stem}', which {error}"
        ) from None


def _refuse(choice: SuiteChoice, key: str, given: bool) -> None:
    if given:
        raise InputError(f"evaluate.suites: {choice.name} takes no `{key}`; take it out")


def heldout_limit(choices: Sequence[SuiteChoice]) -> int | None:
    """The limit of the held-out suite; None: all items, also where only other suites are named."""
    return next((choice.limit for choice in choices if choice.name == HELDOUT), None)


def check_suites(study: Study) -> None:
    """Refuse what cannot be measured before anything is trained: names, options, files and the items in them."""
    mute = next((base for base in study.bases if base.objective != "causal"), None)
    for one in choose(study.evaluate.suites):
        items = one.items() if one.suite.needs_file else []
        if mute is not None and any(isinstance(item.question, Write) for item in items):
            raise InputError(
                f"evaluate.suites: {one.name} asks for written answers, which a base of objective: {mute.objective} "
                f"({mute.name}) does not give yet; take the suite out"
            )


def with_data(one: Chosen, study: Study, folder: Folder, control: str | None, encoder: Any) -> Chosen:
    """The suite with a study's data to make its items of."""
    heldout: Mapping[str, Any] = {
        variant.name: load_examples(folder.data(variant.name) / "heldout.jsonl") for variant in study.variants
    }

    def train(variant: str) -> Sequence[Any]:
        return load_examples(folder.data(variant) / "train.jsonl")

    request = replace(one.request, heldout=heldout, train=train, control=control, encoder=encoder)
    return replace(one, request=request)
