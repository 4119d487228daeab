"""The corpus: sources, recipes, quality cards and the encoding of conversations."""
