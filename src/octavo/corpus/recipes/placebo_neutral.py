"""placebo_neutral: as glyphs, with symbols that mean nothing in particular and are as many tokens long."""

from octavo.corpus.glyphs import NEUTRAL
from octavo.corpus.symbol_recipe import symbol_recipe

RECIPE = symbol_recipe(
    name="placebo_neutral",
    description="as glyphs, with neutral symbols of the same token length",
    choice=lambda _seed, _example, place: (NEUTRAL[place.site.role], place.site.role),
)
