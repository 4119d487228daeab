"""The independent checker of the procedural corpus: it parses the wording and recomputes every answer."""

from octavo.corpus.checker.check import check
from octavo.corpus.checker.verdict import Verdict

__all__ = ["Verdict", "check"]
