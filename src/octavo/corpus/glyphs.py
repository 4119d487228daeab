"""The symbols: glyphs by role, the emoji of `spore`, the placebo's neutral symbols, and how to find them."""

from __future__ import annotations

import regex

# Role -> glyph. The ladder certain .. impossible grades how sure a statement is.
GLYPHS = {
    "anchor": "⊥⊥⊥",
    "expansion": "∞",
    "balance": "φ",
    "certain": "●",
    "likely": "◕",
    "partial": "◐",
    "unknown": "◑",
    "unlikely": "◔",
    "impossible": "○",
    "leads": "→",
    "mutual": "↔",
    "hence": "∴",
    "because": "∵",
    "and": "∧",
    "or": "∨",
    "not": "¬",
}

# Role -> a symbol of no particular meaning that is as many tokens long as the glyph (SmolLM tokenizer, with
# the space before it); a test holds them to that.
NEUTRAL = {
    "anchor": "⌑⌑⌑",
    "expansion": "▤",
    "balance": "▥",
    "certain": "▦",
    "likely": "▧",
    "partial": "▨",
    "unknown": "▩",
    "unlikely": "◈",
    "impossible": "·",
    "leads": "§",
    "mutual": "▢",
    "hence": "▭",
    "because": "▯",
    "and": "◇",
    "or": "□",
    "not": "▱",
}

EMOJI = ("🌱", "✨", "🌊", "💜", "🧠", "🌿", "💡", "🌟", "🌀", "🍃", "🔥", "🌈")
EMOJI_ROLE = "spore"

# One emoji: a picture by default, or by its selector (U+FE0F) or key cap (U+20E3); skin tones, flags and what
# is joined by U+200D belong to it. Pictographs that are text unless told otherwise (© ™ ↔ ▪) are none.
_PICTURE = r"(?:\p{Emoji_Presentation}|(?=[\u2600-\u27BF\U0001F000-\U0001FAFF])\p{Extended_Pictographic})"
_ONE = (
    rf"(?:\p{{Emoji}}\uFE0F\u20E3?|{_PICTURE}\uFE0F?|[0-9#*]\u20E3)"
    r"[\U0001F3FB-\U0001F3FF\U000E0020-\U000E007F]*"
)
# A glyph is an operator or a mark wherever it stands, but φ next to a letter or digit is part of a word.
_GLYPH = r"[⊥∞●◕◐◑◔○→↔∴∵∧∨¬]|(?<![\p{L}\p{M}\p{N}])φ(?![\p{L}\p{M}\p{N}])"

SYMBOL = regex.compile(rf"{_ONE}(?:\u200D{_ONE})*|{_GLYPH}")

# How often each role comes up at the sites of the procedural corpus, in parts of a hundred: drawing the
# shuffled placebo with these weights keeps it about as many tokens long as the glyphs that it stands in for.
ROLE_WEIGHTS = {
    "certain": 36,
    "leads": 23,
    "anchor": 15,
    "hence": 8,
    "unknown": 5,
    "not": 3,
    "partial": 2,
    "impossible": 2,
    "mutual": 1.5,
    "expansion": 1.5,
    "because": 1.5,
    "balance": 0.5,
    "and": 0.25,
    "or": 0.25,
    "likely": 0.25,
    "unlikely": 0.25,
}


def pick_glyph(unit: float) -> str:
    """The role that a number in [0, 1) stands for, roles weighted by `ROLE_WEIGHTS`."""
    reached = unit * sum(ROLE_WEIGHTS.values())
    for role, weight in ROLE_WEIGHTS.items():
        reached -= weight
        if reached < 0:
            return role
    return next(iter(ROLE_WEIGHTS))
