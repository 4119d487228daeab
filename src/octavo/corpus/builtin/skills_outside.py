"""Tools for travel, weather, shops and messages."""

from __future__ import annotations

from octavo.corpus.builtin.dice import Dice
from octavo.corpus.builtin.skills import DATE, TIME, Argument, Skill, Values
from octavo.corpus.builtin.skills_daily import code, date, same, time
from octavo.corpus.builtin.words_events import DOCUMENTS
from octavo.corpus.builtin.words_people import SURNAMES, person
from octavo.corpus.builtin.words_places import STREETS, TOWNS, VENUES, VILLAGES
from octavo.corpus.builtin.words_things import LARGE, MEDIUM
from octavo.corpus.builtin.words_time import WEEKDAYS, clock

_SKY = ("sunny", "cloudy", "rainy", "windy", "foggy", "bright", "stormy")
_PRICES = {t.many: (t.low // 100, t.high // 100) for t in LARGE + MEDIUM}
_STORES = ("Harbour Street", "Market Street", "Station Road", "High Street", "North Quay", "Mill Road")


def _name(dice: Dice) -> str:
    return f"{person(dice).name} {dice.pick(SURNAMES)}"


def _two_villages(dice: Dice) -> dict[str, tuple[str, str]]:
    here, there = dice.some(VILLAGES, 2)
    return {"origin": (here, here), "destination": (there, there)}


def _weather(dice: Dice, args: Values) -> Values:
    high = dice.whole(-3, 36)
    return {
        "city": args["city"],
        "date": args["date"],
        "sky": "snowy" if high < 2 else dice.pick(_SKY),
        "high": high,
        "low": high - dice.whole(3, 11),
        "rain_percent": dice.whole(0, 100, 5),
    }


def _trains(dice: Dice, args: Values) -> Values:
    leave, length = dice.whole(300, 1300), dice.whole(15, 240)
    return {
        "origin": args["origin"],
        "destination": args["destination"],
        "date": args["date"],
        "departure": clock(leave),
        "arrival": clock(leave + length),
        "minutes": length,
        "price": dice.whole(4, 90),
    }


def _route(dice: Dice, args: Values) -> Values:
    km = dice.whole(2, 60)
    pace = {"foot": 12, "bicycle": 4, "car": 1}[args["mode"]]
    return {
        "origin": args["origin"],
        "destination": args["destination"],
        "mode": args["mode"],
        "kilometres": km,
        "minutes": km * pace + dice.whole(0, 9),
    }


def _order(dice: Dice, args: Values) -> Values:
    price = dice.whole(*_PRICES[args["product"]])
    return {
        "order": code(dice),
        "product": args["product"],
        "quantity": args["quantity"],
        "unit_price": price,
        "total": price * args["quantity"],
    }


OUTSIDE = (
    Skill(
        "get_weather", "Weather forecast for a city and a day.",
        {
            "city": Argument("string", "Name of the city", "in [v]", "{for which city|which city} {do you "
                "mean|is it about|should i look at}"),
            "date": Argument("string", "Day, YYYY-MM-DD", "on [v]", "{for which date|which date} do you "
                "{need it|have in mind}", pattern=DATE),
        },
        lambda d: {"city": same(d.pick(TOWNS)), "date": date(d)},
        "{what will the weather be like [city] [date]|how is the weather [city] [date]|what is the {weather "
        "|}forecast [city] [date]|do i need an umbrella [city] [date]}?",
        _weather,
        """{it will be [r_sky] in [city] on [date]|[city] can expect a [r_sky] day on [date]|the forecast for
        [city] on [date] is [r_sky]}, {with [r_low] to [r_high] degrees|between [r_low] and [r_high]
        degrees}{. the chance of rain is [r_rain_percent]%| and a [r_rain_percent]% chance of rain}.""",
        "look up the weather",
    ),
    Skill(
        "search_trains", "Next train between two places on a day.",
        {
            "origin": Argument("string", "Where it starts", "from [v]",
                "from where do you want to {start|leave}"),
            "destination": Argument("string", "Where it goes", "to [v]", "where do you want to go"),
            "date": Argument("string", "Day, YYYY-MM-DD", "on [v]", "on which date {do you travel|is the "
                "trip}", pattern=DATE),
        },
        lambda d: {**_two_villages(d), "date": date(d)},
        "{find|is there|look up|i need|can you find} a train [origin] [destination] [date]",
        _trains,
        """{there is a train from [origin] to [destination] at [r_departure]|a train leaves [origin] for
        [destination] at [r_departure]|the train to [destination] leaves [origin] at [r_departure]},
        {arriving at [r_arrival]|due at [r_arrival]} after [r_minutes] minutes{. it costs [r_price] euros|,
        for [r_price] euros}.""",
        "look up trains",
    ),
    Skill(
        "get_directions", "Length and time of a way between two places.",
        {
            "origin": Argument("string", "Where it starts", "from [v]",
                "where {do you start|does the way start}"),
            "destination": Argument("string", "Where it ends", "to [v]", "where do you want to go"),
            "mode": Argument("string", "How one travels", "[v]", "how will you travel: on foot, by bicycle "
                "or by car", options=("foot", "bicycle", "car")),
        },
        lambda d: {**_two_villages(d), "mode": d.pick((("foot", "on foot"), ("bicycle", "by bicycle"), ("car",
            "by car")))},
        "{how far is it|how long does it take|what is the way|show me the way} [origin] [destination] [mode]",
        _route,
        """{from [origin] to [destination] it is|the way from [origin] to [destination] is|between [origin]
        and [destination] there are} [r_kilometres] km; {[mode] it takes [r_minutes] minutes|count on
        [r_minutes] minutes [mode]|you need [r_minutes] minutes [mode]}.""",
        "look up routes",
    ),
    Skill(
        "book_table", "Reserve a table in a restaurant.",
        {
            "restaurant": Argument("string", "Name of the restaurant", "at [v]", "at which restaurant"),
            "date": Argument("string", "Day, YYYY-MM-DD", "on [v]", "on which date", pattern=DATE),
            "time": Argument("string", "Time, HH:MM", "at [v]", "at what time", pattern=TIME),
            "people": Argument("integer", "Number of guests", "for [v]", "for how many people"),
        },
        lambda d: {"restaurant": same(d.pick(SURNAMES) + "'s"), "date": date(d), "time": time(d, 12, 21),
        "people": same(d.whole(2, 12))},
        "{book|reserve|please book|can you reserve|i'd like to book} a table [people] [restaurant] [date] "
        "[time]{|, please}",
        lambda d, a: {"confirmation": code(d), "restaurant": a["restaurant"], "date": a["date"],
        "time": a["time"], "people": a["people"]},
        """{your table for [people] is booked|i have booked a table for [people]|the table for [people] is
        reserved}: [restaurant], {[date] at [time]|[date], [time]}{. the code is [r_confirmation]|, code
        [r_confirmation]|, under [r_confirmation]}.""",
        "book tables",
    ),
    Skill(
        "track_parcel", "Where a parcel is.",
        {"tracking": Argument("string", "Tracking number", "[v]", "what is the tracking number")},
        lambda d: {"tracking": same(code(d, digits=7))},
        "{where is my parcel [tracking]|track {the|my} parcel [tracking]|what has become of {my parcel|the "
        "parcel} [tracking]|has {the|my} parcel [tracking] moved}?",
        lambda d, a: {"tracking": a["tracking"], "status": d.pick(("in transit", "delivered", "at the depot",
            "held at customs", "out for delivery")), "place": d.pick(TOWNS), "updated": clock(d.whole(0,
            1439))},
        """{parcel [tracking] is|your parcel ([tracking]) is|the status of [tracking] is} [r_status]{, last
        seen in [r_place]| in [r_place]}, {as of|updated at|since} [r_updated].""",
        "track parcels",
    ),
    Skill(
        "check_stock", "Is a product in stock in one store?",
        {
            "product": Argument("string", "Name of the product", "[v]"),
            "store": Argument("string", "Street of the store", "in the {shop|store} on [v]",
                "{in which store|at which of the stores} should i look"),
        },
        lambda d: {"product": same(d.pick(LARGE + MEDIUM).many), "store": same(d.pick(_STORES + STREETS))},
        "{are there|do they have|can i still get|have they got} [product] [store]?",
        lambda d, a: {"product": a["product"], "store": a["store"], "quantity": d.whole(2, 40),
        "price": d.whole(*_PRICES[a["product"]])},
        """{yes, [r_quantity] [product] are in stock|there are [r_quantity] [product]|the store has
        [r_quantity] [product]} on [store]{, at [r_price] euros each|. {one|each} costs [r_price] euros}.""",
        "check what is in stock",
    ),
    Skill(
        "place_order", "Order a product.",
        {
            "product": Argument("string", "Name of the product", "[v]"),
            "quantity": Argument("integer", "How many", "[v]", "how many {do you want|should i order|would "
                "you like}"),
        },
        lambda d: {"product": same(d.pick(MEDIUM).many), "quantity": same(d.whole(2, 30))},
        "{order|please order|i'd like to order|can you order|i want to order} [quantity] [product]{| for "
        "me|, please}",
        _order,
        """{i have ordered [quantity] [product]|[quantity] [product] are ordered|your order of [quantity]
        [product] is placed}: [r_unit_price] euros each, [r_total] euros {in all|altogether|in total}{. the
        order number is [r_order]|, number [r_order]|}.""",
        "place orders",
    ),
    Skill(
        "find_contact", "Telephone number and address of a person in the address book.",
        {"name": Argument("string", "Full name", "[v]")},
        lambda d: {"name": same(_name(d))},
        "{what is the {phone |}number of [name]|how can i reach [name]|find the contact of [name]|look up "
        "[name] in my contacts}",
        lambda d, a: {"name": a["name"], "phone": f"0{d.whole(100, 999)} {d.whole(100000, 999999)}",
        "street": f"{d.whole(1, 150)} {d.pick(STREETS)}"},
        "{you {can |}reach [name] at|the number of [name] is|[name] has the number} [r_phone]{; the address "
        "is [r_street]|. the street is [r_street]|}.",
        "search contacts",
    ),
    Skill(
        "send_message", "Send a text message to a number.",
        {
            "phone": Argument("string", "Telephone number", "to [v]", "to which number {should i send "
                "it|shall it go}"),
            "text": Argument("string", "Text of the message", '"[v]"'),
        },
        lambda d: {"phone": same(f"0{d.whole(100, 999)} {d.whole(100000, 999999)}"),
        "text": same(d.raw("{the [x] is ready|I'll be there at [t]|please bring the [x] on [w]|can you check "
            "the [x]}", x=d.pick(DOCUMENTS), t=clock(d.whole(480, 1300, 5)), w=d.pick(WEEKDAYS)))},
        "{send|text|please send|can you send} {this|the following} [phone]: [text]",
        lambda d, a: {"message_id": d.whole(10000, 99999), "phone": a["phone"], "text": a["text"],
        "status": "sent"},
        """{your message to [phone] has been sent|sent to [phone]|i have sent it to [phone]|the message is on
        its way to [phone]}: "[text]"{. its number is [r_message_id]|}.""",
        "send messages",
    ),
    Skill(
        "opening_hours", "Opening hours of a place on a day of the week.",
        {
            "place": Argument("string", "Name of the place", "[v]"),
            "weekday": Argument("string", "Day of the week", "on [v]", "on which day", options=WEEKDAYS),
        },
        lambda d: {"place": same(d.pick(VENUES)), "weekday": same(d.pick(WEEKDAYS))},
        "{when does [place] open [weekday]|until when is [place] open [weekday]|what are the hours of "
        "[place] [weekday]|is [place] open [weekday]}?",
        lambda d, a: {"place": a["place"], "weekday": a["weekday"], "opens": clock(d.whole(6 * 60, 11 * 60,
            15)), "closes": clock(d.whole(15 * 60, 23 * 60, 15))},
        "{on [weekday], [place] is open|[place] is open on [weekday]|you can visit [place] on [weekday]} "
        "from [r_opens] {to|until} [r_closes].",
        "look up opening hours",
    ),
)  # fmt: skip
