"""What the checker knows of the tools: how each is asked for, where its arguments stand, what must be told."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

_MONTHS = "January|February|March|April|May|June|July|August|September|October|November|December"
DATE = rf"(\d{{1,2}} (?:{_MONTHS}) \d{{4}})"
TIME = r"(\d\d:\d\d)"
WEEKDAY = r"(Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday)"
NUMBER = r"(\d[\d,]*(?:\.\d+)?)"
_CURRENCIES = {"euros": "EUR", "US dollars": "USD", "pounds sterling": "GBP", "yen": "JPY",
    "Swiss francs": "CHF", "Swedish kronor": "SEK",
               "Canadian dollars": "CAD", "rupees": "INR", "reais": "BRL", "rand": "ZAR"}  # fmt: skip
_UNITS = {"kilometres": "km", "metres": "m", "centimetres": "cm", "kilograms": "kg", "grams": "g",
    "litres": "l", "millilitres": "ml", "hours": "h",
          "minutes": "min", "days": "d", "tonnes": "t", "weeks": "week"}  # fmt: skip
_MONEY_NAMES = "|".join(_CURRENCIES)
_UNIT_NAMES = "|".join(_UNITS)
_LANGUAGES = "(French|German|Spanish|Italian|Dutch|Portuguese)"
_ISSUES = "(pothole|broken street lamp|blocked drain|fallen tree|broken bench|missing sign)"
_CATEGORIES = "(food|travel|rent|books|clothes|health|gifts|repairs)"
_CODE = r"([A-Z]{2}-\d+)"
_PHONE = r"(0\d{3} \d{6})"
_PLACE = r"([A-Z]\w+(?: [A-Z]\w+)*)"


def iso(text: str) -> str:
    """ "3 May 2026" as "2026-05-03"."""
    return datetime.strptime(text, "%d %B %Y").strftime("%Y-%m-%d")


def numeric(text: str) -> float:
    """ "1,250" as 1250.0."""
    return float(text.replace(",", ""))


@dataclass(frozen=True)
class Reader:
    """Where an argument stands in a request and what it means there; `asked` is what a question for it must mention."""

    pattern: str
    asked: str
    means: Callable[[str], Any] = str
    alone: str = ""  # how it may be given on its own


def _date(before: str = "on ", asked: str = r"\bdate\b") -> Reader:
    return Reader(f"{before}{DATE}", asked, iso)


def _number(pattern: str, asked: str) -> Reader:
    return Reader(pattern.replace("#", NUMBER), asked, numeric, NUMBER)


def _word(pattern: str, asked: str, alone: str = "") -> Reader:
    return Reader(pattern, asked, str, alone)


# tool: (cue of a request, cue that rules it out)
INTENTS: dict[str, tuple[str, str]] = {
    "set_thermostat": (r"heating|thermostat|\btemperature\b", r"recipe"),
    "switch_light": (r"\bthe (?:light|lamp)\b", r"\breport\b|the town"),
    "set_timer": (r"\btimer\b", r"^$"),
    "set_alarm": (r"(?:set|need) (?:an|the) alarm\b|wake me|get up", r"^$"),
    "create_event": (r"\bmy calendar\b", r"^$"),
    "add_to_list": (r"\badd\b", r"calendar"),
    "find_recipe": (r"\b(?:recipe|dish)\b", r"^$"),
    "create_note": (r"\ba note\b", r"^$"),
    "get_weather": (r"weather|forecast|an umbrella", r"^$"),
    "search_trains": (r"\ba train\b", r"^$"),
    "get_directions": (r"how far is it|how long does it take|\bthe way\b", r"^$"),
    "book_table": (r"\ba table\b", r"^$"),
    "track_parcel": (r"\bparcel\b", r"^$"),
    "check_stock": (r"do they have|can i still get|have they got|(?:^|[.?!:,] )are there|see how many|check "
        r"the stock|in stock", r"^$"),
    "place_order": (r"\border\b", r"^$"),
    "find_contact": (r"number of [A-Z]|how can i reach|contacts?\b|look up [A-Z]\w+ [A-Z]|(?-i:send|text) "
        r"(?-i:[A-Z])\w+ [A-Z]\w+(?: this message)?:", r"^$"),
    "send_message": (r'\b(?:send|text)\b.*: "', r"^$"),
    "opening_hours": (r"\bopen\b|the hours of", r"^$"),
    "convert_currency": (rf"(?:convert|change) .*(?:{_MONEY_NAMES})", r"^$"),
    "convert_units": (rf"(?:convert|turn) .*(?:{_UNIT_NAMES})", r"degrees"),
    "calculate": (r"\d\)? [-+*] \(?\d", r"^$"),
    "loan_payment": (r"\ba loan\b", r"library"),
    "split_bill": (r"\ba bill\b", r"^$"),
    "days_between": (r"how many days|count the days|in days", r"^$"),
    "translate": (rf"\btranslate\b|the phrase|into? {_LANGUAGES}", r"^$"),
    "stock_price": (r"\bthe share\b(?! of)", r"bill"),
    "log_expense": (r"\blog\b|write down|note (?:what|\d)", r"^$"),
    "report_issue": (r"\breport\b|tell the town", r"^$"),
    "search_library": (r"\ba book\b", r"^$"),
    "renew_loan": (r"library loan", r"^$"),
    "reserve_room": (r"reading room", r"^$"),
}  # fmt: skip

READERS: dict[str, dict[str, Reader]] = {
    "set_thermostat": {"room": _word(r"in the ([a-z]+(?: room)?)(?= to |[.,?]|$)", "room",
        r"in the ([a-z ]+?)[.,]"), "celsius": _number("to # degrees", "temperature")},
    "switch_light": {"room": _word(r"in the ([a-z]+(?: room)?)(?= at |[.,?]|$)", "room",
        r"in the ([a-z ]+?)[.,]"), "state": _word(r"\b(on|off) the", "state"), "brightness": _number("at #%",
            "bright")},
    "set_timer": {"minutes": _number("of # minutes", "minutes"), "label": _word(r"for the ([\w ]+?)[.,?!]",
        "for")},
    "set_alarm": {"time": Reader(f"at {TIME}", "time"), "weekday": _word(f"on {WEEKDAY}", "day")},
    "create_event": {"title": _word(r"(?:(?:as|under) \"([^\"]+)\"|the (?!trip\b)([\w ]+?) (?:in|into|to) my "
        r"calendar)", "title"), "date": _date(), "start": Reader(f"at {TIME}", r"time|when"),
        "minutes": _number("for # minutes", "minutes")},
    "add_to_list": {"quantity": _number(r"add #", "how many"), "item": _word(r"add (?:\d+ )?([\w -]+?)(?: to "
        r"(?:my|the) \w+ list|[.,?!])", "what"), "list": _word(r"to (?:my|the) (\w+) list", "list")},
    "find_recipe": {"ingredient": _word(r"with (\w+)", "ingredient"),
        "max_minutes": _number("at most # minutes", "time")},
    "create_note": {"title": _word(r'(?:under|called|with the title) "([^"]+)"', "title"),
        "text": _word(r': "([^"]+)"', "text")},
    "get_weather": {"city": _word(rf"in {_PLACE}", "city"), "date": _date()},
    "search_trains": {"origin": _word(rf"from {_PLACE}", "from where"), "destination": _word(rf"to {_PLACE}",
        "go"), "date": _date()},
    "get_directions": {"origin": _word(rf"from {_PLACE}", "start"), "destination": _word(rf"to {_PLACE}",
        "go"), "mode": _word(r"(?:on|by) (foot|bicycle|car)", "travel")},
    "book_table": {"restaurant": _word(r"at ([A-Z]\w+'s)", "restaurant"), "date": _date(),
        "time": Reader(f"at {TIME}", "time"), "people": _number(r"for #(?= at| on|[.,?!]|$)",
            "how many people")},
    "track_parcel": {"tracking": _word(_CODE, "tracking number")},
    "check_stock": {"product": _word(r"(?:have they got|do they have|still get|are there|see how many|stock "
        r"of|order all the) ([\w -]+?)(?: in the| the (?:shop|store)| that are|\?)", "product"),
                    "store": _word(rf"(?:shop|store) on {_PLACE}", "store")},
    "place_order": {"quantity": _number(r"order #", "how many"), "product": _word(r"order (?!them|every|"
        r"all)(?:\d+ )?([\w -]+?)(?: for me|[.,?!])", "product")},
    "find_contact": {"name": _word(r"(?:[Nn]umber of|reach|contact of|[Ll]ook up|[Ff]ind|[Tt]ext|[Ss]end) "
        r"([A-Z]\w+ [A-Z]\w+)", "person")},
    "send_message": {"phone": _word(_PHONE, "number"), "text": _word(r': "([^"]+)"', "text")},
    "opening_hours": {"place": _word(r"(?:does|is|hours of) (the [\w' -]+?) (?:open|on \w+day)|hours of (the "
        r"[\w' -]+?)\?|(?:is) (the [\w' -]+?) open", "place"), "weekday": _word(f"on {WEEKDAY}", "day")},
    "convert_currency": {"amount": _number(rf"# (?={_MONEY_NAMES})", "amount"),
        "from": Reader(rf"(?:convert|change) (?:[\d,]+ )?({_MONEY_NAMES})", "currency",
            _CURRENCIES.__getitem__),
                         "to": Reader(rf"(?:to|into) ({_MONEY_NAMES})", "currency", _CURRENCIES.__getitem__)},
    "convert_units": {"value": _number(rf"# (?={_UNIT_NAMES})", "value"),
        "from": Reader(rf"(?:convert|turn) (?:[\d,]+ )?({_UNIT_NAMES})", "unit", _UNITS.__getitem__),
                      "to": Reader(rf"(?:to|into) ({_UNIT_NAMES})", "unit", _UNITS.__getitem__)},
    "calculate": {"expression": _word(r"(\(?\d+ [-+*] [\d(][\d()+* -]*\d)", "calculate")},
    "loan_payment": {"principal": _number("of # euros", "borrow"), "annual_percent": _number("at #%",
        "interest"), "months": _number("over # months", "months")},
    "split_bill": {"total": _number("of # euros", "bill"), "people": _number("between # people", "people"),
        "tip_percent": _number("#% tip", "tip")},
    "days_between": {"first": _date("from ", "from which date"), "second": _date("to ", "to which date")},
    "translate": {"text": _word(r'"([^"]+)"', "phrase"), "language": _word(rf"(?:into|in) {_LANGUAGES}",
        "language")},
    "stock_price": {"symbol": _word(r"(?<![\w-])([A-Z]{3,4})(?![\w-])", "share")},
    "log_expense": {"amount": _number("(?:log|down|note) # euros", "how much"),
        "category": _word(rf"for {_CATEGORIES}", "category")},
    "report_issue": {"category": _word(_ISSUES, "category"), "street": _word(rf"on {_PLACE}", "street")},
    "search_library": {"author": _word(r"by ([A-Z]\w+)", "author"), "topic": _word(r"about (\w+)", "topic")},
    "renew_loan": {"card": _word(rf"card {_CODE}", "card"), "weeks": _number("for # weeks", "weeks")},
    "reserve_room": {"room": _number("room #", "room"), "date": _date()},
}  # fmt: skip

# an argument of a later call that comes from an earlier result: (tool, argument) -> (tool, field)
CARRIED = {
    ("send_message", "phone"): ("find_contact", "phone"), ("place_order", "quantity"): ("check_stock",
    "quantity"), ("place_order", "product"): ("check_stock", "product"),
    ("create_event", "start"): ("search_trains", "departure"), ("create_event", "minutes"): ("search_trains",
    "minutes"), ("log_expense", "amount"): ("split_bill", "each"),
}  # fmt: skip

# fields of a result that the reply must give
TOLD: dict[str, tuple[str, ...]] = {
    "set_thermostat": ("target_celsius", "room"), "switch_light": ("room", "brightness"),
        "set_timer": ("minutes", "label"), "set_alarm": ("time", "weekday"),
    "create_event": ("title", "date", "start", "end"), "add_to_list": ("item", "list", "quantity"),
        "find_recipe": ("title", "minutes", "servings"), "create_note": ("text", "title"),
    "get_weather": ("sky", "high", "low", "city", "date"), "search_trains": ("departure", "arrival", "origin",
        "destination"), "get_directions": ("kilometres", "minutes"),
    "book_table": ("restaurant", "date", "time", "people"), "track_parcel": ("status", "place"),
        "check_stock": ("quantity", "price", "store"), "place_order": ("quantity", "total", "product"),
    "find_contact": ("phone", "name"), "send_message": ("phone", "text"), "opening_hours": ("opens", "closes",
        "place"), "convert_currency": ("converted",), "convert_units": ("result",),
    "calculate": ("result",), "loan_payment": ("monthly",), "split_bill": ("each", "total_with_tip"),
        "days_between": ("days",), "translate": ("translation", "text"),
    "stock_price": ("symbol", "price"), "log_expense": ("amount", "category"), "report_issue": ("ticket",
        "street"), "search_library": ("copies", "shelf"), "renew_loan": ("weeks", "card"),
    "reserve_room": ("room", "date"),
}  # fmt: skip

# in a chain the reply tells the end of it, not every step
TOLD_IN_CHAIN = {("find_contact", "send_message"): ("phone", "text", "name"), ("check_stock",
    "place_order"): ("quantity", "total", "product", "unit_price"),
                 ("search_trains", "create_event"): ("departure", "arrival", "date", "destination"),
                 ("split_bill", "log_expense"): ("each", "category")}  # fmt: skip

PHRASES = {
    "French": {"good day": "bonjour", "thank you": "merci", "goodbye": "au revoir",
        "good night": "bonne nuit", "please": "s'il vous plait", "welcome": "bienvenue"},
    "German": {"good day": "guten Tag", "thank you": "danke", "goodbye": "auf Wiedersehen",
        "good night": "gute Nacht", "please": "bitte", "welcome": "willkommen"},
    "Spanish": {"good day": "buenos dias", "thank you": "gracias", "goodbye": "adios",
        "good night": "buenas noches", "please": "por favor", "welcome": "bienvenidos"},
    "Italian": {"good day": "buongiorno", "thank you": "grazie", "goodbye": "arrivederci",
        "good night": "buonanotte", "please": "per favore", "welcome": "benvenuti"},
    "Dutch": {"good day": "goedendag", "thank you": "dank je", "goodbye": "tot ziens",
        "good night": "welterusten", "please": "alsjeblieft", "welcome": "welkom"},
    "Portuguese": {"good day": "bom dia", "thank you": "obrigado", "goodbye": "adeus",
        "good night": "boa noite", "please": "por favor", "welcome": "bem-vindos"},
}  # fmt: skip


def wanted_tools(text: str) -> list[str]:
    """The tools that a request is about, in the order of this table; what is quoted in it does not count."""
    text = re.sub(r'"[^"]*"', '""', text)
    return [
        tool
        for tool, (cue, unless) in INTENTS.items()
        if re.search(cue, text, re.IGNORECASE) and not re.search(unless, text, re.IGNORECASE)
    ]
