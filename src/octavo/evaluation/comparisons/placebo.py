"""The effect of glyphs that counts is the one over the placebo: the same sites, symbols that mean nothing."""

from __future__ import annotations

from collections.abc import Iterator

from octavo.settings import Comparison, Variant
from octavo.study import Study

GLYPHS = "glyphs"
PLACEBOS = ("placebo_neutral", "placebo_shuffled")


def is_placebo(variant: Variant) -> bool:
    """Whether a variant's symbols are a placebo's."""
    return any(name in PLACEBOS for name in variant.recipe or [])


def placebos_of(study: Study, variant: Variant) -> list[str]:
    """The variants that are this one with a placebo's symbols in place of its glyphs, at the same density."""
    return [
        other.name
        for other in study.variants
        if is_placebo(other) and _without_symbols(other) == _without_symbols(variant)
    ]


def note_on_glyphs(study: Study, variant: str, control: str) -> str | None:
    """What to say of a comparison that shows glyphs against something else than their placebo."""
    by_name = {one.name: one for one in study.variants}
    mine, other = by_name[variant], by_name[control]
    if GLYPHS not in (mine.recipe or []) or GLYPHS in (other.recipe or []) or is_placebo(other):
        return None
    placebos = placebos_of(study, mine)
    if placebos:
        return f"What counts for glyphs is the effect over the placebo: see {variant} against {' and '.join(placebos)}."
    return (
        f"This study has no placebo of {variant}: an effect of glyphs cannot be told from that of any symbols "
        "in the same places."
    )


def over_placebos(study: Study, declared: list[Comparison]) -> Iterator[Comparison]:
    """Glyphs against each of their placebos, for every metric that a difference of theirs is declared on."""
    metrics = dict.fromkeys(one.metric for one in declared if one.kind == "difference")
    for variant in study.variants:
        if GLYPHS in (variant.recipe or []):
            for placebo in placebos_of(study, variant):
                for metric in metrics:
                    yield Comparison(variants=[variant.name], control=placebo, metric=metric)


def _without_symbols(variant: Variant) -> tuple[object, ...]:
    recipe = [GLYPHS if name in PLACEBOS else name for name in variant.recipe or []]
    return recipe, variant.options, variant.base, variant.train
