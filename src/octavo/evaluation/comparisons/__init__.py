"""Comparisons of a study's variants: evaluation lines in, labelled claims out."""

from octavo.evaluation.comparisons.compare import compare

__all__ = ["compare"]
