"""What the checker itself knows of the world: keys of explanations, orders of steps, measures, double meanings."""

from __future__ import annotations

# term: patterns that an explanation must match, all of them
TERMS: dict[str, tuple[str, ...]] = {
    "evaporation": (r"liquid", r"gas"), "condensation": (r"vapour|gas", r"liquid"),
        "photosynthesis": (r"light", r"sugar", r"water"),
    "gravity": (r"mass", r"pull|attract"), "friction": (r"surfaces", r"slow"), "erosion": (r"wind", r"soil",
        r"rock"),
    "inflation": (r"prices rise", r"money"), "interest": (r"money", r"extra"), "budget": (r"income|comes in",
        r"spen[dt]"),
    "hypothesis": (r"test", r"idea|explanation"), "ecosystem": (r"surroundings", r"depend"),
        "migration": (r"region", r"move"),
    "hibernation": (r"winter", r"energy"), "metaphor": (r"compar", r"thing"), "recycling": (r"waste|used",
        r"new"),
    "compost": (r"soil", r"rot"), "thermostat": (r"temperature", r"heating"), "algorithm": (r"steps",
        r"problem"),
    "password manager": (r"passwords", r"main password"), "backup": (r"copy", r"files"), "vaccine": (r"body",
        r"illness|disease"),
    "echo": (r"sound", r"bounces"), "magnetism": (r"force", r"iron"), "water cycle": (r"rain", r"clouds",
        r"sea"),
    "food chain": (r"eat", r"next|who"), "supply and demand": (r"price", r"want"), "rainbow": (r"sunlight",
        r"colours", r"drops"),
    "fossil": (r"rock", r"living thing|plant or animal"), "eclipse of the sun": (r"moon", r"hides|covers",
        r"sun"),
    "mortgage": (r"home|house", r"loan|lent"), "insulation": (r"heat", r"layer|material"),
        "pollination": (r"pollen", r"seeds"),
    "habit": (r"thought", r"again|repeated"), "deadline": (r"latest|last", r"time|moment"),
        "insurance": (r"loss", r"pay"),
    "buoyancy": (r"water|liquid", r"up"),
}  # fmt: skip

# word: a pattern that its half of a comparison must match
MEANINGS: dict[str, str] = {
    "weather": r"today", "climate": r"average", "lake": r"standing", "river": r"flows", "fruit": r"seeds",
        "vegetable": r"root",
    "loan": r"must be paid back", "grant": r"need not be paid back", "novel": r"invented",
        "biography": r"real person", "mass": r"matter",
    "weight": r"gravity", "fact": r"checked", "opinion": r"thinks", "gross wage": r"before tax",
        "net wage": r"after tax",
    "simile": r"like or as", "metaphor": r"name of another", "virus": r"cells of others",
        "bacterium": r"by itself", "island": r"on all sides(?! but)",
    "peninsula": r"all sides but one", "star": r"own light", "planet": r"reflects",
        "speed": r"how fast(?! and)", "velocity": r"direction",
    "revenue": r"comes in", "profit": r"after the costs", "renting": r"paying for the use",
        "owning": r"yours", "frog": r"smooth", "toad": r"bumpy",
    "violin": r"chin", "cello": r"knees", "mean": r"sum divided", "median": r"middle",
        "recipe": r"how to cook", "menu": r"lists",
    "reservoir": r"made by people", "pond": r"small", "hardware": r"touch", "software": r"programs",
        "diameter": r"across", "radius": r"centre to the edge",
    "comet": r"\btail near", "asteroid": r"without a tail", "editor": r"improves", "author": r"writes",
        "deciduous tree": r"drops", "evergreen tree": r"keeps",
    "debit card": r"at once", "credit card": r"lends",
}  # fmt: skip

# task: a word of every step, in the order in which the steps must come
ORDERS: dict[str, tuple[str, ...]] = {
    "making tea": ("kettle", "boil", "pour", "leaves out"), "planting a tree": ("dig", "set the tree", "fill",
        "water"),
    "sending a parcel": ("things in", "tape", "address", "post office"), "baking bread": ("mix", "knead",
        "rise", "bake", "cool"),
    "washing clothes": ("sort", "machine", "hang", "fold"), "repairing a flat tyre": ("wheel off", "find",
        "patch", "pump"),
    "borrowing a book": ("catalogue", "shelf", "stamped", "back in time"), "painting a wall": ("clear",
        "cover", "paint the wall", "dry", "furniture"),
    "boiling an egg": ("to the boil", "lower", "seven", "cool it", "peel"), "making pancakes": ("stir",
        "heat", "batter", "turn", "serve"),
    "posting a letter": ("write the letter", "fold", "address", "stamp", "box"),
        "sewing on a button": ("thread the", "place", "sew", "knot", "cut"),
    "pitching a tent": ("ground", "spread", "poles", "raise", "peg"), "taking a photograph": ("charge",
        "choose", "focus", "press", "look"),
    "cooking pasta": ("boil", "add", "stir", "drain", "sauce"), "growing tomatoes": ("sow", "outside",
        "sticks", "pick"),
}  # fmt: skip

MEASURES: dict[tuple[str, str], int] = {
    ("an hour", "minutes"): 60, ("a minute", "seconds"): 60, ("a day", "hours"): 24, ("a week", "days"): 7,
    ("a kilogram", "grams"): 1000,
    ("a kilometre", "metres"): 1000, ("a metre", "centimetres"): 100, ("a centimetre", "millimetres"): 10,
    ("a litre", "millilitres"): 1000,
    ("a year", "months"): 12, ("a dozen", "eggs"): 12, ("a century", "years"): 100, ("a hexagon", "sides"): 6,
    ("a right angle", "degrees"): 90,
    ("a leap year", "days"): 366, ("a string quartet", "players"): 4, ("a tonne", "kilograms"): 1000,
    ("a full circle", "degrees"): 360,
    ("a decade", "years"): 10, ("an octagon", "sides"): 8, ("a suit of playing cards", "cards"): 13,
    ("a violin", "strings"): 4,
}  # fmt: skip

# a word in the request: a key of each of its two meanings
DOUBLE: dict[str, tuple[str, str]] = {
    "pounds": ("weight", "currency"), "a bat": ("animal", "equipment"), "bank": ("money", "river"),
        "mouse": ("computer", "pet"),
    "a pitch": ("field", "talk"), "crane": ("bird", "machine"), "a bow": ("ribbon", "archer"),
        "match": ("game", "fire"),
    "ruler": ("stick", "monarch"), "Turkey": ("country", "bird"), "Mercury": ("planet", "metal"),
        "Java": ("island", "programming"),
    "palm": ("tree", "hand"), "current": ("river", "electricity"), "bass": ("fish", "instrument"),
        "trunk": ("suitcase", "elephant"),
    "right pitch": ("tone", "roof"), "good file": ("smoothing", "computer"), "date": ("evening", "fruit"),
}  # fmt: skip

# mistakes of grammar and how they are put right
SLIPS: tuple[tuple[str, str], ...] = (
    (r"\bdon't have\b", "doesn't have"), (r"^There is (?=\d)", "There are "), (r"\bwas late\b", "were late"),
    (r"\bbuyed\b", "bought"),
    (r"\bgoed\b", "went"), (r"\bmore heavy\b", "heavier"), (r"\band I\.$", "and me."), (r"\bless (?=\w)",
    "fewer "), (r"^Its\b", "It's"),
    (r"\blost it's\b", "lost its"), (r"\bshould of\b", "should have"), (r"\bforgot there\b", "forgot their"),
    (r"\bspeaks good\b", "speaks well"),
    (r"^(Each of the .+?) have\b", r"\1 has"), (r"\bseen\b", "saw"), (r"\btaller then\b", "taller than"),
    (r"^I know (\w+) since (\d+) years", r"I have known \1 for \2 years"), (r"\blives near (.+) since\b",
    r"has lived near \1 since"),
)  # fmt: skip
