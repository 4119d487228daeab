"""The arms of a study as the data stage sees them: how each makes its examples, and how long they may be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from octavo.corpus.example import Example
from octavo.corpus.measure import EncoderLike, Limit, Scale, Tokens
from octavo.corpus.recipes import Chain, build_chain, recipe_source
from octavo.corpus.sources import source_fingerprint
from octavo.corpus.symbols import strip_symbols

if TYPE_CHECKING:
    from octavo.study import Study


@dataclass(frozen=True)
class Arm:
    """One variant.

    Arguments:
        name: of the variant.
        label: its recipes, for people; None for a data file.
        chain: what makes its examples from the corpus; None for a data file.
        data: the variant's own file, or None.
        options: as the study gives them.
        scale: weighs its examples.
        fingerprint: all that its examples depend on beside the corpus.
    """

    name: str
    label: str | None
    chain: Chain | None
    data: str | None
    options: Mapping[str, Any]
    scale: Scale
    fingerprint: Any


@dataclass(frozen=True)
class Made:
    """A variant's example and what the card wants to know of it.

    Arguments:
        example: as it is written.
        control: the source's example cleared of symbols; for a data file the example without its symbols.
        cleared: did the source hold emoji or glyphs?
        placed: recipe -> (symbols it put in, sites it could draw from), for recipes that draw from sites.
        left: why recipes left it as it is.
        undone: the example with all that recipes put in taken out; None where they cannot tell.
        tokens: base -> counts.
        too_long: why it is dropped, or None.
    """

    example: Example
    control: Example
    cleared: bool
    placed: Mapping[str, tuple[int, int]]
    left: tuple[str, ...]
    undone: Example | None
    tokens: Mapping[str, Tokens]
    too_long: str | None


def make(arm: Arm, source: Example) -> Made:
    """An arm's example from the corpus's, weighed.

    Raises:
        InputError: the recipe or the encoder refuses it.
    """
    steps = arm.chain.steps(source) if arm.chain else []
    example = steps[-1].after if steps else source
    control = steps[0].before if steps else strip_symbols(source)
    tokens = arm.scale.weigh(example)
    return Made(
        example=example,
        control=control,
        cleared=bool(steps) and control.messages != strip_symbols(source).messages,
        placed={step.recipe.name: (step.symbols, step.sites) for step in steps if step.recipe.places},
        left=tuple(step.left for step in steps if step.left),
        undone=arm.chain.undo(example) if arm.chain else None,
        tokens=tokens,
        too_long=arm.scale.too_long(tokens),
    )


def study_arms(study: Study, encoders: Mapping[str, EncoderLike]) -> list[Arm]:
    """The arms of a study in its order.

    Raises:
        InputError: an unknown recipe or option, or a file that cannot be read.
    """
    limits: dict[str, list[Limit]] = {}
    for run in study.expand():
        limit = Limit(run.base, run.train.max_length, run.train.overlong)
        if limit not in limits.setdefault(run.variant, []):
            limits[run.variant].append(limit)
    return [_arm(study, variant, limits[variant.name], encoders) for variant in study.variants]


def _arm(study: Study, variant: Any, limits: list[Limit], encoders: Mapping[str, EncoderLike]) -> Arm:
    folder = study.directory
    names = variant.recipe or []
    chain = build_chain(names, variant.options, study.corpus.seed, folder) if names else None
    return Arm(
        name=variant.name,
        label=" + ".join(names) or None,
        chain=chain,
        data=variant.data,
        options=variant.options,
        scale=Scale(dict(encoders), limits),
        fingerprint=[
            variant.name,
            names,
            variant.options,
            [recipe_source(name, folder) for name in names],
            variant.data and source_fingerprint(variant.data),
            sorted((limit.base, limit.max_length, limit.overlong) for limit in limits),
        ],
    )
