"""Evaluation: suites of items, answered by all runs and the base in one pass over the lanes."""
