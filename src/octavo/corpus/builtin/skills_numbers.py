"""Tools that compute or keep accounts; what they return follows from the arguments."""

from __future__ import annotations

from datetime import date as day

from octavo.corpus.builtin.dice import Dice
from octavo.corpus.builtin.skills import DATE, Argument, Skill, Values
from octavo.corpus.builtin.skills_daily import code, date, same
from octavo.corpus.builtin.words_places import STREETS
from octavo.corpus.builtin.words_time import clock

CURRENCIES = {"EUR": "euros", "USD": "US dollars", "GBP": "pounds sterling", "JPY": "yen",
    "CHF": "Swiss francs", "SEK": "Swedish kronor", "CAD": "Canadian dollars", "INR": "rupees",
        "BRL": "reais", "ZAR": "rand"}  # fmt: skip
UNITS = (
    ("km", "kilometres", "m", "metres", 1000), ("m", "metres", "cm", "centimetres", 100), ("kg", "kilograms",
    "g", "grams", 1000),
    ("l", "litres", "ml", "millilitres", 1000), ("h", "hours", "min", "minutes", 60), ("d", "days", "h",
    "hours", 24),
    ("t", "tonnes", "kg", "kilograms", 1000), ("week", "weeks", "d", "days", 7),
)  # fmt: skip
LANGUAGES = {
    "French": ("bonjour", "merci", "au revoir", "bonne nuit", "s'il vous plait", "bienvenue"),
    "German": ("guten Tag", "danke", "auf Wiedersehen", "gute Nacht", "bitte", "willkommen"),
    "Spanish": ("buenos dias", "gracias", "adios", "buenas noches", "por favor", "bienvenidos"),
    "Italian": ("buongiorno", "grazie", "arrivederci", "buonanotte", "per favore", "benvenuti"),
    "Dutch": ("goedendag", "dank je", "tot ziens", "welterusten", "alsjeblieft", "welkom"),
    "Portuguese": ("bom dia", "obrigado", "adeus", "boa noite", "por favor", "bem-vindos"),
}  # fmt: skip
PHRASES = ("good day", "thank you", "goodbye", "good night", "please", "welcome")


def _currency(dice: Dice) -> dict[str, tuple[object, str]]:
    one, other = dice.some(list(CURRENCIES), 2)
    return {
        "amount": same(dice.whole(5, 2500)),
        "from": (one, CURRENCIES[one]),
        "to": (other, CURRENCIES[other]),
    }


def _converted(dice: Dice, args: Values) -> Values:
    rate = dice.whole(2, 900) / 100
    return {
        "amount": args["amount"],
        "from": args["from"],
        "to": args["to"],
        "rate": rate,
        "converted": round(args["amount"] * round(rate * 100)) / 100,
    }


def _units(dice: Dice) -> dict[str, tuple[object, str]]:
    big, bigs, small, smalls, factor = dice.pick(UNITS)
    if dice.chance(0.5):
        return {"value": same(dice.whole(2, 96)), "from": (big, bigs), "to": (small, smalls)}
    return {"value": same(dice.whole(3, 60) * factor // 2), "from": (small, smalls), "to": (big, bigs)}


def _in_units(_: Dice, args: Values) -> Values:
    factor = {(u[0], u[2]): u[4] for u in UNITS}
    key = (args["from"], args["to"])
    result = args["value"] * factor[key] if key in factor else args["value"] / factor[key[::-1]]
    return {
        "value": args["value"],
        "from": args["from"],
        "to": args["to"],
        "result": int(result) if result == int(result) else round(result, 4),
    }


def _expression(dice: Dice) -> dict[str, tuple[object, str]]:
    a, b, c = dice.whole(12, 980), dice.whole(3, 99), dice.whole(2, 400)
    text = dice.pick(
        (
            f"{a} * {b} + {c}",
            f"{a} * {b} - {c}",
            f"({a} + {c}) * {b}",
            f"{a} + {b} * {c}",
            f"({a} - {b}) * {c}",
        )
    )
    return {"expression": (text, text)}


def _percent(dice: Dice) -> tuple[float, str]:
    value = dice.whole(2, 18) / 2
    return value, f"{value:g}"


def _loan(_: Dice, args: Values) -> Values:
    rate = args["annual_percent"] / 1200
    payment = args["principal"] * rate / (1 - (1 + rate) ** -args["months"])
    return {
        "principal": args["principal"],
        "annual_percent": args["annual_percent"],
        "months": args["months"],
        "monthly": round(payment, 2),
    }


def _share(_: Dice, args: Values) -> Values:
    total = args["total"] * (100 + args["tip_percent"]) / 100
    return {"total_with_tip": _cents(total), "people": args["people"], "each": _cents(total / args["people"])}


def _cents(amount: float) -> float | int:
    """Rounded to cents; a whole number stays one."""
    return int(amount) if amount == int(amount) else round(amount, 2)


def _days(dice: Dice) -> dict[str, tuple[object, str]]:
    one, other = sorted((date(dice), date(dice)))
    far = (day.fromisoformat(other[0]) - day.fromisoformat(one[0])).days > 1
    return {"first": one, "second": other} if far else _days(dice)


def _translation(_: Dice, args: Values) -> Values:
    return {
        "text": args["text"],
        "language": args["language"],
        "translation": LANGUAGES[args["language"]][PHRASES.index(args["text"])],
    }


def _symbol(dice: Dice) -> str:
    return "".join(dice.pick("ABCDEFGHJKLMNPRSTUVW") for _ in range(dice.pick((3, 4))))


NUMBERS = (
    Skill(
        "convert_currency", "Convert an amount of money at today's rate.",
        {
            "amount": Argument("number", "Amount of money", "[v]", "what amount {is it|should i convert}"),
            "from": Argument("string", "Currency code to convert from", "[v]", options=tuple(CURRENCIES)),
            "to": Argument("string", "Currency code to convert to", "{to|into} [v]",
                "{to|into} which currency", options=tuple(CURRENCIES)),
        },
        _currency,
        "{convert|please convert|can you convert|i want to change|please change|could you change} [amount] "
        "[from] [to]",
        _converted,
        "{[amount] [from] {are|come to|make}|for [amount] [from] you get|at a rate of [r_rate], [amount] "
        "[from] are} [r_converted] [to]{| today| at the moment}.",
        "convert currencies",
    ),
    Skill(
        "convert_units", "Convert a measure into another unit.",
        {
            "value": Argument("number", "Value to convert", "[v]", "what value should i convert"),
            "from": Argument("string", "Unit of the value", "[v]"),
            "to": Argument("string", "Wanted unit", "{to|into} [v]", "{into|to} which unit"),
        },
        _units,
        "{convert|please convert|can you convert|i have to convert|help me convert|could you turn} [value] "
        "[from] [to]",
        _in_units,
        "{[value] [from] are|that is|[value] [from] equal|the result is} [r_result] [to].",
        "convert units",
    ),
    Skill(
        "calculate", "Evaluate an arithmetic expression.",
        {"expression": Argument("string", "Expression with + - * / and brackets", "[v]")},
        _expression,
        "{what is [expression]|calculate [expression]|please work out [expression]|can you compute "
        "[expression]|what does [expression] come to}",
        lambda _, a: {"expression": a["expression"], "result": int(_value(a["expression"]))},
        "{[expression] is|[expression] = |the result of [expression] is|[expression] comes to|that makes} "
        "[r_result].",
        "calculate",
    ),
    Skill(
        "loan_payment", "Monthly payment of a loan with fixed interest.",
        {
            "principal": Argument("number", "Sum that is borrowed", "of [v] euros",
                "how much {money |}do you want to borrow"),
            "annual_percent": Argument("number", "Interest a year in percent", "at [v]% interest",
                "what is the interest rate"),
            "months": Argument("integer", "Number of monthly payments", "over [v] months",
                "over how many months"),
        },
        lambda d: {"principal": same(d.whole(1000, 40000, 500)), "annual_percent": _percent(d),
        "months": same(d.whole(6, 120, 6))},
        "{what is the monthly payment for|what would i pay a month for|how much a month is|please work out "
        "the monthly payment of} a loan [principal] [annual_percent] [months]?",
        _loan,
        """{you would pay|the monthly payment is|each month you pay|it comes to} [r_monthly] euros
        for [principal] euros over [months] months{ at [annual_percent]%|}.""",
        "work out loans",
    ),
    Skill(
        "split_bill", "Share a bill with a tip between people.",
        {
            "total": Argument("number", "Bill without tip", "of [v] euros", "how high is the bill"),
            "people": Argument("integer", "Number of people", "between [v] people",
                "how many people {are you|share it}"),
            "tip_percent": Argument("number", "Tip in percent", "with a [v]% tip",
                "how much tip, in percent"),
        },
        lambda d: {"total": same(d.whole(20, 480)), "people": same(d.whole(2, 12)),
        "tip_percent": same(d.pick((5, 10, 12, 15, 20)))},
        "{split|share|please split|can you divide|divide} a bill [total] [people] [tip_percent]",
        _share,
        "{each person pays|everyone pays|that is|the share is} [r_each] euros; {with the tip|tip included}, "
        "the bill {is|comes to} [r_total_with_tip] euros.",
        "split bills",
    ),
    Skill(
        "days_between", "Number of days from one date to another.",
        {
            "first": Argument("string", "Earlier day, YYYY-MM-DD", "from [v]", "from which date",
                pattern=DATE),
            "second": Argument("string", "Later day, YYYY-MM-DD", "to [v]", "up to which date", pattern=DATE),
        },
        _days,
        "{how many days are there|how many days is it|count the days|how long is it in days} [first] "
        "[second]",
        lambda _, a: {"first": a["first"], "second": a["second"],
        "days": (day.fromisoformat(a["second"]) - day.fromisoformat(a["first"])).days},
        "{there are [r_days] days from [first] to [second]|from [first] to [second] it is [r_days] "
        "days|[second] is [r_days] days after [first]}.",
        "count days",
    ),
    Skill(
        "translate", "Translate a short phrase.",
        {
            "text": Argument("string", "English phrase", 'the phrase "[v]"'),
            "language": Argument("string", "Target language", "{into|in} [v]", "into which language",
                options=tuple(LANGUAGES)),
        },
        lambda d: {"text": same(d.pick(PHRASES)), "language": same(d.pick(list(LANGUAGES)))},
        """{for {a guest|our neighbour|my teacher|a friend}: |for a {sign|card|poster}: ||}{translate|please
        translate|can you put|how do i translate} [text] [language]""",
        _translation,
        '"[text]" {in [language] is|is, in [language],|becomes, in [language],} "[r_translation]".',
        "translate",
    ),
    Skill(
        "stock_price", "Latest price of a share.",
        {"symbol": Argument("string", "Ticker symbol", "[v]", "which share, {please|by its symbol}")},
        lambda d: {"symbol": same(_symbol(d))},
        "{what is the price of the share [symbol]|how is the share [symbol] doing|what does the share "
        "[symbol] cost|check the share [symbol]}",
        lambda d, a: {"symbol": a["symbol"], "price": d.whole(200, 90000) / 100,
        "change_percent": d.whole(-90, 90) / 10, "time": clock(d.whole(540, 1050))},
        "{[symbol] {stands|trades} at|a share of [symbol] costs|the price of [symbol] is} [r_price] euros{, "
        "a change of [r_change_percent]%|, [r_change_percent]% on the day| as of [r_time]}.",
        "look up share prices",
    ),
    Skill(
        "log_expense", "Write down an expense in a category.",
        {
            "amount": Argument("number", "Amount in euros", "[v] euros"),
            "category": Argument("string", "Category", "for [v]", "{in|under} which category",
                options=("food", "travel", "rent", "books", "clothes", "health", "gifts", "repairs")),
        },
        lambda d: {"amount": same(d.whole(2, 640)), "category": same(d.pick(("food", "travel", "rent",
            "books", "clothes", "health", "gifts", "repairs")))},
        "{log|write down|i want to log|please log|note} [amount] [category]{| today|, please}",
        lambda d, a: {"category": a["category"], "amount": a["amount"],
        "month_total": a["amount"] + d.whole(0, 900)},
        "{logged|noted|written down|done}: [amount] euros for [category]{. this month it is [r_month_total] "
        "euros|, which makes [r_month_total] euros this month|}.",
        "log expenses",
    ),
    Skill(
        "report_issue", "Report a defect in a street to the town.",
        {
            "category": Argument("string", "What is broken", "[v]", options=("pothole", "broken street lamp",
                "blocked drain", "fallen tree", "broken bench", "missing sign")),
            "street": Argument("string", "Street", "on [v]", "{on|in} which street"),
        },
        lambda d: {"category": same(d.pick(("pothole", "broken street lamp", "blocked drain", "fallen tree",
            "broken bench", "missing sign"))), "street": same(d.pick(STREETS))},
        "{report|please report|i want to report|tell the town about} a [category] [street]",
        lambda d, a: {"ticket": code(d), "category": a["category"], "street": a["street"], "days": d.whole(2,
            30)},
        "{your report of the [category] on [street] has the number|i have reported the [category] on "
        "[street] under|the [category] on [street] is reported as} [r_ticket]{; expect an answer in "
        "[r_days] days|. it is planned for within [r_days] days|}.",
        "report defects to the town",
    ),
)  # fmt: skip


def _value(expression: str) -> int:
    """The value of one of the five forms of expression above."""
    if expression.startswith("("):
        inner, outer = expression[1:].split(") * ")
        return _value(inner) * int(outer)
    for sign in (" + ", " - "):
        if sign in expression:
            left, right = expression.split(sign)
            return _value(left) + _value(right) if sign == " + " else _value(left) - _value(right)
    if " * " in expression:
        left, right = expression.split(" * ")
        return int(left) * int(right)
    return int(expression)
