"""Solvers for questions about order, groups, words and numbers; by trying all cases where that is possible."""

from __future__ import annotations

import re
from fractions import Fraction
from itertools import combinations, count, pairwise, permutations

from octavo.corpus.checker.text import NUMBER, Solution, clock_of, grouped, minutes_of, solver, whole

_OPPOSITES = {
    "shorter": "taller", "younger": "older", "slower": "faster", "lighter": "heavier", "quieter": "louder",
}  # fmt: skip
_TOPS = {
    "tallest": "taller",
    "oldest": "older",
    "fastest": "faster",
    "heaviest": "heavier",
    "loudest": "louder",
}
_ENDS = {"shortest", "youngest", "slowest", "lightest", "quietest"}
_PLACES = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth")


def _ranking(q: str) -> Solution | None:
    clues = []
    for a, how, b in re.findall(r"\b([A-Z]\w+) is (\w+) than ([A-Z]\w+)", q):
        clues.append((b, a) if how in _OPPOSITES else (a, b))
    asked = re.search(r"the (second )?(\w+est)\b", q)
    names = sorted({name for clue in clues for name in clue})
    if not asked or len(names) < 3:
        return None
    orders = [o for o in permutations(names) if all(o.index(a) < o.index(b) for a, b in clues)]
    if len(orders) != 1:
        return None
    place = 1 if asked[1] else -1 if asked[2] in _ENDS else 0
    if asked[2] not in _ENDS and asked[2] not in _TOPS:
        return None
    answer = orders[0][place]
    return Solution(answer, tuple(n for n in names if n != answer))


def _queue(q: str) -> str | None:
    numbers = re.findall(r"number (\d+)", q)
    if len(numbers) == 2:
        return str(len(range(int(numbers[0]) + 1, int(numbers[1]))))
    ahead, behind = (
        re.search(r"(\d+) people (?:in front|are ahead)", q),
        re.search(r"(\d+) (?:are )?behind", q),
    )
    return str(int(ahead[1]) + int(behind[1]) + 1) if ahead and behind else None


def _houses(q: str) -> Solution | None:
    row = re.search(r"(?:row|side): ([\w, ]+?)\.", q)
    asked = re.search(r"house is (.+?)\?|the house (.+?)\?", q[q.rindex(". ") :] if ". " in q else q)
    if not (row and asked):
        return None
    colours = re.split(r", | and ", row[1])
    fitting = [o for o in permutations(colours) if all(_house_clue(c, o) for c in q.split(". "))]
    spots = {"at the left end": 0, "second from the left": 1, "third from the left": 2, "at the right end": 3}
    found = {o[spots[asked[1] or asked[2]]] for o in fitting}
    if len(fitting) == 0 or len(found) != 1:
        return None
    answer = found.pop()
    return Solution(answer, tuple(c for c in colours if c != answer))


def _house_clue(clue: str, order: tuple[str, ...]) -> bool:
    pair = re.search(
        r"the (\w+) (?:house|one) is (directly to the right of|directly to the left of|next to|not next to) "
        r"the (\w+) one(, on its right)?",
        clue, re.IGNORECASE,
    )  # fmt: skip
    if pair:
        gap = order.index(pair[1]) - order.index(pair[3])
        if pair[2] == "not next to":
            return abs(gap) != 1
        return gap == (-1 if pair[2].endswith("left of") else 1)
    end = re.search(r"the (\w+) (?:house|one) is at the (left|right) end", clue, re.IGNORECASE)
    return not end or order[0 if end[2] == "left" else -1] == end[1]


def _overlap(q: str) -> str | None:
    total = re.search(r"(\d+) \w+", q)
    likes = re.search(r"(\d+) like (.+?), (\d+) like (.+?) and (\d+) like both", q)
    if not (total and likes):
        return None
    a, b, both = int(likes[1]), int(likes[3]), int(likes[5])
    asked = q[likes.end() :]
    if "neither" in asked:
        return str(int(total[1]) - (a - both) - (b - both) - both)
    only = re.search(r"like only (.+?)\?|like (.+?) but not", asked)
    if not only:
        return None
    return str((a if (only[1] or only[2]) == likes[2] else b) - both)


def _items(text: str) -> list[str]:
    return re.split(r", | and ", text)


def _shared_items(q: str) -> str | None:
    brought = re.findall(r"([A-Z]\w+) (?:brings|will bring|is bringing) (.+?)\. ", q)
    if len(brought) != 2:
        return None
    lists = [_items(b[1]) for b in brought]
    both = re.search(r"both", q[q.rindex(brought[1][1]) :])
    picked = [thing for thing in lists[0] if (thing in lists[1]) is bool(both)]
    return (
        picked[0] if len(picked) == 1 else ", ".join(picked[:-1]) + " and " + picked[-1] if picked else None
    )


def _outfits(q: str) -> str | None:
    counts = re.search(r"(?:from|of|has) (\d+) [\w ]+?, (\d+) [\w ]+? and (\d+) ", q)
    return (
        str(sum(1 for _ in range(int(counts[1]) * int(counts[2])) for _ in range(int(counts[3]))))
        if counts
        else None
    )


def _handshakes(q: str) -> str | None:
    guests = re.search(r"\d+", q)
    if not guests:
        return None
    meetings = len(list(combinations(range(int(guests[0])), 2)))
    return str(2 * meetings if "sends one card" in q else meetings)


def _chance(q: str) -> str | None:
    bag = re.search(r"(\d+) (\w+), (\d+) (\w+) and (\d+) (\w+) \w+\.", q)
    asked = re.search(r"\bis (not )?(\w+)\?", q)
    if not (bag and asked):
        return None
    counts = {bag[2]: int(bag[1]), bag[4]: int(bag[3]), bag[6]: int(bag[5])}
    if asked[2] not in counts:
        return None
    good = Fraction(counts[asked[2]], sum(counts.values()))
    good = 1 - good if asked[1] else good
    return f"{good.numerator}/{good.denominator}"


def _letter_count(q: str) -> str | None:
    letter = re.search(r'letter "(\w)"', q)
    words = re.findall(r'"(\w{2,})"', q)
    return str(sum(1 for word in words for ch in word if ch == letter[1])) if letter and words else None


def _spelled_back(q: str) -> str | None:
    word = re.search(r'"(\w+)"', q)
    drop = re.search(r"the (\w+) letter of", q)
    if not word:
        return None
    letters = list(word[1])
    if drop:
        del letters[-1 if drop[1] == "last" else _PLACES.index(drop[1])]
    return "".join(reversed(letters))


def _word_list(q: str) -> list[str] | None:
    found = re.search(r"\b(\w+(?:, \w+)+ and \w+)\b", q)
    return _items(found[1]) if found else None


def _alphabetical(q: str) -> Solution | None:
    words = _word_list(q)
    asked = re.search(r"\b(first|second|third|fourth|fifth|sixth|last)\b", q)
    if not (words and asked):
        return None
    order = sorted(words)
    answer = order[-1 if asked[1] == "last" else _PLACES.index(asked[1])]
    return Solution(answer, tuple(w for w in words if w != answer))


def _longest(q: str) -> Solution | None:
    words = _word_list(q)
    if not words:
        return None
    longest = [w for w in words if len(w) == max(map(len, words))]
    return Solution(longest[0], tuple(w for w in words if w != longest[0])) if len(longest) == 1 else None


def _shifted(q: str) -> str | None:
    word, by = re.search(r'"([a-z]+)"', q), re.search(r"(\d+) letters? forward", q)
    if not (word and by):
        return None
    alphabet = "abcdefghijklmnopqrstuvwxyz"
    return word[1].translate(str.maketrans(alphabet, alphabet[int(by[1]) :] + alphabet[: int(by[1])]))


def _rhythm(q: str) -> str | None:
    gaps, start = re.findall(r"every (\d+) minutes", q, re.IGNORECASE), re.search(r"\d\d:\d\d", q)
    if len(gaps) != 2 or not start:
        return None
    wait = next(m for m in count(1) if m % int(gaps[0]) == 0 and m % int(gaps[1]) == 0)
    return clock_of(minutes_of(start[0]) + wait)


def _sequence(q: str) -> str | None:
    row = re.search(rf"(?:{NUMBER})(?:, (?:{NUMBER})){{4}}", q)
    if not row:
        return None
    a, b, c, d, e = (whole(x) for x in row[0].split(", "))
    steps = (b - a, c - b, d - c, e - d)
    if len(set(steps)) == 1:
        return grouped(e + steps[0])
    if {y - x for x, y in pairwise(steps)} == {1}:
        return grouped(e + steps[-1] + 1)
    if a and b % a == 0 and all(y == x * (b // a) for x, y in ((b, c), (c, d), (d, e))):
        return grouped(e * (b // a))
    return None


def _unknown_number(q: str) -> str | None:
    times = re.search(r"(?:multiplies it|multiply my number|is multiplied) by (\d+)", q)
    move = re.search(r"(adds?|subtracts?) (\d+)", q)
    result = re.search(rf"(?:result is|gives|gets|get|has) ({NUMBER})", q[move.end() :]) if move else None
    if not (times and move and result):
        return None
    target = whole(result[1])
    for number in range(1, 2000):
        got = number * int(times[1]) + (int(move[2]) if move[1].startswith("add") else -int(move[2]))
        if got == target:
            return str(number)
    return None


def _divisors(q: str) -> str | None:
    pieces = re.search(r"\d+", q)
    return str(sum(1 for d in range(1, int(pieces[0]) + 1) if int(pieces[0]) % d == 0)) if pieces else None


def _digits(q: str) -> str | None:
    code = re.search(r"\d{5,6}", q)
    return str(sum(int(ch) for ch in code[0])) if code else None


SOLVERS = (
    solver("digits", r"\bits digits\b", _digits),
    solver("rhythm", r"every \d+ minutes.*every \d+ minutes", _rhythm),
    solver(
        "unknown number",
        r"(?:number|multiplie[sd]).*(?:what is the number|which number is it|what number was)",
        _unknown_number,
    ),
    solver("sequence", r"comes next|next number|go on\?", _sequence),
    solver("divisors", r"equal rows", _divisors),
    solver("shifted", r"letters? forward in the", _shifted),
    solver("letter count", r'letter "\w"', _letter_count),
    solver("spelled back", r"backwards|back to front", _spelled_back),
    solver("alphabetical", r"alphabetical", _alphabetical),
    solver("longest", r"most letters|longest", _longest),
    solver("ranking", r"\bis \w+er than\b", _ranking),
    solver("queue", r"\bqueue\b", _queue),
    solver("houses", r"four houses", _houses),
    solver("overlap", r"like both", _overlap),
    solver("handshakes", r"every other one", _handshakes),
    solver("chance", r"without looking", _chance),
    solver(
        "outfits",
        r"how many (?:different )?[\w ]+ (?:are possible|can be put together|with one of each)",
        _outfits,
    ),
    solver("shared items", r"(?:brings|will bring|is bringing) ", _shared_items),
)
