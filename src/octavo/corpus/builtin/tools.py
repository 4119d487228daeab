"""Conversations with tools: single calls, chains, two calls, missing arguments, failures, nothing that fits."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

from octavo.corpus.builtin.dice import Dice, sentences
from octavo.corpus.builtin.draft import Draft, Family
from octavo.corpus.builtin.skills import Skill, Values
from octavo.corpus.builtin.skills_daily import DAILY
from octavo.corpus.builtin.skills_numbers import LIBRARY, NUMBERS
from octavo.corpus.builtin.skills_outside import OUTSIDE
from octavo.corpus.builtin.words_people import RELATIONS, person
from octavo.corpus.builtin.words_time import WEEKDAYS

SKILLS: tuple[Skill, ...] = DAILY + OUTSIDE + NUMBERS
BY_NAME = {skill.name: skill for skill in SKILLS + LIBRARY}
_HELLO = "{||||||hi! |hello, |good morning! |quick request: |one thing: |could you help? }"
_AFTER = "{||||||| {thanks{ a lot| in advance|}|thank you{ very much|}}!| no hurry.| it is for [who].| i promised it to [p].}"


def _request(dice: Dice, text: str) -> str:
    """A request with an optional greeting and closing words; ends with a mark."""
    if not text.endswith((".", "?")):
        text = _closed(text)
    who = dice.pick(RELATIONS)[0]
    return sentences(dice.raw(_HELLO) + text + dice.raw(_AFTER, who=f"my {who}", p=person(dice).name))


def _closed(text: str) -> str:
    """The text with a question mark or a full stop, after its first word."""
    text = text.strip().rstrip(".?")
    start = text.split(": ", 1)[-1] if text.startswith("for ") else text
    return text + ("?" if start.lower().startswith(_QUESTIONS) else ".")


_QUESTIONS = ("can ", "could ", "would ", "is ", "are ", "do ", "does ", "how ", "what ", "where ", "when ", "has ", "until ", "have ")


def _schemas(dice: Dice, needed: list[Skill], count: int, without: frozenset[str] = frozenset()) -> list[dict[str, Any]]:
    """Schemas of the needed tools among others, in random order."""
    taken = {skill.name for skill in needed}
    others = [skill for skill in SKILLS if skill.name not in taken and skill.name not in without]
    chosen = needed + dice.some(others, max(0, count - len(needed)))
    return [skill.schema() for skill in dice.shuffled(chosen)]


def _call(number: int, skill: Skill, args: Values) -> dict[str, Any]:
    return {"id": f"call_{number}", "type": "function", "function": {"name": skill.name, "arguments": args}}


def _result(number: int, result: Values) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": f"call_{number}", "content": json.dumps(result, ensure_ascii=False)}


def _calls(*calls: dict[str, Any]) -> dict[str, Any]:
    return {"role": "assistant", "content": "", "tool_calls": list(calls)}


def _user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def _reply(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text}


def _expected(calls: list[dict[str, Any]], ask: str | None = None) -> dict[str, Any]:
    return {"calls": [{"name": c["function"]["name"], "arguments": c["function"]["arguments"]} for c in calls], "ask": ask}


def _drawn(dice: Dice, skill: Skill) -> tuple[Values, dict[str, str]]:
    drawn = skill.draw(dice)
    return {k: v[0] for k, v in drawn.items()}, {k: v[1] for k, v in drawn.items()}


def single(skills: tuple[Skill, ...], dice: Dice) -> Draft:
    """One request, one call, its result told."""
    skill = dice.pick(skills)
    args, spoken = _drawn(dice, skill)
    result = skill.run(dice, args)
    call = _call(1, skill, args)
    messages = [_user(_request(dice, skill.ask(dice, spoken))), _calls(call), _result(1, result), _reply(skill.tell(dice, spoken, result))]
    return Draft(messages, _expected([call]), None, _schemas(dice, [skill], dice.whole(1, 5)))


def two_calls(dice: Dice) -> Draft:
    """One request that needs two different tools, called in one turn."""
    first, second = dice.some([s for s in SKILLS if '"' not in s.request and "text" not in s.arguments], 2)
    drawn = [_drawn(dice, first), _drawn(dice, second)]
    link = dice.pick(("also, ", "and one more thing: ", "besides, ", "after that: ", "second, ", "and then "))
    text = f"{_closed(first.ask(dice, drawn[0][1]))} {link}{_closed(second.ask(dice, drawn[1][1]))}"
    calls = [_call(n, skill, args) for n, (skill, (args, _)) in enumerate(zip((first, second), drawn, strict=True), 1)]
    results = [skill.run(dice, args) for skill, (args, _) in zip((first, second), drawn, strict=True)]
    told = " ".join(s.tell(dice, d[1], r) for s, d, r in zip((first, second), drawn, results, strict=True))
    messages = [_user(_request(dice, text)), _calls(*calls), _result(1, results[0]), _result(2, results[1]), _reply(told)]
    return Draft(messages, _expected(calls), None, _schemas(dice, [first, second], dice.whole(2, 6)))


def ask_back(then_call: bool, dice: Dice) -> Draft:
    """A request without a required argument: the assistant asks for it, and calls the tool once it has it."""
    skill = dice.pick([s for s in SKILLS if any(a.question for a in s.arguments.values())])
    missing = dice.pick([name for name, a in skill.arguments.items() if a.question])
    args, spoken = _drawn(dice, skill)
    question = dice.say(
        "{sure|gladly|of course|happy to|no problem|with pleasure}{. one question first: |, but |. just tell me: |. before i start: |. i only need to know: }[q]?",
        q=dice.raw(skill.arguments[missing].question),
    )
    messages = [_user(_request(dice, skill.ask(dice, spoken, missing))), _reply(question)]
    tools = _schemas(dice, [skill], dice.whole(1, 5))
    if not then_call:
        return Draft(messages, _expected([], missing), None, tools)
    argument = skill.arguments[missing]
    supplied = dice.raw(argument.supply or argument.phrase, v=spoken[missing])
    result = skill.run(dice, args)
    call = _call(1, skill, args)
    messages += [
        _user(dice.say("{|oh, sorry: |right, |of course: |good point: }[s]{, please|, thanks|}.", s=supplied)),
        _calls(call), _result(1, result), _reply(skill.tell(dice, spoken, result)),
    ]  # fmt: skip
    return Draft(messages, _expected([call], missing), None, tools)


def no_tool(dice: Dice) -> Draft:
    """A request for which no tool on offer fits: said plainly, with what can be done."""
    skill = dice.pick(SKILLS)
    _, spoken = _drawn(dice, skill)
    near = frozenset({skill.name, *_ALIKE.get(skill.name, ())})
    tools = _schemas(dice, [], dice.whole(1, 4), near)
    can = BY_NAME[dice.pick(tools)["function"]["name"]].purpose
    reply = dice.say(
        """{i am sorry, but|sorry,|unfortunately,|i'm afraid} {i cannot [w] here|i have no tool to [w]|none of my tools can [w]|that is not possible here: i cannot [w]}.
        {what i can do is [c]|i could [c] instead, if that helps|if you want, i can [c]|among other things, i can [c]|let me know if i should [c]}.""",
        w=skill.purpose, c=can,
    )  # fmt: skip
    return Draft([_user(_request(dice, skill.ask(dice, spoken))), _reply(reply)], _expected([]), None, tools)


_ALIKE = {"convert_currency": ("calculate",), "convert_units": ("calculate",), "split_bill": ("calculate",), "loan_payment": ("calculate",),
          "calculate": ("split_bill",), "set_alarm": ("set_timer", "create_event"), "set_timer": ("set_alarm",), "add_to_list": ("create_note",),
          "create_note": ("add_to_list",), "log_expense": ("create_note",)}  # fmt: skip


def failed(dice: Dice) -> Draft:
    """The tool answers with an error; the assistant says so and invents nothing."""
    skill = dice.pick(SKILLS)
    args, spoken = _drawn(dice, skill)
    error, told = dice.pick(_ERRORS)
    call = _call(1, skill, args)
    reply = dice.say(
        """{i am sorry, but |sorry, |unfortunately |that did not work: }i could not [w], because [t]. {shall i try again {later|in a moment}|would you like me to try once
        more|do you want me to try it again on [d]|should i try again tomorrow}?""",
        w=skill.purpose, t=dice.raw(told), d=dice.pick(WEEKDAYS),
    )  # fmt: skip
    messages = [_user(_request(dice, skill.ask(dice, spoken))), _calls(call), _result(1, {"error": error}), _reply(reply)]
    return Draft(messages, _expected([call]), None, _schemas(dice, [skill], dice.whole(1, 5)))


_ERRORS = (
    ("timeout", "{the service did not answer in time|the request took too long}"), ("service unavailable", "{the service is down|the service is not available}"),
    ("permission denied", "{i am not allowed to do that|the permission is missing}"), ("rate limit reached", "there {have been|were} too many requests"),
    ("maintenance", "the system is being {serviced|maintained}"), ("network error", "{the network failed|there was a problem with the network}"),
)  # fmt: skip


def chain_message(dice: Dice) -> Draft:
    """Look a person up, then send a message to the number found."""
    find, send = BY_NAME["find_contact"], BY_NAME["send_message"]
    args, spoken = _drawn(dice, find)
    text = _drawn(dice, send)[1]["text"]
    found = find.run(dice, args)
    message = {"phone": found["phone"], "text": text}
    sent = send.run(dice, message)
    ask = dice.say(
        '{look up [name] and {send|text} this: "[t]"|find [name] in my contacts and send this message: "[t]"|please send [name] this message: "[t]"|i want to text [name]: "[t]"}',
        t=text, **spoken,
    )  # fmt: skip
    reply = dice.say(
        '{i have sent|your message went to|sent to} [name]{ at [p]| ([p])|, number [p]}: "[t]".', t=text, p=found["phone"], **spoken
    ).replace("I have sent ", "I have written to ")  # fmt: skip
    calls = [_call(1, find, args), _call(2, send, message)]
    messages = [_user(_request(dice, ask)), _calls(calls[0]), _result(1, found), _calls(calls[1]), _result(2, sent), _reply(reply)]
    return Draft(messages, _expected(calls), None, _schemas(dice, [find, send], dice.whole(2, 5)))


def chain_order(dice: Dice) -> Draft:
    """See what is in stock, then order all of it or log nothing: as many as there are."""
    stock, order = BY_NAME["check_stock"], BY_NAME["place_order"]
    args, spoken = _drawn(dice, stock)
    found = stock.run(dice, args)
    wish = {"product": args["product"], "quantity": found["quantity"]}
    placed = {**order.run(dice, wish), "unit_price": found["price"], "total": found["price"] * found["quantity"]}
    ask = dice.say(
        """{see how many [product] the {shop|store} on [store] has and order them all|check the stock of [product] {in the {shop|store} on|on} [store], then order every one|order all
        the [product] that are in stock in the {shop|store} on [store]}.""".replace("{in the {shop|store} on|on}", "in the {shop|store} on"),
        **spoken,
    )
    reply = dice.say(
        """{there were [n] [product] on [store], and i ordered them all|i ordered all [n] [product] from [store]|all [n] [product] from [store] are ordered}: [p] euros each, [t] euros
        {in all|altogether|in total}{. the order number is [o]|, number [o]|}.""",
        n=found["quantity"], p=found["price"], t=f"{placed['total']:,}", o=placed["order"], **spoken,
    )  # fmt: skip
    calls = [_call(1, stock, args), _call(2, order, wish)]
    messages = [_user(_request(dice, ask)), _calls(calls[0]), _result(1, found), _calls(calls[1]), _result(2, placed), _reply(reply)]
    return Draft(messages, _expected(calls), None, _schemas(dice, [stock, order], dice.whole(2, 5)))


def chain_trip(dice: Dice) -> Draft:
    """Find a train, then enter the trip into the calendar with the times found."""
    trains, event = BY_NAME["search_trains"], BY_NAME["create_event"]
    args, spoken = _drawn(dice, trains)
    found = trains.run(dice, args)
    title = f"train to {args['destination']}"
    entry = {"title": title, "date": args["date"], "start": found["departure"], "minutes": found["minutes"]}
    entered = event.run(dice, entry)
    ask = dice.say(
        """{find|look up|please find} a train from [origin] to [destination] on [date] and {put|enter} it {in|into} my calendar as "[t]".""", t=title, **spoken
    )  # fmt: skip
    reply = dice.say(
        """{the train from [origin] leaves|your train from [origin] goes|the next train from [origin] departs} at [a] {and arrives|and is due} in [destination] at [b]. {it is in your calendar on
        [date]|i have entered it on [date]|your calendar has it on [date]}{ as "[t]"|}.""",
        a=found["departure"], b=found["arrival"], t=title, **spoken,
    )  # fmt: skip
    calls = [_call(1, trains, args), _call(2, event, entry)]
    messages = [_user(_request(dice, ask)), _calls(calls[0]), _result(1, found), _calls(calls[1]), _result(2, entered), _reply(reply)]
    return Draft(messages, _expected(calls), None, _schemas(dice, [trains, event], dice.whole(2, 5)))


def chain_expense(dice: Dice) -> Draft:
    """Share a bill, then log one's own part (whole euros)."""
    split, log = BY_NAME["split_bill"], BY_NAME["log_expense"]
    people, each, tip = dice.whole(2, 12), dice.whole(6, 90), dice.pick((5, 10, 20, 25))
    if each * people * 100 % (100 + tip):
        return chain_expense(dice)
    args: Values = {"total": each * people * 100 // (100 + tip), "people": people, "tip_percent": tip}
    spoken = {k: f"{v:,}" for k, v in args.items()}
    found = split.run(dice, args)
    category = dice.pick(("food", "travel", "gifts"))
    entry = {"amount": found["each"], "category": category}
    logged = log.run(dice, entry)
    ask = dice.say(
        """{split|share|divide} a bill of [total] euros between [people] people with a [tip_percent]% tip and {log my part|write down my share|note what i pay} for [c].""",
        c=category, **spoken,
    )  # fmt: skip
    reply = dice.say(
        """{your {part|share} is|you pay|it is} [e] euros, {logged|noted|written down} for [c]{. the bill with the tip is [w] euros|; with the tip the bill comes to [w] euros|}{|. [c] is at
        [m] euros this month}.""",
        e=f"{found['each']:g}", c=category, w=f"{found['total_with_tip']:,g}", m=f"{logged['month_total']:,g}",
    )  # fmt: skip
    calls = [_call(1, split, args), _call(2, log, entry)]
    messages = [_user(_request(dice, ask)), _calls(calls[0]), _result(1, found), _calls(calls[1]), _result(2, logged), _reply(reply)]
    return Draft(messages, _expected(calls), None, _schemas(dice, [split, log], dice.whole(2, 5)))


FAMILIES = (
    Family("call_daily", partial(single, DAILY)),
    Family("call_outside", partial(single, OUTSIDE)),
    Family("call_numbers", partial(single, NUMBERS)),
    Family("call_library", partial(single, LIBRARY), seen=False),
    Family("two_calls", two_calls),
    Family("ask_back", partial(ask_back, False)),
    Family("ask_then_call", partial(ask_back, True)),
    Family("no_tool", no_tool),
    Family("failed_call", failed),
    Family("chain_message", chain_message),
    Family("chain_order", chain_order),
    Family("chain_trip", chain_trip),
    Family("chain_expense", chain_expense, seen=False),
)
