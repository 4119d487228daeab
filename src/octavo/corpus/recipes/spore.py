"""spore: an emoji at the ends of sentences, never spoken of."""

from octavo.corpus.draws import draw_int
from octavo.corpus.example import Example
from octavo.corpus.glyphs import EMOJI, EMOJI_ROLE
from octavo.corpus.symbol_recipe import symbol_recipe
from octavo.corpus.symbols import Place


def _choice(seed: int, example: Example, place: Place) -> tuple[str, str]:
    drawn = draw_int(seed, example.id, "emoji", place.message, place.site.offset)
    return EMOJI[drawn % len(EMOJI)], EMOJI_ROLE


RECIPE = symbol_recipe(
    name="spore",
    description="an emoji at sentence ends, never spoken of",
    choice=_choice,
    stream="spore",
    sentences_only=True,
)
