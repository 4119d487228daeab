"""The recipes that there are: one file each in this folder, files of the user, and entry points.

A new recipe is a new file here that defines `RECIPE`; its name is the file's name.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import inspect
import pkgutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from octavo.corpus.draws import draw_stream
from octavo.corpus.example import Example, check_sites
from octavo.corpus.messages import canonical_messages
from octavo.corpus.preview import describe_recipes, show
from octavo.corpus.recipe import Option, Recipe
from octavo.corpus.symbols import clear_symbols, strip_symbols
from octavo.errors import InputError

__all__ = [
    "Chain",
    "Step",
    "build_chain",
    "builtin_names",
    "describe_recipes",
    "get_recipe",
    "recipe_names",
    "show",
]

GROUP = "octavo.recipes"


def builtin_names() -> list[str]:
    """Names of the recipes that come with Octavo."""
    return sorted(module.name for module in pkgutil.iter_modules(__path__) if not module.name.startswith("_"))


def recipe_names() -> list[str]:
    """Names of all recipes that can be written in a study without a file."""
    return [*builtin_names(), *sorted(point.name for point in entry_points(group=GROUP))]


def get_recipe(name: str, folder: Path | None = None) -> Recipe:
    """A recipe by its name (hyphens or underscores), or from a Python file.

    Arguments:
        name: a built-in recipe, the name of an entry point, or a path that ends in `.py`.
        folder: the study's folder, which a relative path starts from.

    Raises:
        InputError: no such recipe, or one that is not well-formed.
    """
    if name.endswith(".py"):
        return _from_file((folder or Path()) / name)
    plain = name.replace("-", "_")
    if plain in builtin_names():
        return importlib.import_module(f"{__name__}.{plain}").RECIPE
    for point in entry_points(group=GROUP):
        if point.name.replace("-", "_") == plain:
            return _from_object(point.load(), point.name, f"entry point {point.name} ({point.value})")
    near = get_close_matches(plain, recipe_names(), n=1)
    hint = f"; did you mean {near[0]}?" if near else "."
    raise InputError(
        f"no recipe {name!r}{hint} There are {', '.join(recipe_names())}, or a file: my_recipe.py"
    )


@dataclass(frozen=True)
class Step:
    """One recipe of a chain at work: its settings, the example it got and the one it made."""

    recipe: Recipe
    settings: Mapping[str, Any]
    before: Example
    after: Example

    @property
    def left(self) -> str | None:
        """Why the recipe left the example as it was, or None."""
        reason = self.recipe.leaves(self.before, dict(self.settings))
        return reason and f"{self.recipe.name}: {reason}"

    @property
    def sites(self) -> int:
        """Sites that the recipe could draw from."""
        return len(self.recipe.places(self.before, dict(self.settings))) if self.recipe.places else 0

    @property
    def symbols(self) -> int:
        """Symbols that it put in."""
        return len(self.after.sites) - len(self.before.sites)


@dataclass(frozen=True)
class Chain:
    """Recipes applied one after the other, each with the options that it knows."""

    recipes: tuple[Recipe, ...]
    options: Mapping[str, Any]
    seed: int

    def apply(self, example: Example) -> Example:
        """The variant's example, made from the source's; raises as `steps`."""
        return self.steps(example)[-1].after

    def steps(self, example: Example) -> list[Step]:
        """What each recipe of the chain did, from the source's example cleared of symbols on.

        Raises:
            InputError: a recipe failed or made no proper example; names recipe and example.
        """
        made: list[Step] = []
        before = clear_symbols(example)
        for recipe in self.recipes:
            settings = recipe.settings(self.options)
            try:
                after = recipe.function(before, self.seed, settings)
            except InputError:
                raise
            except Exception as error:
                what = f"{type(error).__name__}: {error}"
                raise InputError(f"recipe {recipe.name} failed on example {example.id}: {what}") from error
            made.append(Step(recipe, settings, before, after))
            before = after
        return made

    def undo(self, example: Example) -> Example | None:
        """What the variant's example was made from, or None if a recipe of the chain cannot say."""
        bare = strip_symbols(example)
        for recipe in reversed(self.recipes):
            if recipe.undo is None:
                return None
            bare = recipe.undo(bare, recipe.settings(self.options))
        return bare


def build_chain(
    names: str | Sequence[str], options: Mapping[str, Any] | None, seed: int, folder: Path | None = None
) -> Chain:
    """The chain that a variant names.

    Raises:
        InputError: an unknown recipe, an option that none of them knows, or a value that is not taken.
    """
    names = [names] if isinstance(names, str) else list(names)
    if not names:
        raise InputError(f"a variant needs a recipe; there are {', '.join(recipe_names())}")
    recipes = tuple(get_recipe(name, folder) for name in names)
    known = sorted({option for recipe in recipes for option in recipe.options})
    for option in options or {}:
        if option not in known:
            near = get_close_matches(option, known, n=1)
            hint = f"; did you mean {near[0]}?" if near else ""
            have = f"options are {', '.join(known)}" if known else "there are no options"
            raise InputError(f"recipe {' + '.join(names)} has no option {option!r}{hint} ({have})")
    for recipe in recipes:
        recipe.settings(options or {})
    return Chain(recipes, dict(options or {}), seed)


def recipe_source(name: str, folder: Path | None = None) -> str:
    """What made data depends on beside a recipe's name: the hash of a user's file or function, else nothing."""
    plain = name.replace("-", "_")
    if name.endswith(".py"):
        try:
            code = ((folder or Path()) / name).read_bytes()
        except OSError as error:
            raise InputError(f"recipe {name} cannot be read: {error.strerror}") from None
    elif plain in builtin_names():
        return ""
    else:
        points = [point for point in entry_points(group=GROUP) if point.name.replace("-", "_") == plain]
        code = "".join(_code(point.load()) for point in points).encode()
    return hashlib.sha256(code).hexdigest()


def _code(made: Any) -> str:
    try:
        return inspect.getsource(made.function if isinstance(made, Recipe) else made)
    except (OSError, TypeError):
        return f"{type(made).__module__}.{type(made).__qualname__}"


def _from_file(path: Path) -> Recipe:
    spec = importlib.util.spec_from_file_location(f"octavo_recipe_{path.stem}", path)
    if not path.is_file() or spec is None or spec.loader is None:
        raise InputError(f"recipe file {path} is not there; paths start from the study's folder")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise InputError(f"recipe file {path} failed to load: {type(error).__name__}: {error}") from error
    made = getattr(module, "RECIPE", None) or getattr(module, "recipe", None)
    if made is None:
        raise InputError(f"recipe file {path} defines no function `recipe(example, rng, ...)`")
    return _from_object(made, path.stem, str(path), module.__doc__)


def _from_object(made: Any, name: str, where: str, doc: str | None = None) -> Recipe:
    """A recipe from what a file or entry point offers: a Recipe as it is, or a function."""
    if isinstance(made, Recipe):
        return made
    if not callable(made):
        raise InputError(f"{where}: `recipe` must be a function (example, rng, options...) -> example")
    description = (inspect.getdoc(made) or doc or where).strip().split("\n")[0]
    return Recipe(name, description, _checked(made, name), _options_of(made, where), undo=None)


def _options_of(function: Callable[..., Any], where: str) -> dict[str, Option]:
    parameters = list(inspect.signature(function).parameters.values())
    if len(parameters) < 2 or any(p.default is p.empty for p in parameters[2:]):
        raise InputError(f"{where}: write `def recipe(example, rng, option=default, ...)`")
    return {p.name: Option(p.default, "see the recipe's own text") for p in parameters[2:]}


def _checked(function: Callable[..., Any], name: str) -> Callable[[Example, int, dict[str, Any]], Example]:
    """The user's function with its random stream, its result held to the shape of an example."""

    def apply(example: Example, seed: int, settings: dict[str, Any]) -> Example:
        made = function(example, draw_stream(seed, example.id, name), **settings)
        where = f"recipe {name}, example {example.id}"
        if not isinstance(made, Example) or made.id != example.id:
            raise InputError(f"{where}: must return an Example with the same id, not {made!r:.80}")
        canonical_messages(made.messages, where)
        check_sites(made.sites, made.messages, where)
        return made

    return apply
