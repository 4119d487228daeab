"""Conversations with tools: single calls, two calls, missing arguments, failures, nothing that fits."""

from __future__ import annotations

from functools import partial

from octavo.corpus.builtin import tool_chains
from octavo.corpus.builtin.dice import Dice
from octavo.corpus.builtin.draft import Draft, Family
from octavo.corpus.builtin.skills import Skill
from octavo.corpus.builtin.skills_daily import DAILY
from octavo.corpus.builtin.skills_library import LIBRARY
from octavo.corpus.builtin.skills_numbers import NUMBERS
from octavo.corpus.builtin.skills_outside import OUTSIDE
from octavo.corpus.builtin.tool_turns import (
    BY_NAME,
    SKILLS,
    call_of,
    calls_turn,
    closed,
    draw_arguments,
    expected_calls,
    finished_request,
    reply_turn,
    result_turn,
    schemas_with,
    user_turn,
)
from octavo.corpus.builtin.words_time import WEEKDAYS


def single(skills: tuple[Skill, ...], dice: Dice) -> Draft:
    """One request, one call, its result told."""
    skill = dice.pick(skills)
    args, spoken = draw_arguments(dice, skill)
    result = skill.run(dice, args)
    call = call_of(1, skill, args)
    messages = [
        user_turn(finished_request(dice, skill.ask(dice, spoken))),
        calls_turn(call),
        result_turn(1, result),
        reply_turn(skill.tell(dice, spoken, result)),
    ]
    return Draft(messages, expected_calls([call]), None, schemas_with(dice, [skill], dice.whole(1, 5)))


def two_calls(dice: Dice) -> Draft:
    """One request that needs two different tools, called in one turn."""
    first, second = dice.some([s for s in SKILLS if '"' not in s.request and "text" not in s.arguments], 2)
    drawn = [draw_arguments(dice, first), draw_arguments(dice, second)]
    link = dice.pick(("also, ", "and one more thing: ", "besides, ", "after that: ", "second, ", "and then "))
    text = f"{closed(first.ask(dice, drawn[0][1]))} {link}{closed(second.ask(dice, drawn[1][1]))}"
    calls = [
        call_of(n, skill, args)
        for n, (skill, (args, _)) in enumerate(zip((first, second), drawn, strict=True), 1)
    ]
    results = [skill.run(dice, args) for skill, (args, _) in zip((first, second), drawn, strict=True)]
    told = " ".join(s.tell(dice, d[1], r) for s, d, r in zip((first, second), drawn, results, strict=True))
    messages = [
        user_turn(finished_request(dice, text)),
        calls_turn(*calls),
        result_turn(1, results[0]),
        result_turn(2, results[1]),
        reply_turn(told),
    ]
    return Draft(messages, expected_calls(calls), None, schemas_with(dice, [first, second], dice.whole(2, 6)))


def ask_back(then_call: bool, dice: Dice) -> Draft:
    """A request without a required argument: the assistant asks for it, and calls the tool once it has it."""
    skill = dice.pick([s for s in SKILLS if any(a.question for a in s.arguments.values())])
    missing = dice.pick([name for name, a in skill.arguments.items() if a.question])
    args, spoken = draw_arguments(dice, skill)
    question = dice.say(
        "{sure|gladly|of course|happy to|no problem|with pleasure}{. one question first: |, but |. just "
        "tell me: |. before i start: |. i only need to know: }[q]?",
        q=dice.raw(skill.arguments[missing].question),
    )
    messages = [user_turn(finished_request(dice, skill.ask(dice, spoken, missing))), reply_turn(question)]
    tools = schemas_with(dice, [skill], dice.whole(1, 5))
    if not then_call:
        return Draft(messages, expected_calls([], missing), None, tools)
    argument = skill.arguments[missing]
    supplied = dice.raw(argument.supply or argument.phrase, v=spoken[missing])
    result = skill.run(dice, args)
    call = call_of(1, skill, args)
    messages += [
        user_turn(dice.say(
            "{|oh, sorry: |right, |of course: |good point: }[s]{, please|, thanks|}.",
            s=supplied),
        ),
        calls_turn(call), result_turn(1, result), reply_turn(skill.tell(dice, spoken, result)),
    ]  # fmt: skip
    return Draft(messages, expected_calls([call], missing), None, tools)


def no_tool(dice: Dice) -> Draft:
    """A request for which no tool on offer fits: said plainly, with what can be done."""
    skill = dice.pick(SKILLS)
    _, spoken = draw_arguments(dice, skill)
    near = frozenset({skill.name, *_ALIKE.get(skill.name, ())})
    tools = schemas_with(dice, [], dice.whole(1, 4), near)
    can = BY_NAME[dice.pick(tools)["function"]["name"]].purpose
    reply = dice.say(
        """{i am sorry, but|sorry,|unfortunately,|i'm afraid} {i cannot [w] here|i have no tool to [w]|none
        of my tools can [w]|that is not possible here: i cannot [w]}. {what i can do is [c]|i could [c]
        instead, if that helps|if you want, i can [c]|among other things, i can [c]|let me know if i should
        [c]}.""",
        w=skill.purpose, c=can,
    )  # fmt: skip
    return Draft(
        [user_turn(finished_request(dice, skill.ask(dice, spoken))), reply_turn(reply)],
        expected_calls([]),
        None,
        tools,
    )


_ALIKE = {"convert_currency": ("calculate",), "convert_units": ("calculate",), "split_bill": ("calculate",),
"loan_payment": ("calculate",),
          "calculate": ("split_bill",), "set_alarm": ("set_timer", "create_event"),
              "set_timer": ("set_alarm",), "add_to_list": ("create_note",),
          "create_note": ("add_to_list",), "log_expense": ("create_note",)}  # fmt: skip


def failed(dice: Dice) -> Draft:
    """The tool answers with an error; the assistant says so and invents nothing."""
    skill = dice.pick(SKILLS)
    args, spoken = draw_arguments(dice, skill)
    error, told = dice.pick(_ERRORS)
    call = call_of(1, skill, args)
    reply = dice.say(
        """{i am sorry, but |sorry, |unfortunately |that did not work: }i could not [w], because [t]. {shall
        i try {again|it again} {later|in a moment|on [d]}|would you like {me to try once more|another try on
        [d]}|do you want me to {repeat it|try once more} {on [d]|tomorrow|later}|should i try again
        {tomorrow|on [d]|in an hour}}?""",
        w=skill.purpose, t=dice.raw(told), d=dice.pick(WEEKDAYS),
    )  # fmt: skip
    messages = [
        user_turn(finished_request(dice, skill.ask(dice, spoken))),
        calls_turn(call),
        result_turn(1, {"error": error}),
        reply_turn(reply),
    ]
    return Draft(messages, expected_calls([call]), None, schemas_with(dice, [skill], dice.whole(1, 5)))


_ERRORS = (
    ("timeout", "{the service did not answer in time|the request took too long}"), ("service unavailable",
    "{the service is down|the service is not available}"),
    ("permission denied", "{i am not allowed to do that|the permission is missing}"), ("rate limit reached",
    "there {have been|were} too many requests"),
    ("maintenance", "the system is being {serviced|maintained}"), ("network error",
    "{the network failed|there was a problem with the network}"),
)  # fmt: skip


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
    Family("chain_message", tool_chains.chain_message),
    Family("chain_order", tool_chains.chain_order),
    Family("chain_trip", tool_chains.chain_trip),
    Family("chain_expense", tool_chains.chain_expense, seen=False),
)
