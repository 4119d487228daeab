"""control: the corpus as it is, free of emoji and glyphs (every other recipe starts from the same text)."""

from octavo.corpus.recipe import Recipe
from octavo.corpus.symbols import clear_symbols

RECIPE = Recipe(
    name="control",
    description="the corpus, free of emoji and glyphs",
    function=lambda example, _seed, _settings: example if example.sites else clear_symbols(example),
)
