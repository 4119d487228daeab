"""Checking conversations about texts and explanations: what must be kept, said or put right."""

from __future__ import annotations

import re

from octavo.corpus.checker.conversation_facts import DOUBLE, MEANINGS, ORDERS, SLIPS, TERMS
from octavo.corpus.checker.text import bare_numbers, holds
from octavo.corpus.checker.turns import DAY, TIME, Talk, Wanted, absent, task

_COUNTS = {"two": 2, "three": 3}


def _sentence_count(text: str) -> int:
    return len(re.findall(r"[.!?](?=\s|$)", text))


def _notice_facts(notice: str) -> dict[str, str] | None:
    forms = (
        r"(?:holding|will be) an? (?P<event>[\w ]+?) at (?P<venue>[\w' -]+?)\.",
        r"(?:^|\. |: )(?P<venue>The [\w' -]+?) is hosting an? (?P<event>[\w ]+?) (?:on|this coming) ",
        r"next (?P<event>[\w ]+?) takes place on \w+ at (?P<venue>[\w' -]+?)\.",
    )
    found = next((m for form in forms if (m := re.search(form, notice))), None)
    day, time, price = re.search(DAY, notice), re.search(TIME, notice), re.search(r"[$£€]\d+", notice)
    if not (found and day and time and price):
        return None
    venue = found["venue"][0].lower() + found["venue"][1:]
    return {"event": found["event"], "venue": venue, "day": day[0], "time": time[0], "price": price[0]}


def _summary(talk: Talk) -> Wanted | None:
    notice = talk.first.partition("\n\n")[2]
    facts = _notice_facts(notice)
    if not facts:
        return None
    problem = absent(talk.last, list(facts.values()))
    if problem is None and _sentence_count(talk.last) != 1:
        problem = "the summary is not one sentence"
    if problem is None and len(talk.last) >= len(notice):
        problem = "the summary is no shorter than the text"
    strange = bare_numbers(talk.last) - bare_numbers(notice)
    return Wanted(list(facts.values()), problem or (f"numbers from nowhere: {strange}" if strange else None))


def _title(talk: Talk) -> Wanted | None:
    facts = _notice_facts(talk.first.partition("\n\n")[2])
    limit = re.search(r"(\d+) words", talk.first)
    if not (facts and limit):
        return None
    problem = absent(talk.last, [facts["event"], facts["day"]])
    if problem is None and len(talk.last.split()) > int(limit[1]):
        problem = f"the title has more than {limit[1]} words"
    return Wanted([facts["event"], facts["day"]], problem)


def _explanation(talk: Talk) -> Wanted | None:
    count = re.search(r"(two|three) (?:simple )?sentences", talk.first, re.IGNORECASE)
    found = re.search(
        r"explain (?:what )?(.+?)(?: is)? to |What is (.+?)\?|Explain (.+?) in (?:two|three)", talk.first
    )
    if not (count and found):
        return None
    term = re.sub(r"^(?:an?|the) ", "", found[1] or found[2] or found[3])
    if term not in TERMS:
        return None
    problem = absent(talk.last, [term])
    lost = next((p for p in TERMS[term] if not re.search(p, talk.last)), None)
    if problem is None and lost:
        problem = f"the explanation of {term} says nothing of {lost!r}"
    if problem is None and _sentence_count(talk.last) != _COUNTS[count[1].lower()]:
        problem = f"not {count[1]} sentences"
    full = re.sub(r"^an? ", "", found[1] or found[2] or found[3])
    return Wanted([full, count[1].lower()], problem)


def _difference(talk: Talk) -> Wanted | None:
    named = [w for w in MEANINGS if re.search(rf"\b(?:an? )?{w}\b", talk.first)]
    named = [w for w in named if not any(w != x and w in x.split() for x in named)]
    if len(named) != 2:
        return None
    spots = sorted((talk.last.lower().find(w), w) for w in named)
    if spots[0][0] < 0:
        return Wanted(sorted(named), f"the reply does not speak of {spots[0][1]!r}")
    cut = spots[1][0]
    halves = {spots[0][1]: talk.last[:cut], spots[1][1]: talk.last[cut:]}
    bad = next((w for w, text in halves.items() if not re.search(MEANINGS[w], text)), None)
    return Wanted(sorted(named), f"what is said of {bad!r} does not fit" if bad else None)


def _order(talk: Talk) -> Wanted | None:
    name = next((t for t in ORDERS if t in talk.first), None)
    given = re.search(r": ([^:?]+;[^:?]+?)\. ", talk.first)
    if name is None or not given:
        return None
    steps = given[1].split("; ")
    try:
        right = [next(s for s in steps if key in s.lower()) for key in ORDERS[name]]
    except StopIteration:
        return None
    places = [talk.last.lower().find(s.lower()) for s in right]
    return Wanted(
        right, None if min(places) >= 0 and places == sorted(places) else "a step is missing or out of order"
    )


def _polite(talk: Talk) -> Wanted | None:
    blunt = re.search(rf'"(\w+), .*?\bthe ([\w ]+?) by {DAY}, {TIME}', talk.first)
    if not blunt:
        return None
    problem = absent(talk.last, blunt.groups())
    if problem is None and not re.search(r"please|would you|could you|may I", talk.last):
        problem = "the message still demands"
    if problem is None and re.search(r"no excuses|again|as usual|so long|hand over|get me|I want", talk.last):
        problem = "the reproach is still there"
    return Wanted(list(blunt.groups()), problem)


_DETAILS = {
    "name": r"(?:this is|name is|^|[,] )\s*([A-Z]\w+ [A-Z]\w+)(?: here)?\.",
        "address": r"(\d+ [A-Z][\w ]+?),", "day": DAY,
    "phone number": r"\b(0\d{3} \d{6})\b",
}  # fmt: skip


def _details(talk: Talk) -> Wanted | None:
    ask, _, message = talk.first.partition("\n\n")
    keys = re.findall(r"\b(phone number|name|address|day)\b", ask)
    found = [re.search(_DETAILS[key], message) for key in keys]
    if not keys or not all(found):
        return None
    values = [m[1] for m in found if m]
    rows = talk.last.split("\n")
    labels = [key.removesuffix(" number").capitalize() for key in keys]
    right = [f"{label}: {value}" for label, value in zip(labels, values, strict=True)]
    return Wanted(values, None if rows == right else f"the lines should be {right}")


def _bullets(talk: Talk) -> Wanted | None:
    body = re.search(r"for the [\w ]+?, (.+)\.$", talk.first)
    if not body:
        return None
    jobs = re.findall(r"(?:^|, | and )([A-Z]\w+) ([a-z][\w ]+?)(?=, [A-Z]| and [A-Z]|$)", body[1])
    rows = talk.last.split("\n")[1:]
    right = [f"- {who}: {what}" for who, what in jobs]
    return Wanted(
        [x for pair in jobs for x in pair], None if rows == right else f"the lines should be {right}"
    )


def _grammar(talk: Talk) -> Wanted | None:
    given = re.search(r'"(.+)"$', talk.first)
    if not given:
        return None
    fixed = [new for old, good in SLIPS if (new := re.sub(old, good, given[1])) != given[1]]
    if len(fixed) != 1:
        return None
    return Wanted(fixed[0], None if f'"{fixed[0]}"' in talk.last else f"the sentence should be {fixed[0]!r}")


_PASSAGE = (
    (r"'s job", r"works as an? ([\w ]+?)\.|\b(?:He|She) is an? ([\w ]+?)\."), (r"town is named",
    r"(?:lives in|comes from|small house in) ([A-Z]\w+)"),
    (r"which year", r"(?:arrived|moved) there in (\d{4})"), (r"'s hobby",
    r"(?:Her|His) hobby is ([\w ]+?)\."),
    (r"how many animals", r"keeps (\d+ \w+)"), (r"what colour", r"door is (\w+)"), (r"collect",
    r"collects ([\w ]+?)\."),
)  # fmt: skip


def _passage(talk: Talk) -> Wanted | None:
    sentences = talk.first.split(". ")
    question, text = sentences[-1], ". ".join(sentences[:-1]) + "."
    found = next((p for cue, p in _PASSAGE if re.search(cue, question, re.IGNORECASE)), None)
    if found is None:
        return None
    match = re.search(found, text)
    unknown = re.search(r"does not say|not stated|no answer", talk.last)
    if not match:
        return Wanted("not stated", None if unknown else "the text does not say this")
    answer = next(g for g in match.groups() if g)
    return Wanted(answer, "the text does say this" if unknown else absent(talk.last, [answer]))


_SENSES = re.compile(r".*(?:you mean|it about|thinking of) (.+?),? or (?:about |of )?(.+)\?$")


def _double(talk: Talk) -> Wanted | None:
    words = [w for w in DOUBLE if re.search(rf"\b{w}\b", talk.first)]
    if len(words) != 1 or len(talk.first.split()) > 20:
        return None
    senses = _SENSES.search(talk.last)
    if not senses:
        return Wanted(None, "the reply does not ask which of two things is meant")
    keys = DOUBLE[words[0]]
    matched = all(any(holds(s, key) for s in senses.groups()) for key in keys)
    return Wanted(sorted(senses.groups()), None if matched else f"the two meanings should be about {keys}")


TASKS = (
    task("title", r"(?:title|headline)\b.*\n\n", _title),
    task("summary", r"one.sentence.*\n\n", _summary),
    task("details", r"this message.*\n\n", _details),
    task("explanation", r"(?:two|three) (?:simple )?sentences", _explanation),
    task("order", r"; .*(?:right order|sort them|in order|which order)", _order),
    task("polite", r'"\w+, .* by \w+day, \d', _polite),
    task("bullets", r"\blist\b.*: for the", _bullets),
    task("grammar", r'(?:sentence|this correct|check it)[^"]*"[^"]+"$', _grammar),
    task("passage", r"according to the text", _passage),
    task("difference", r"difference|differ\b|tell an? .+ from|tell \w+ from", _difference),
    task("double meaning", r".", _double),
)
