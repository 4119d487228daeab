"""Which families make up which kind."""

from __future__ import annotations

from octavo.corpus.builtin import (
    conversation_askback,
    conversation_compare,
    conversation_correct,
    conversation_rewrite,
    conversation_summarise,
    reasoning_money,
    reasoning_time,
)
from octavo.corpus.builtin.draft import Family

REASONING: tuple[Family, ...] = reasoning_money.FAMILIES + reasoning_time.FAMILIES
CONVERSATION: tuple[Family, ...] = (
    conversation_summarise.FAMILIES
    + conversation_correct.FAMILIES
    + conversation_rewrite.FAMILIES
    + conversation_askback.FAMILIES
    + conversation_compare.FAMILIES
)

KINDS: dict[str, tuple[Family, ...]] = {"reasoning": REASONING, "conversation": CONVERSATION}
