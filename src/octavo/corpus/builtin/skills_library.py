"""Tools of a library: never trained on, so that held-out examples show what happens with tools never seen."""

from __future__ import annotations

from octavo.corpus.builtin.skills import DATE, Argument, Skill
from octavo.corpus.builtin.skills_daily import code, date, same
from octavo.corpus.builtin.words_people import SURNAMES

LIBRARY = (
    Skill(
        "search_library", "Is there a book by an author in the library?",
        {
            "author": Argument("string", "Family name of the author", "by [v]", "by which author"),
            "topic": Argument("string", "Topic of the book", "about [v]", "about which topic"),
        },
        lambda d: {"author": same(d.pick(SURNAMES)), "topic": same(d.pick(("astronomy", "bees", "bridges",
            "cheese", "chess", "clouds", "ferns", "glaciers", "gold", "islands", "knots", "maps", "music",
            "owls", "rivers", "ships", "silk", "tea", "trees", "wool")))},
        "{does the library have|is there|find|please look for} a book [author] [topic]",
        lambda d, a: {"author": a["author"], "topic": a["topic"], "copies": d.whole(2, 9),
        "shelf": f"{d.pick('ABCDEFGH')}{d.whole(1, 40)}"},
        "{yes, the library has|there are|i found} [r_copies] copies of the book {about [topic] by "
        "[author]|by [author] about [topic]} on shelf [r_shelf].",
        "search the library",
    ),
    Skill(
        "renew_loan", "Keep a borrowed book longer.",
        {
            "card": Argument("string", "Number of the library card", "on card [v]",
                "what is the number of your library card"),
            "weeks": Argument("integer", "Weeks to add", "for [v] weeks", "for how many weeks"),
        },
        lambda d: {"card": same(code(d)), "weeks": same(d.whole(2, 8))},
        "{renew|please renew|can you renew|i'd like to renew} my library loan [card] [weeks]{|, please}",
        lambda d, a: {"card": a["card"], "weeks": a["weeks"], "due": date(d)[0], "renewals_left": d.whole(2,
            6)},
        "{the loan on card [card] is renewed|i have renewed the loan on card [card]|card [card]: renewed} "
        "{for|by} [weeks] weeks{, with [r_renewals_left] renewals left|; you have [r_renewals_left] "
        "renewals left}.",
        "renew library loans",
    ),
    Skill(
        "reserve_room", "Reserve a reading room.",
        {
            "room": Argument("integer", "Number of the room", "[v]", "which room number"),
            "date": Argument("string", "Day, YYYY-MM-DD", "on [v]", "on which date", pattern=DATE),
        },
        lambda d: {"room": same(d.whole(2, 60)), "date": date(d)},
        "{reserve|please reserve|can i have|i need} reading room [room] [date]{|, please}",
        lambda d, a: {"room": a["room"], "date": a["date"], "seats": d.whole(2, 24), "code": code(d)},
        "{reading room [room] is yours|room [room] is reserved|you have reading room [room]} on [date]{; "
        "the code is [r_code]|, with the code [r_code]}{|. it has [r_seats] seats}.",
        "reserve reading rooms",
    ),
)  # fmt: skip
