"""glyphs: a glyph at a share of the sites, chosen by the role that the site has in the reasoning."""

from octavo.corpus.glyphs import GLYPHS
from octavo.corpus.symbol_recipe import symbol_recipe

RECIPE = symbol_recipe(
    name="glyphs",
    description="glyphs at a share of clause ends, sentence ends and connectives, by role",
    choice=lambda _seed, _example, place: (GLYPHS[place.site.role], place.site.role),
)
