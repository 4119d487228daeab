"""The procedural corpus: seeded examples whose every answer is computed by a program and checkable by one."""

from octavo.corpus.builtin.generate import generate, stream

__all__ = ["generate", "stream"]
