"""Reasoning about words and letters: counting, reversing, sorting, shifting."""

from __future__ import annotations

from octavo.corpus.builtin.dice import Dice
from octavo.corpus.builtin.draft import Draft, Family, listed, worked
from octavo.corpus.builtin.words_people import person
from octavo.corpus.builtin.words_things import WORDS
from octavo.corpus.builtin.words_time import counted

_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth")
_WHO = (
    "{on a {poster|sign|label|card|shop window}, [p] reads the words|[p] writes down the words|the secret "
    "words are|a {note|crossword} has the words}"
)


def _times(dice: Dice, word: str, count: int) -> str:
    """How often a letter ("it") stands in one word."""
    if count == 0:
        return dice.raw('"[w]" does not {have|contain} it', w=word)
    often = ("once", "twice", "three times", "four times", "five times")[count - 1]
    return dice.raw('"[w]" {has|contains} it [c]', w=word, c=often)


def letter_count(dice: Dice) -> Draft:
    """How often a letter stands in two or three words."""
    who = person(dice)
    words = dice.some(WORDS, dice.whole(2, 3))
    letter = dice.pick(sorted(set("".join(words))))
    counts = [w.count(letter) for w in words]
    total = sum(counts)
    slots = {"p": who.name, "ws": listed([f'"{w}"' for w in words]), "l": letter, "n": total}
    question = dice.raw(
        _WHO
        + """[ws]. {how often does the letter "[l]" {occur|appear} in them|how many times is the letter "[l]"
        used in {them|these words}|count the letter "[l]": how many are there}?""",
        **slots,
    )
    steps = [_times(dice, word, count) for word, count in zip(words, counts, strict=True)]
    steps.append(
        dice.raw(
            "{added up, that is|together that is|the sum is} [e] = [n]",
            e=" + ".join(map(str, counts)),
            n=total,
        )
    )
    final = dice.raw('the letter "[l]" {occurs|appears|is used} [n] times', l=letter, n=total)
    if total == 1:
        final = dice.raw('{there is|they have} just 1 "[l]"{| in all}', l=letter)
    return worked(dice, question, steps, final, str(total))


def spelled_back(dice: Dice) -> Draft:
    """A word spelled backwards."""
    who = person(dice)
    word = dice.pick(WORDS)
    drop = dice.pick((None, 1, len(word), 2))
    kept = word if drop is None else word[: drop - 1] + word[drop:]
    name = "last" if drop == len(word) else _ORDINALS[(drop or 1) - 1]
    slots = {"p": who.name, "w": word, "n": name, "x": kept[::-1], "k": kept, "s": "-".join(kept)}
    task = (
        '{write|spell} the word "[w]" {backwards|from back to front}'
        if drop is None
        else '{take away|leave out|drop} the [n] letter of "[w]" and {write|spell} the rest backwards'
    )
    question = dice.raw(
        "{[p] {has|gets} {a riddle|this task|this puzzle}: [task]. what {does [p] get|comes out|is the "
        "result}?|[task]. what {comes out|is the result|do you get}?|for a secret message, [p] has to "
        "[task]. what {is|will be} the result?}",
        task=dice.raw(task, **slots),
        **slots,
    )
    steps = [] if drop is None else [dice.raw('without the [n] letter, "[w]" {becomes|is} "[k]"', **slots)]
    steps.append(dice.raw("{letter by letter it is|the letters are} [s]", **slots))
    steps.append(dice.raw('{read from the end|from back to front}, {they|these} {give|make} "[x]"', **slots))
    final = dice.raw('{the result is|it is|the answer is} "[x]"', **slots)
    return worked(dice, question, steps, final, slots["x"])


def alphabetical(dice: Dice) -> Draft:
    """Words put in alphabetical order: which one stands where."""
    who = person(dice)
    words = dice.some(WORDS, dice.whole(4, 6))
    order = sorted(words)
    spot = dice.whole(0, len(words) - 1)
    place = "last" if spot == len(words) - 1 else _ORDINALS[spot]
    slots = {"p": who.name, "ws": listed(words), "o": ", ".join(order), "pl": place, "x": order[spot]}
    question = dice.raw(
        """{[p] sorts {the labels|the cards|the index words} [ws] {alphabetically|in alphabetical order}|the
        words [ws] are put in alphabetical order|put these in alphabetical order: [ws]}. {which {one|word}
        {is|comes} [pl]|what is the [pl] one}?""",
        **slots,
    )
    steps = [
        dice.raw(
            "{compare the first letters and, where they are equal, the next ones|i go by the first letter, "
            "then by the next}",
            **slots,
        ),
        dice.raw("{in order they are|the order is|sorted, they read} [o]", **slots),
    ]
    final = dice.raw('{the [pl] word is|the word that comes [pl] is|[pl] comes} "[x]"', **slots)
    return worked(dice, question, steps, final, slots["x"])


def longest(dice: Dice) -> Draft:
    """Among some words the one with the most letters, which is unique."""
    who = person(dice)
    words = dice.some(WORDS, dice.whole(4, 6))
    lengths = [len(w) for w in words]
    if lengths.count(max(lengths)) > 1:
        return longest(dice)
    best = max(words, key=len)
    slots = {
        "p": who.name,
        "ws": listed(words),
        "x": best,
        "n": len(best),
        "c": ", ".join(f"{w} {len(w)}" for w in words),
    }
    question = dice.raw(
        """{[p] paints signs with the words [ws]|[p] {has|wrote} the words [ws] on {small |}cards|the list
        has the words [ws]}. {which one has the most letters|which word is the longest|what is the longest of
        these words}?""",
        **slots,
    )
    steps = [
        dice.raw("{counting letters|the numbers of letters are|i count the letters}: [c]", **slots),
        dice.raw("{the largest {number|count} is [n]|nothing is above [n]}", **slots),
    ]
    final = dice.raw(
        '{the longest {word |}is|the most letters are in|the word with the most letters is} "[x]"', **slots
    )
    return worked(dice, question, steps, final, best)


def shifted(dice: Dice) -> Draft:
    """A word with every letter moved on in the alphabet (a Caesar cipher)."""
    who = person(dice)
    word = dice.pick([w for w in WORDS if len(w) <= 6])
    by = dice.whole(1, 5)
    out = "".join(chr((ord(ch) - 97 + by) % 26 + 97) for ch in word)
    letters = counted(by, "letter")
    slots = {
        "p": who.name,
        "w": word,
        "n": letters,
        "x": out,
        "e": ", ".join(f'"{a}" to "{b}"' for a, b in zip(word, out, strict=True)),
    }
    question = dice.raw(
        """{[p] {codes|hides} words by moving|in [p]'s secret code one moves|a cipher works by moving} every
        letter [n] forward in the alphabet{, z being followed by a|, starting again after z|}. {what does
        "[w]" become|how is "[w]" written|what is the code for "[w]"}?""",
        **slots,
    )
    steps = [dice.raw("{letter by letter|each letter moves on}: [e]", **slots)]
    final = dice.raw('{"[w]" becomes "[x]"|the code is "[x]"|it is written "[x]"}', **slots)
    return worked(dice, question, steps, final, out)


FAMILIES = (
    Family("letter_count", letter_count),
    Family("spelled_back", spelled_back),
    Family("alphabetical", alphabetical),
    Family("longest", longest),
    Family("shifted", shifted, seen=False),
)
