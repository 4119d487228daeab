"""Where symbols may stand: ends of clauses and sentences and connectives, outside code, JSON, numbers and tags."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from octavo.corpus.glyphs import GLYPHS
from octavo.corpus.protected import protected_spans
from octavo.corpus.text_sites import text_sites

BAR = "‖"


def marked(text):
    """The text with a bar at every site."""
    for site in reversed(text_sites(text)):
        text = text[: site.offset] + BAR + text[site.offset :]
    return text


@pytest.mark.parametrize(
    "expected",
    [
        "It rains.‖ We stay.‖",
        "It rains today,‖ so‖ we stay at home.‖",
        "However,‖ it stops because‖ the wind turns;‖ then‖ we go.‖",
        "We go (because‖ we can),‖ so‖ there.‖",
        'Is it?‖ "Yes."‖ (It is!)‖ Well...‖ Oh…‖',
        "One line and a stop‖\nAnother one‖\n",
        "Text.‖\r\nMore‖\r\nEnd‖",
        "A sentence that is\nwrapped in the middle.‖",
        "Bread, milk, 2, 3, and eggs.‖",
        "Dr. Ng met J. R. Smith at 5 p.m. in St. Ives,‖ e.g. for tea.‖",
        "1. First thing‖\n2) Second thing‖\n- third‖\na. fourth‖",
        "Here is how to do it:‖\n\n1. Go‖",
        "It is 3.14 or 1,000.5 at 14:05.‖",
        "So far, so many.‖",
        "",
        "   \n\n",
        "42",
        "#### 18",
        "A plain answer‖\n#### 18",
        "# A title, that is\nText.‖",
        "Use `if a, b: then. c` now.‖",
        "Use ``a ` if b. c`` now.‖",
        "```py\nif a, then b.\nfoo because c.\n```\nDone.‖",
        "~~~\nif a, then b.\n~~~\nDone.‖",
        "Unclosed.‖\n```\nif a, then b.\nfoo.",
        "    indented code, because so.\nText.‖",
        'Call {"a": "b. c, then d", "e": [1, 2]} now.‖',
        "List [1, 2, 3].‖",
        '<b>Bold.</b> and <a href="x. y">link.</a>',
        "5 + 4 = <<5+4=9>>9 eggs a day.‖",
        "See https://a.b/c,d.e then‖ go.‖",
        "Mail a.b@c.de now.‖",
        "| a. | b, c |\n|---|---|",
        "Take \\(a, b. c\\) and $$x. y$$ here.‖",
        "End of turn <|im_end|> is text.‖",
    ],
)
def test_sites_of_texts(expected):
    assert marked(expected.replace(BAR, "")) == expected


@pytest.mark.parametrize(
    ("text", "roles"),
    [
        ("We stay because it rains.", ["because", "certain"]),
        ("Therefore we stay.", ["hence", "certain"]),
        ("A first one. A second one. A third one.", ["anchor", "certain", "certain"]),
        ("Is it?", ["unknown"]),
        ("That is unclear.", ["unknown"]),
        ("It is probably so.", ["likely"]),
        ("That is false.", ["impossible"]),
        ("Go there, and then rest.", ["and", "certain"]),
        ("We go there today, and rest.", ["leads", "certain"]),
    ],
)
def test_roles_follow_the_words(text, roles):
    assert [site.role for site in text_sites(text)] == roles


def test_every_role_has_a_glyph():
    text = (
        "First we see. If it may be, but it is unlikely, then go on. It is probably best. Also, both agree; that is "
        "impossible. Rather than wait, go and then rest, or else stay. While some sleep, all others work. "
        "It is not so. We know because we saw. Therefore it is so."
    )
    assert {site.role for site in text_sites(text)} <= set(GLYPHS)


PIECES = (
    'so |because |It is. |a, b |`x.` |```\n|{|{"a": 1} |<b> |1,000. |\n|# T\n|e.g. |3.5 |?|!| |\t|[1, 2] |φ|→ |😀 '
    "|\u2028|é |$$|\\(a\\) |1\ufe0f\u20e3|👩\u200d👧|\ufe0f|\u200d"
)
TEXTS = st.one_of(
    st.text(max_size=80), st.lists(st.sampled_from(PIECES.split("|")), max_size=25).map("".join)
)


@settings(max_examples=300, deadline=None)
@given(TEXTS)
def test_sites_of_any_text_are_ordered_and_outside_what_is_protected(text):
    offsets = [site.offset for site in text_sites(text)]
    assert offsets == sorted(set(offsets))
    for offset in offsets:
        assert 0 < offset <= len(text)
        assert not any(start < offset < end for start, end in protected_spans(text))
        assert not text[offset - 1].isspace()
        assert offset == len(text) or text[offset].isspace()


@settings(max_examples=200, deadline=None)
@given(TEXTS)
def test_protected_spans_of_any_text_are_disjoint(text):
    spans = protected_spans(text)
    assert all(0 <= start < end <= len(text) for start, end in spans)
    assert all(end <= start for (_, end), (start, _) in pairwise(spans))
