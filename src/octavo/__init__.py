"""Octavo: many fine-tuned variants of a small language model, trained side by side and compared honestly."""

__version__ = "0.1.0"
