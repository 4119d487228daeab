"""Which families make up which kind."""

from __future__ import annotations

from octavo.corpus.builtin import (
    conversation_askback,
    conversation_compare,
    conversation_correct,
    conversation_explain,
    conversation_plan,
    conversation_rewrite,
    conversation_summarise,
    conversation_texts,
    logic,
    reasoning_amounts,
    reasoning_logic,
    reasoning_measures,
    reasoning_money,
    reasoning_numbers,
    reasoning_order,
    reasoning_rates,
    reasoning_sets,
    reasoning_time,
    reasoning_words,
    tools,
)
from octavo.corpus.builtin.draft import Family

REASONING: tuple[Family, ...] = (
    reasoning_money.FAMILIES
    + reasoning_amounts.FAMILIES
    + reasoning_rates.FAMILIES
    + reasoning_measures.FAMILIES
    + reasoning_time.FAMILIES
    + reasoning_order.FAMILIES
    + reasoning_sets.FAMILIES
    + reasoning_words.FAMILIES
    + reasoning_numbers.FAMILIES
    + reasoning_logic.FAMILIES
    + logic.WORD_FAMILIES
)
CONVERSATION: tuple[Family, ...] = (
    conversation_summarise.FAMILIES
    + conversation_explain.FAMILIES
    + conversation_correct.FAMILIES
    + conversation_rewrite.FAMILIES
    + conversation_askback.FAMILIES
    + conversation_compare.FAMILIES
    + conversation_plan.FAMILIES
    + conversation_texts.FAMILIES
)

KINDS: dict[str, tuple[Family, ...]] = {
    "reasoning": REASONING,
    "conversation": CONVERSATION,
    "tool_use": tools.FAMILIES,
    "logic": logic.WORD_FAMILIES + logic.GLYPH_FAMILIES,
    "logic_words": logic.WORD_FAMILIES,
    "logic_glyphs": logic.GLYPH_FAMILIES,
}
