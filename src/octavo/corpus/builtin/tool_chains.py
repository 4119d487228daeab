"""Chains of two tools: the second call takes what the first returned."""

from __future__ import annotations

from octavo.corpus.builtin.dice import Dice
from octavo.corpus.builtin.draft import Draft
from octavo.corpus.builtin.skills import Values
from octavo.corpus.builtin.tool_turns import (
    BY_NAME,
    call_of,
    calls_turn,
    draw_arguments,
    expected_calls,
    finished_request,
    reply_turn,
    result_turn,
    schemas_with,
    user_turn,
)


def chain_message(dice: Dice) -> Draft:
    """Look a person up, then send a message to the number found."""
    find, send = BY_NAME["find_contact"], BY_NAME["send_message"]
    args, spoken = draw_arguments(dice, find)
    text = draw_arguments(dice, send)[1]["text"]
    found = find.run(dice, args)
    message = {"phone": found["phone"], "text": text}
    sent = send.run(dice, message)
    ask = dice.say(
        '{look up [name] and {send|text} this: "[t]"|find [name] in my contacts and send this message: '
        '"[t]"|please send [name] this message: "[t]"|i want to text [name]: "[t]"}',
        t=text, **spoken,
    )  # fmt: skip
    reply = dice.say(
        '{i have written to|your message went to|sent to} [name]{ at [p]| ([p])|, number [p]}: "[t]".', t=text,
        p=found["phone"], **spoken
    )  # fmt: skip
    calls = [call_of(1, find, args), call_of(2, send, message)]
    messages = [
        user_turn(finished_request(dice, ask)),
        calls_turn(calls[0]),
        result_turn(1, found),
        calls_turn(calls[1]),
        result_turn(2, sent),
        reply_turn(reply),
    ]
    return Draft(messages, expected_calls(calls), None, schemas_with(dice, [find, send], dice.whole(2, 5)))


def chain_order(dice: Dice) -> Draft:
    """See what is in stock, then order all of it or log nothing: as many as there are."""
    stock, order = BY_NAME["check_stock"], BY_NAME["place_order"]
    args, spoken = draw_arguments(dice, stock)
    found = stock.run(dice, args)
    wish = {"product": args["product"], "quantity": found["quantity"]}
    placed = {
        **order.run(dice, wish),
        "unit_price": found["price"],
        "total": found["price"] * found["quantity"],
    }
    ask = dice.say(
        """{see how many [product] the {shop|store} on [store] has and order them all|check the stock of
        [product] in the {shop|store} on [store], then order every one|order all the [product] that are
        in stock in the {shop|store} on [store]}.""",
        **spoken,
    )
    reply = dice.say(
        """{there were [n] [product] on [store], and i ordered them all|i ordered all [n] [product] from
        [store]|all [n] [product] from [store] are ordered}: [p] euros each, [t] euros {in all|altogether|in
        total}{. the order number is [o]|, number [o]|}.""",
        n=found["quantity"], p=found["price"], t=f"{placed['total']:,}", o=placed["order"], **spoken,
    )  # fmt: skip
    calls = [call_of(1, stock, args), call_of(2, order, wish)]
    messages = [
        user_turn(finished_request(dice, ask)),
        calls_turn(calls[0]),
        result_turn(1, found),
        calls_turn(calls[1]),
        result_turn(2, placed),
        reply_turn(reply),
    ]
    return Draft(messages, expected_calls(calls), None, schemas_with(dice, [stock, order], dice.whole(2, 5)))


def chain_trip(dice: Dice) -> Draft:
    """Find a train, then enter the trip into the calendar with the times found."""
    trains, event = BY_NAME["search_trains"], BY_NAME["create_event"]
    args, spoken = draw_arguments(dice, trains)
    found = trains.run(dice, args)
    title = f"train to {args['destination']}"
    entry = {"title": title, "date": args["date"], "start": found["departure"], "minutes": found["minutes"]}
    entered = event.run(dice, entry)
    ask = dice.say(
        """{find|look up|please find} a train from [origin] to [destination] on [date]{ and|, then|. please
        also} {{put|enter} {it|the trip|that} {in|into} my calendar {as|under} "[t]"|add {it|the trip} to my
        calendar {as|under} "[t]"}.""", t=title, **spoken
    )  # fmt: skip
    reply = dice.say(
        """{the train from [origin] leaves|your train from [origin] goes|the next train from [origin]
        departs} at [a] {and arrives|and is due} in [destination] at [b]. {it is in your calendar on [date]|i
        have entered it on [date]|your calendar has it on [date]}{ as "[t]"|}.""",
        a=found["departure"], b=found["arrival"], t=title, **spoken,
    )  # fmt: skip
    calls = [call_of(1, trains, args), call_of(2, event, entry)]
    messages = [
        user_turn(finished_request(dice, ask)),
        calls_turn(calls[0]),
        result_turn(1, found),
        calls_turn(calls[1]),
        result_turn(2, entered),
        reply_turn(reply),
    ]
    return Draft(messages, expected_calls(calls), None, schemas_with(dice, [trains, event], dice.whole(2, 5)))


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
        """{split|share|divide} a bill of [total] euros between [people] people with a [tip_percent]% tip and
        {log my part|write down my share|note what i pay} for [c].""",
        c=category, **spoken,
    )  # fmt: skip
    reply = dice.say(
        """{your {part|share} is|you pay|it is} [e] euros, {logged|noted|written down} for [c]{. the bill
        with the tip is [w] euros|; with the tip the bill comes to [w] euros|}{|. [c] is at [m] euros this
        month}.""",
        e=f"{found['each']:g}", c=category, w=f"{found['total_with_tip']:,g}",
        m=f"{logged['month_total']:,g}",
    )  # fmt: skip
    calls = [call_of(1, split, args), call_of(2, log, entry)]
    messages = [
        user_turn(finished_request(dice, ask)),
        calls_turn(calls[0]),
        result_turn(1, found),
        calls_turn(calls[1]),
        result_turn(2, logged),
        reply_turn(reply),
    ]
    return Draft(messages, expected_calls(calls), None, schemas_with(dice, [split, log], dice.whole(2, 5)))
