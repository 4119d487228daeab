"""What a study file names outside itself, looked for before anything is loaded: recipes and data files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from octavo.corpus.recipes import get_recipe
from octavo.errors import InputError
from octavo.explain import complain
from octavo.yaml_text import Document

if TYPE_CHECKING:
    from octavo.study import Study

_NO_FILES = ("builtin",)
_HUB = "hf:"


def refuse_missing(study: Study, document: Document) -> None:
    """Raise InputError with line and key for recipes that do not exist and data files that are not there."""
    if lines := [*_recipes(study, document), *_files(study, document)]:
        raise InputError("\n".join(lines))


def _recipes(study: Study, document: Document) -> Iterator[str]:
    for index, variant in enumerate(study.variants):
        for name in variant.recipe or ():
            if name.endswith(".py"):
                continue
            try:
                get_recipe(name)
            except InputError as error:
                yield f"{document.origin(('variants', index, 'recipe'))}: variants[{index}].recipe: {error}"


def _files(study: Study, document: Document) -> Iterator[str]:
    named: list[tuple[tuple[Any, ...], str]] = []
    given = document.value.get("corpus") if isinstance(document.value, dict) else None
    single = isinstance((given or {}).get("source"), str) if isinstance(given, dict) else False
    for index, one in enumerate(study.corpus.source):
        place = ("corpus", "source") if single else ("corpus", "source", index, "source")
        if one.source not in _NO_FILES and not one.source.startswith(_HUB):
            named.append((place, one.source))
    named += [(("variants", i, "data"), one.data) for i, one in enumerate(study.variants) if one.data]
    for place, text in named:
        if not (study.directory / Path(text).expanduser()).exists():
            yield complain(
                document, place, "is not there; check the path, it starts from the study file", text
            )
