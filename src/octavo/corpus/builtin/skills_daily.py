"""Tools of the house, the calendar and the kitchen."""

from __future__ import annotations

from octavo.corpus.builtin.dice import Dice
from octavo.corpus.builtin.skills import DATE, TIME, Argument, Skill
from octavo.corpus.builtin.words_events import DOCUMENTS, EVENTS
from octavo.corpus.builtin.words_things import FOODS, SMALL
from octavo.corpus.builtin.words_time import MONTHS, WEEKDAYS, clock

ROOMS = (
    "kitchen",
    "bathroom",
    "bedroom",
    "living room",
    "hall",
    "study",
    "cellar",
    "attic",
    "nursery",
    "workshop",
    "dining room",
    "garage",
)
LISTS = (
    "groceries",
    "camping",
    "hardware",
    "party",
    "birthday",
    "school",
    "garden",
    "office",
    "weekend",
    "holiday",
)


def date(dice: Dice) -> tuple[str, str]:
    """A day as it stands in a call and as it is said: ("2026-05-03", "3 May 2026")."""
    year, month, day = dice.whole(2025, 2028), dice.whole(1, 12), dice.whole(1, 28)
    return f"{year}-{month:02d}-{day:02d}", f"{day} {MONTHS[month - 1]} {year}"


def time(dice: Dice, first: int = 6, last: int = 22) -> tuple[str, str]:
    """A clock time, the same in a call and in speech."""
    at = clock(dice.whole(first * 60, last * 60, 5))
    return at, at


def code(dice: Dice, letters: str = "ABCDEFGHJKLMNPQRSTUVWXYZ", digits: int = 5) -> str:
    """A reference such as "KD-48213"."""
    return (
        dice.pick(letters) + dice.pick(letters) + "-" + "".join(str(dice.whole(0, 9)) for _ in range(digits))
    )


def same(value: str | int) -> tuple[str | int, str]:
    """A value that is said as it is."""
    return value, f"{value:,}" if isinstance(value, int) else value


DAILY = (
    Skill(
        "set_thermostat", "Set the target temperature of one room.",
        {
            "room": Argument("string", "Name of the room", "in the [v]",
                "which room {is it about|do you mean|should it be}"),
            "celsius": Argument("number", "Target in degrees Celsius", "to [v] degrees",
                "{what|which} temperature {would you like|should i set}"),
        },
        lambda d: {"room": same(d.pick(ROOMS)), "celsius": same(d.whole(15, 25))},
        """{please set|can you set|could you turn|i'd like you to set} the {heating|thermostat|temperature}
        [room] [celsius]{, please|}""",
        lambda d, a: {"room": a["room"], "previous_celsius": d.whole(12, 26), "target_celsius": a["celsius"],
        "status": "ok"},
        """{done|all set|that is set}: the [room] {will be|is now set to} [celsius] degrees{. it was {set
        to|at} [r_previous_celsius] before|. before, it was [r_previous_celsius]|}.""",
        "change the heating",
    ),
    Skill(
        "switch_light", "Switch a light on or off, with a brightness.",
        {
            "room": Argument("string", "Name of the room", "in the [v]",
                "in which room {is the light|should i do that}"),
            "state": Argument("string", "on or off", "[v]", options=("on", "off")),
            "brightness": Argument("integer", "Brightness in percent", "at [v]%",
                "how bright should it be, in percent"),
        },
        lambda d: {"room": same(d.pick(ROOMS)), "state": same("on"), "brightness": same(d.whole(10, 100, 5))},
        "{please switch|can you turn|would you switch|turn} [state] the {light|lamp} [room] [brightness]{, "
        "please|}",
        lambda d, a: {"room": a["room"], "state": a["state"], "brightness": a["brightness"],
        "watts": d.whole(3, 14)},
        """{the {light|lamp} in the [room] is on at [brightness]%|done: [brightness]% in the [room]}{. it
        {uses|draws} [r_watts] watts|, using [r_watts] watts|}.""",
        "switch lights",
    ),
    Skill(
        "set_timer", "Start a timer with a label.",
        {
            "minutes": Argument("integer", "Length in minutes", "of [v] minutes",
                "how many minutes should {it|the timer} run"),
            "label": Argument("string", "What the timer is for", "for the [v]", "what is the timer for"),
        },
        lambda d: {"minutes": same(d.whole(2, 95)), "label": same(d.pick(FOODS))},
        "{start|set|i need|can you start|please set} a timer [minutes] [label]{, please|}",
        lambda d, a: {"timer_id": d.whole(100, 999), "label": a["label"], "minutes": a["minutes"],
        "running": True},
        """{the timer for the [label] is running|i have started the timer for the [label]|your [label] timer
        is on}: [minutes] minutes{. its number is [r_timer_id]|, number [r_timer_id]|}.""",
        "set timers",
    ),
    Skill(
        "set_alarm", "Set an alarm for a weekday and time.",
        {
            "time": Argument("string", "Time, HH:MM", "at [v]", "at what time should it ring", pattern=TIME),
            "weekday": Argument("string", "Day of the week", "on [v]",
                "{on which day|for which day of the week} {is that|should i set it}", options=WEEKDAYS),
        },
        lambda d: {"time": time(d, 4, 10), "weekday": same(d.pick(WEEKDAYS))},
        "{wake me up|set an alarm for me|i have to get up|i need an alarm|please set the alarm} [weekday] "
        "[time]",
        lambda d, a: {"alarm_id": d.whole(10, 99), "weekday": a["weekday"], "time": a["time"],
        "active": True},
        "{the alarm is set|it will ring|your alarm will ring|done, the alarm rings} {on [weekday] at "
        "[time]|at [time] on [weekday]}{| (alarm [r_alarm_id])}.",
        "set alarms",
    ),
    Skill(
        "create_event", "Put an event into the calendar.",
        {
            "title": Argument("string", "Name of the event", "the [v]"),
            "date": Argument("string", "Day, YYYY-MM-DD", "on [v]", "on which date is {it|the event}",
                pattern=DATE),
            "start": Argument("string", "Start, HH:MM", "at [v]", "{when|at what time} does it start",
                pattern=TIME),
            "minutes": Argument("integer", "Length in minutes", "for [v] minutes",
                "how many minutes {does|will} it last"),
        },
        lambda d: {"title": same(d.pick(EVENTS)), "date": date(d), "start": time(d, 8, 19),
        "minutes": same(d.whole(20, 180, 5))},
        "{{put|enter|please put|can you put} [title] {in|into}|{add|please add|can you add} [title] to} my "
        "calendar [date] [start] [minutes]",
        lambda d, a: {"event_id": code(d), "title": a["title"], "date": a["date"], "start": a["start"],
        "end": clock(int(a["start"][:2]) * 60 + int(a["start"][3:]) + a["minutes"])},
        """{the [title] is in your calendar|i have entered the [title]|your calendar now has the [title]}:
        [date], {[start] to [r_end]|from [start] to [r_end]|[start] until [r_end]}.""",
        "add calendar events",
    ),
    Skill(
        "add_to_list", "Add an item to a named list.",
        {
            "item": Argument("string", "What to add", "[v]"),
            "quantity": Argument("integer", "How many", "[v]", "how many {do you need|should i write down}"),
            "list": Argument("string", "Name of the list", "to {my|the} [v] list",
                "to which list should {i add them|they go}"),
        },
        lambda d: {"item": same(d.pick(SMALL).many), "quantity": same(d.whole(2, 24)),
        "list": same(d.pick(LISTS))},
        "{add|please add|can you add|i'd like to add|could you add} [quantity] [item] [list]",
        lambda d, a: {"list": a["list"], "item": a["item"], "quantity": a["quantity"], "entries": d.whole(2,
            30)},
        """{[quantity] [item] are on|i have added [quantity] [item] to|done: [quantity] [item] on} the [list]
        list{, which now has [r_entries] entries|. it has [r_entries] entries now|}.""",
        "change lists",
    ),
    Skill(
        "find_recipe", "Find a recipe with an ingredient and a time limit.",
        {
            "ingredient": Argument("string", "Main ingredient", "with [v]",
                "what {main |}ingredient should it have"),
            "max_minutes": Argument("integer", "Longest time in minutes",
                "{in|that takes} at most [v] minutes", "how much time do you have, in minutes",
                supply="at most [v] minutes"),
        },
        lambda d: {"ingredient": same(d.pick(("beans", "carrots", "cauliflower", "chickpeas", "eggs",
            "fennel", "leeks", "lentils", "mushrooms", "peas", "peppers", "potatoes", "pumpkin", "rice",
            "spinach", "tofu", "tomatoes"))), "max_minutes": same(d.whole(15, 90, 5))},
        "{find|look for|i need|is there|can you find} a {recipe|dish} [ingredient] [max_minutes]",
        lambda d, a: {"title": d.pick(FOODS), "ingredient": a["ingredient"],
        "minutes": a["max_minutes"] - d.whole(0, 10), "servings": d.whole(2, 8)},
        """{you could try|i found|there is a recipe for|you could make} [r_title] with [ingredient]: {it
        takes [r_minutes] minutes and serves [r_servings]|[r_minutes] minutes, for [r_servings] people}.""",
        "search recipes",
    ),
    Skill(
        "create_note", "Save a note under a title.",
        {
            "title": Argument("string", "Title of the note", "{under|called|with the title} \"[v]\"",
                "{under which title should i save it|what title should it have}"),
            "text": Argument("string", "Text of the note", "\"[v]\""),
        },
        lambda d: {"title": same(d.pick(DOCUMENTS)), "text": same(d.raw("{check|print|send|sign|finish} the "
            "[x] {before|by|on} [w]", x=d.pick(DOCUMENTS), w=d.pick(WEEKDAYS)))},
        "{save|write|keep|please save|make} a note [title]: [text]",
        lambda d, a: {"note_id": d.whole(1000, 9999), "title": a["title"], "text": a["text"], "saved": True},
        "{saved|i have saved it|the note is saved|done}: \"[text]\" under \"[title]\"{, note [r_note_id]|. "
        "the number is [r_note_id]|}.",
        "save notes",
    ),
)  # fmt: skip
