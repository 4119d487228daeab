"""Checking conversations about plans, advice, claims and bookings: facts required by the prompt, found in the reply."""

from __future__ import annotations

import re

from octavo.corpus.checker.capitals import CAPITAL_OF
from octavo.corpus.checker.conversation_facts import MEASURES
from octavo.corpus.checker.text import as_money, bare_numbers, grouped, holds, moneys, whole, wrong_equation
from octavo.corpus.checker.turns import DAY, TIME, Talk, Wanted, absent, task

_CAPITAL = CAPITAL_OF
_YES = re.compile(r"^(?:yes|that is correct|that is right|you can (?:rely on|believe))", re.IGNORECASE)


def _verdict_on_claim(talk: Talk, right: bool, true: str) -> Wanted:
    """A reply to a claim agrees exactly when the claim is right, and gives the true value."""
    agrees = _YES.match(talk.last) is not None
    if agrees != right:
        return Wanted(
            true, "the reply " + ("agrees with a wrong claim" if agrees else "rejects a right claim")
        )
    return Wanted(true, absent(talk.last, [true]) or wrong_equation(talk.last))


def _product(talk: Talk) -> Wanted | None:
    counts = re.search(r"(\d+) \w+ with (\d+) [\w ]+? (?:each|in each)", talk.first)
    claim = re.search(r"that (?:makes|gives|is) ([\d,]+) (?:in total|altogether|in all)", talk.first)
    if not (counts and claim):
        return None
    true = int(counts[1]) * int(counts[2])
    wanted = _verdict_on_claim(talk, whole(claim[1]) == true, grouped(true))
    strange = bare_numbers(talk.last) - bare_numbers(talk.first) - {grouped(true)}
    split = {grouped(int(counts[1]) // 10 * 10), grouped(int(counts[1]) % 10)}
    parts = {grouped(int(n) * int(counts[2])) for n in split}
    return (
        wanted
        if wanted.problem or not strange - split - parts
        else Wanted(wanted.answer, f"numbers from nowhere: {strange}")
    )


def _capital(talk: Talk) -> Wanted | None:
    claim = re.search(
        r"(?:that )([A-Z][\w ]+?) is the capital of ([A-Z][\w ]+?)\. |capital of ([A-Z][\w ]+?) is ([A-Z][\w "
        r"]+?)\. ",
        talk.first,
    )
    if not claim:
        return None
    country, said = claim[2] or claim[3], claim[1] or claim[4]
    true = _CAPITAL[country]
    wanted = _verdict_on_claim(talk, said == true, true)
    if wanted.problem:
        return wanted
    wrong = "the reply joins a country with a capital that is not its own"
    pairs = re.findall(r"([A-Z][\w ]+?) is the (?:capital of|capital of) ([A-Z][\w ]+?)[,.;:]", talk.last)
    pairs += [(c, k) for k, c in re.findall(r"capital of ([A-Z][\w ]+?) is ([A-Z][\w ]+?)[,.;]", talk.last)]
    pairs += [
        (c, k) for k, c in re.findall(r"([A-Z][\w ]+?) has its capital in ([A-Z][\w ]+?)[,.;]", talk.last)
    ]
    pairs += re.findall(r"([A-Z][\w ]+?) belongs to ([A-Z][\w ]+?)[,.;]", talk.last)
    if not pairs or any(_CAPITAL.get(country) != capital for capital, country in pairs):
        return Wanted(true, wrong)
    return wanted


def _measure(talk: Talk) -> Wanted | None:
    claim = re.search(
        r"that (an? .+?) has ([\d,]+) (\w+)\. |there are ([\d,]+) (\w+) in (an? .+?)\. ", talk.first
    )
    if not claim:
        return None
    true = MEASURES.get((claim[1] or claim[6], claim[3] or claim[5]))
    if true is None:
        return None
    wanted = _verdict_on_claim(talk, whole(claim[2] or claim[4]) == true, grouped(true))
    denied = re.search(r"not ([\d,]*\d)", talk.last)
    if denied and denied[1] != (claim[2] or claim[4]):
        return Wanted(wanted.answer, "the reply denies what was not claimed")
    strange = bare_numbers(talk.last) - bare_numbers(talk.first) - {grouped(true)}
    return Wanted(wanted.answer, wanted.problem or (f"numbers from nowhere: {strange}" if strange else None))


def _fee(talk: Talk) -> Wanted | None:
    free = re.search(r"first (\d+) days", talk.first)
    late = re.search(r"(\d+) days (?:too long|late)", talk.first)
    if not (free and late):
        return None
    per_day, cap = moneys(talk.first)  # in every wording the daily fee comes before the limit
    due = min(cap, per_day * max(0, int(late[1]) - int(free[1])))
    answer = as_money(due, talk.first) or ""
    first = re.split(r"[:.] ", talk.last)[0]
    if not holds(first, answer):
        return Wanted(answer, f"the reply does not begin with {answer}")
    allowed = {answer, *bare_numbers(talk.first), str(max(0, int(late[1]) - int(free[1])))}
    allowed |= bare_numbers(as_money(per_day * max(0, int(late[1]) - int(free[1])), talk.first) or "")
    strange = bare_numbers(talk.last) - {n.lstrip("$£€") for n in allowed}
    return Wanted(answer, f"numbers from nowhere: {strange}" if strange else None)


_CARES = (
    ("price", r"money|budget|price|spend"),
    ("weight", r"carry|weight|lightest"),
    ("warranty", r"long warranty|warranty matters|repairs|defects"),
)


def _compare(talk: Talk) -> Wanted | None:
    offers = re.findall(
        r"the (\w+) (?:costs|is) \$(\d+), weighs (\d+) kg and (?:has|comes with) (\d+) years",
        talk.first,
        re.IGNORECASE,
    )
    wish = talk.first[talk.first.rfind("of warranty") :]
    care = next((k for k, (_, pattern) in enumerate(_CARES) if re.search(pattern, wish)), None)
    if len(offers) != 2 or care is None:
        return None
    values = [int(o[care + 1]) for o in offers]
    win = 0 if (values[0] > values[1] if care == 2 else values[0] < values[1]) else 1
    best, other = offers[win], offers[1 - win]
    if not holds(talk.last, best[0]) or holds(talk.last, other[0]):
        return Wanted(best[0], f"the better one is the {best[0]}")
    said = re.findall(r"\d+", talk.last)
    pairs = [(best[1], other[1]), (best[2], other[2]), (best[3], other[3])]
    if [*said[:2]] != [best[care + 1], other[care + 1]] or (len(said) > 2 and tuple(said[2:]) not in pairs):
        return Wanted(best[0], "the numbers in the reply are not those of the two offers")
    return Wanted(best[0], None)


def _dish(talk: Talk) -> Wanted | None:
    avoid = re.findall(r"[A-Z]\w+ (?:cannot eat|has to avoid|must not have) (\w+)", talk.first)
    dishes = re.findall(r"(?:: |; )([\w ]+?) \(([\w ,]+)\)", talk.first)
    if len(avoid) != 2 or not dishes:
        return None
    fit = [name for name, inside in dishes if not set(avoid) & set(re.split(r", | and ", inside))]
    if len(fit) != 1:
        return None
    first = talk.last.split(". There")[0]
    wrong = next((n for n, _ in dishes if n != fit[0] and holds(talk.last, n)), None)
    problem = absent(first, fit) or (f"the reply also names {wrong!r}" if wrong else None)
    inside = dict(dishes)[fit[0]]
    return Wanted(fit[0], problem or absent(talk.last, [inside]))


def _trip(talk: Talk) -> Wanted | None:
    offers = re.findall(r"([A-Z][\w ]+?) \(([$£€]\d+), (\d+) hours\)", talk.first)
    limit = re.search(r"([$£€])(\d+) (?:(?:each|a head) )?and (\d+) hours", talk.first)
    if len(offers) != 3 or not limit:
        return None
    names = [
        o[0].removeprefix("We can go to ").removeprefix("The offers are ").removeprefix("There is ")
        for o in offers
    ]
    fit = [k for k, o in enumerate(offers) if int(o[1][1:]) <= int(limit[2]) and int(o[2]) <= int(limit[3])]
    if len(fit) != 1:
        return None
    name, offer = names[fit[0]], offers[fit[0]]
    first = re.split(r"\. ", talk.last)[0]
    problem = absent(first, [name, offer[1], f"{offer[2]} hours"])
    for k, (_, price, hours) in enumerate(offers):
        if k != fit[0] and problem is None:
            dear = int(price[1:]) > int(limit[2])
            problem = absent(talk.last, [names[k], price if dear else f"{hours} hours"])
    return Wanted(name, problem)


_NEEDED = {"people": r"how many", "day": r"day", "time": r"time", "name": r"name"}


def _booking(talk: Talk) -> Wanted | None:
    if len(talk.users) != 2:
        return None
    told = f"{talk.users[0]} {talk.users[1]}"
    patterns = {
        "people": r"(?<![:\d])(\d+)(?: of us| people|\.)", "day": DAY, "time": TIME,
        "name": r"(?:name is|name|[Uu]nder|^(?!Under))\s*([A-Z]\w+ [A-Z]\w+)",
    }  # fmt: skip
    first = {k: re.search(p, talk.users[0]) for k, p in patterns.items()}
    missing = [k for k, found in first.items() if not found]
    if len(missing) != 1:
        return None
    second = re.search(patterns[missing[0]], talk.users[1])
    if not second:
        return None
    values = {k: (m or second) for k, m in first.items()}
    answer = [values[k][1] for k in ("people", "day", "time", "name")]
    asked = talk.replies[0]
    problem = (
        None
        if asked.endswith("?") and re.search(_NEEDED[missing[0]], asked)
        else f"the {missing[0]} is not asked for"
    )
    strange = bare_numbers(talk.last) - bare_numbers(told)
    return Wanted(
        answer,
        problem or absent(talk.last, answer) or (f"numbers from nowhere: {strange}" if strange else None),
    )


def _changed(talk: Talk) -> Wanted | None:
    plan = re.search(rf"(?:the|our) ([\w ]+?) (?:is|takes place) on {DAY} at {TIME}, at (.+?)\.", talk.first)
    if len(talk.users) != 2 or not plan:
        return None
    event, day, time, venue = plan.groups()
    news = talk.users[1]
    new_day, new_time = re.search(DAY, news), re.search(TIME, news)
    new_venue = re.search(r"(?:move to|be at|place is) (.+?)\. ", news)
    if new_day:
        day = new_day[1]
    elif new_time:
        time = new_time[1]
    elif new_venue:
        venue = new_venue[1]
    answer = [event, venue, day, time]
    old = [x for x in plan.groups() if x not in answer and holds(talk.last, x)]
    noted = absent(talk.replies[0], plan.groups())
    stale = f"the old {old[0]!r} is still there" if old else None
    return Wanted(answer, noted or absent(talk.last, answer) or stale)


def _recall(talk: Talk) -> Wanted | None:
    if len(talk.users) != 2:
        return None
    facts = {
        r"animal|pet": r"[Mm]y (cat|dog|parrot|rabbit|tortoise|pony|goldfish|hamster)\b",
        r"hobby": r"and (?:i love |my hobby is )?([\w ]+?)(?: is my hobby)?\. ",
        r"live": r"(?:live in|moved to) ([A-Z][\w ]+?)(?: with|,)",
        r"my name|who am I": r"(?:I am|name is|^Hello,) ([A-Z]\w+)",
    }  # fmt: skip
    asked = next((p for key, p in facts.items() if re.search(key, talk.users[1].split(": ")[-1])), None)
    found = re.search(asked, talk.first, re.IGNORECASE if "hobby" in asked else 0) if asked else None
    if not found:
        return None
    return Wanted(found[1], absent(talk.last, [found[1]]))


def _decline(talk: Talk) -> Wanted | None:
    host = re.search(r"([A-Z]\w+) has (?:invited me|asked me)|by ([A-Z]\w+) on", talk.first)
    event = re.search(rf"to (?:an? )([\w ]+?) (?:at [\w' -]+ on|by \w+ on|on) {DAY}", talk.first)
    other = re.search(rf"(?:could do|free on|suits me is) {DAY}", talk.first)
    reason = re.search(r"but (.+?)\. ", talk.first)
    if not (host and event and other and reason):
        return None
    answer = [host[1] or host[2], event[1], event[2], other[1]]
    polite = re.search(r"thank|kind", talk.last, re.IGNORECASE) and re.search(r"cannot|can't", talk.last)
    return Wanted(
        answer, absent(talk.last, [*answer, reason[1]]) or (None if polite else "no polite refusal")
    )


TASKS = (
    task("product claim", r"\d+ \w+ with \d+ .+? that (?:makes|gives|is) [\d,]+ (?:in|al)", _product),
    task("capital claim", r"capital of", _capital),
    task("measure claim", r"has [\d,]+ \w+\.|there are [\d,]+ \w+ in an?", _measure),
    task("fee", r"days? of delay", _fee),
    task("comparison", r"years of warranty", _compare),
    task("dish", r"(?:cannot eat|has to avoid|must not have)", _dish),
    task("trip", r"\d hours\)", _trip),
    task("booking", r"(?:booking|reservation) (?:message|request|note)", _booking),
    task("changed plan", r"note this down|please note|keep this in mind", _changed),
    task("recall", r"hobby|I love|with my|and i have just", _recall),
    task("decline", r"say no politely|friendly no|decline", _decline),
)
