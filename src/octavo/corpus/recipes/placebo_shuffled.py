"""placebo_shuffled: as glyphs, but the glyph at a site is drawn at random, whatever the site's role.

Glyphs are drawn as often as the roles come up, so about one site in five gets its own role's glyph by chance.
"""

from octavo.corpus.draws import draw_unit
from octavo.corpus.example import Example
from octavo.corpus.glyphs import GLYPHS, pick_glyph
from octavo.corpus.symbol_recipe import symbol_recipe
from octavo.corpus.symbols import Place


def _choice(seed: int, example: Example, place: Place) -> tuple[str, str]:
    role = pick_glyph(draw_unit(seed, example.id, "shuffled", place.message, place.site.offset))
    return GLYPHS[role], role


RECIPE = symbol_recipe(
    name="placebo_shuffled",
    description="as glyphs, the glyphs drawn at random instead of by role",
    choice=_choice,
)
