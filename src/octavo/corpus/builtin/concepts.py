"""Things to explain: each with ways to say what it is and everyday examples (all facts of common knowledge)."""

from __future__ import annotations

# term: (what it is, another way to say it), (an example, another one)
CONCEPTS: dict[str, tuple[tuple[str, str], tuple[str, str]]] = {
    "evaporation": (
        ("a liquid slowly turns into a gas and mixes with the air", "tiny bits of a liquid leave its surface "
            "and become a gas"),
        ("wet laundry dries on a line", "a puddle is gone after a sunny morning"),
    ),
    "condensation": (
        ("a gas cools down and becomes a liquid", "water vapour in the air turns back into liquid drops on "
            "something cold"),
        ("a cold glass gets wet on the outside", "a bathroom mirror mists up after a shower"),
    ),
    "photosynthesis": (
        ("plants use light to make sugar from water and carbon dioxide",
        "a leaf takes in light, water and carbon dioxide and makes sugar"),
        ("a plant on a bright window sill grows well", "grass under a board turns pale without light"),
    ),
    "gravity": (
        ("things that have mass pull on each other", "every mass attracts every other mass, and the Earth "
            "attracts us"),
        ("an apple falls to the ground", "a ball thrown upwards comes down again"),
    ),
    "friction": (
        ("two surfaces that rub against each other slow the movement down",
        "surfaces in contact resist sliding and slow things down"),
        ("brakes stop a bicycle", "hands get warm when we rub them"),
    ),
    "erosion": (
        ("water, wind or ice slowly carries soil and rock away", "soil and rock are worn away bit by bit by "
            "wind, ice or water"),
        ("a river digs a valley", "waves eat into a cliff"),
    ),
    "inflation": (
        ("prices rise over time, so the same money buys less", "money loses some of its worth because prices "
            "rise"),
        ("the same basket of food costs more than last year", "a bus ticket costs more than ten years ago"),
    ),
    "interest": (
        ("a borrower pays extra money for the use of a loan", "money that is lent earns some extra money "
            "over time"),
        ("a bank adds a little to our savings each year", "a loan of 100 may have to be paid back as 105"),
    ),
    "a budget": (
        ("a plan of how much money comes in and what it is spent on", "a list that sets income against "
            "spending before the money is gone"),
        ("a family puts aside part of its pay for rent and food first",
        "a club decides in January what it can spend on trips"),
    ),
    "a hypothesis": (
        ("an idea about how something works that can be tested", "a possible explanation that we test with "
            "an experiment"),
        ("someone guesses that plants grow faster with music and then tries it",
        "we suspect that a battery is empty and test it in another lamp"),
    ),
    "an ecosystem": (
        ("living things in one place together with their surroundings, all depending on each other",
        "plants, animals and their surroundings that depend on each other"),
        ("in a pond, frogs eat insects and herons eat frogs", "bees feed on the flowers of a meadow and "
            "carry their pollen"),
    ),
    "migration": (
        ("animals or people move from one region to another", "a move from one region to another, for "
            "animals often with the seasons"),
        ("swallows fly south in autumn", "whales swim to warmer seas to have their young"),
    ),
    "hibernation": (
        ("an animal sleeps through the winter and saves energy", "some animals spend the winter in a deep "
            "sleep to save energy"),
        ("a hedgehog curls up in a pile of leaves until spring", "a dormouse lives off its fat for months"),
    ),
    "a metaphor": (
        ("a figure of speech that calls one thing by the name of another to compare them",
        "a comparison without the word like: one thing is said to be another"),
        ("someone says that time is money", "we call a busy office a beehive"),
    ),
    "recycling": (
        ("used material is collected and made into something new", "waste is not thrown away but becomes "
            "material for new things"),
        ("old newspapers become egg boxes", "glass bottles are melted and become new ones"),
    ),
    "compost": (
        ("plant waste that has rotted into rich soil", "dark, rich soil that forms when kitchen and garden "
            "waste rots"),
        ("apple peel and leaves become food for the garden", "after some months a heap of cut grass looks "
            "like earth"),
    ),
    "a thermostat": (
        ("a device that keeps a temperature by switching heating or cooling on and off",
        "a switch that watches the temperature and turns the heating on or off"),
        ("an oven stays at the heat we set", "the radiator goes cold when the room is warm enough"),
    ),
    "an algorithm": (
        ("a list of clear steps that solves a problem", "a fixed set of steps, carried out one after the "
            "other, to solve a problem"),
        ("a recipe tells us what to do first, second and third", "we find a name in a list by always opening "
            "the middle"),
    ),
    "a password manager": (
        ("a program that stores all passwords behind one main password",
        "a locked store for passwords that opens with one main password"),
        ("we remember one long phrase and the program fills in the rest",
        "every site gets its own long password and nobody has to learn them"),
    ),
    "a backup": (
        ("a second copy of files, kept somewhere else in case the first is lost",
        "a spare copy of our files, in case the first one is lost"),
        ("photos from a phone are also kept on a disk in a drawer", "a broken laptop costs no letters "
            "because they are stored twice"),
    ),
    "a vaccine": (
        ("a harmless sample that teaches the body to fight an illness",
        "something that trains the body to recognise and fight a disease"),
        ("children are protected from measles", "many people get a flu shot every autumn"),
    ),
    "an echo": (
        ("sound that bounces off a surface and comes back", "a sound heard again because it bounces back "
            "from something hard"),
        ("a shout returns from a mountain side", "clapping in an empty hall sounds double"),
    ),
    "magnetism": (
        ("a force by which magnets attract iron and push or pull each other",
        "a force that pulls on iron and makes magnets attract or repel each other"),
        ("a note sticks to the fridge door", "a compass needle points north"),
    ),
    "the water cycle": (
        ("water rises as vapour, forms clouds, falls as rain and flows back to the sea",
        "the sea gives off vapour, clouds form, rain falls and rivers carry it back"),
        ("the rain on our roof may once have been part of an ocean", "snow on a mountain ends up in a river "
            "in spring"),
    ),
    "a food chain": (
        ("a row of living things in which each one is eaten by the next",
        "a list that shows who eats whom, starting with plants"),
        ("grass is eaten by a rabbit, and the rabbit by a fox", "algae feed small fish, and small fish feed "
            "a seal"),
    ),
    "supply and demand": (
        ("the price rises when many want something that is scarce, and falls when there is plenty",
        "when buyers want more than there is, the price goes up, and when there is too much, it goes down"),
        ("umbrellas cost more outside the station when it rains", "strawberries are cheap in June"),
    ),
    "a rainbow": (
        ("sunlight is split into its colours by drops of rain", "drops of water bend sunlight and spread it "
            "into colours"),
        ("we see one when the sun is behind us and rain in front", "a garden hose can make a small one on a "
            "sunny day"),
    ),
    "a fossil": (
        ("the remains or traces of a living thing, kept in rock for a very long time",
        "a plant or animal of long ago whose shape is kept in rock"),
        ("a shell is found in a stone high up on a mountain", "a footprint of a dinosaur can still be seen"),
    ),
    "an eclipse of the sun": (
        ("the moon passes between the sun and the Earth and hides the sun",
        "the moon covers the sun for us because it moves in between"),
        ("it becomes dark for a few minutes at noon", "birds fall silent as if it were evening"),
    ),
    "a mortgage": (
        ("a loan to buy a home, with the home as security", "money lent for a house, which the bank may take "
            "if it is not paid back"),
        ("a couple pays the bank every month for twenty years", "part of each payment is interest and part "
            "pays off the house"),
    ),
    "insulation": (
        ("a layer that keeps heat from getting in or out", "material that slows the flow of heat"),
        ("a thick coat keeps us warm", "a flask keeps tea hot for hours"),
    ),
    "pollination": (
        ("pollen is carried from flower to flower so that seeds can form",
        "a flower gets pollen from another one and can then form seeds"),
        ("bees visit apple blossom in spring", "the wind blows pollen from one grass to the next"),
    ),
    "a habit": (
        ("something we do again and again until it needs hardly any thought",
        "an action repeated so often that it happens almost without thought"),
        ("we brush our teeth every evening", "someone always puts the keys in the same bowl"),
    ),
    "a deadline": (
        ("the latest time by which something must be done",
        "the last moment at which a task must be finished"),
        ("a form has to be handed in by Friday noon", "the newspaper prints at night, so texts must arrive "
            "by six"),
    ),
    "insurance": (
        ("many people pay a little so that the few who have a loss get help",
        "we pay a small sum regularly and are helped when a loss happens"),
        ("a stolen bicycle is replaced", "the damage of a burst pipe is paid"),
    ),
    "buoyancy": (
        ("water pushes up on things that are in it", "a liquid pushes things in it upwards with the weight "
            "of the liquid they replace"),
        ("a heavy ship of steel floats", "we feel light in a swimming pool"),
    ),
}  # fmt: skip

# two words that are mixed up: what each of them means
PAIRS: tuple[tuple[tuple[str, str], tuple[str, str]], ...] = (
    (("weather", "is what the air does today or this week"), ("climate",
    "is the average of the weather over many years")),
    (("a lake", "is standing water with land around it"), ("a river", "is water that flows to the sea or to "
        "a lake")),
    (("a fruit", "holds the seeds of a plant"), ("a vegetable", "is another part that we eat, such as a root "
        "or a leaf")),
    (("a loan", "is money that must be paid back"), ("a grant", "is money that need not be paid back")),
    (("a novel", "is one long invented story"), ("a biography", "tells the life of a real person")),
    (("mass", "is how much matter a thing has"), ("weight", "is how strongly gravity pulls on it")),
    (("a fact", "can be checked"), ("an opinion", "is what someone thinks, and others may think otherwise")),
    (("a gross wage", "is the pay before tax"), ("a net wage", "is what is left after tax")),
    (("a simile", "compares with the words like or as"), ("a metaphor",
    "calls one thing by the name of another")),
    (("a virus", "needs the cells of others to multiply"), ("a bacterium",
    "is a living cell that multiplies by itself")),
    (("an island", "has water on all sides"), ("a peninsula", "has water on all sides but one")),
    (("a star", "gives off its own light"), ("a planet", "only reflects the light of a star")),
    (("speed", "says how fast something moves"), ("velocity", "says how fast and in which direction")),
    (("revenue", "is all the money that comes in"), ("profit", "is what remains after the costs")),
    (("renting", "means paying for the use of a thing"), ("owning", "means that the thing is yours")),
    (("a frog", "has smooth, moist skin and jumps"), ("a toad", "has dry, bumpy skin and mostly walks")),
    (("a violin", "is held under the chin"), ("a cello", "stands on the floor between the knees")),
    (("a mean", "is the sum divided by the number of values"), ("a median",
    "is the value in the middle of the sorted row")),
    (("a recipe", "says how to cook a dish"), ("a menu", "lists the dishes that are offered")),
    (("a reservoir", "is a store of water made by people"), ("a pond", "is a small body of standing water")),
    (("hardware", "is the part of a computer that one can touch"), ("software",
    "is the programs that a computer runs")),
    (("a diameter", "goes across a circle through its centre"), ("a radius",
    "goes from the centre to the edge")),
    (("a comet", "is made of ice and dust and has a tail near the sun"), ("an asteroid",
    "is a rock without a tail")),
    (("an editor", "improves the texts of others"), ("an author", "writes texts")),
    (("a deciduous tree", "drops its leaves in autumn"), ("an evergreen tree", "keeps its leaves all year")),
    (("a debit card", "takes the money from the account at once"), ("a credit card",
    "lends the money until the bill is paid")),
)  # fmt: skip

# things to do in a fixed order; every step names what the one before has made possible
PROCESSES: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("making tea", ("fill the kettle", "boil the water", "pour it over the leaves", "take the leaves out")),
    ("planting a tree", ("dig a hole", "set the tree in the hole", "fill the hole with soil",
    "water the soil around it")),
    ("sending a parcel", ("put the things in a box", "tape the box shut", "stick on the address",
    "take it to the post office")),
    ("baking bread", ("mix flour, water and yeast", "knead the dough", "let the dough rise", "bake it",
    "let the loaf cool")),
    ("washing clothes", ("sort the clothes", "start the machine", "hang the wet clothes up",
    "fold the dry clothes")),
    ("repairing a flat tyre", ("take the wheel off", "find the hole in the tube", "put a patch on it",
    "pump the tyre up")),
    ("borrowing a book", ("look the book up in the catalogue", "fetch it from the shelf",
    "have it stamped at the desk", "bring it back in time")),
    ("painting a wall", ("clear the room", "cover the floor", "paint the wall", "let the paint dry",
    "move the furniture back")),
    ("boiling an egg", ("bring water to the boil", "lower the egg into it", "wait seven minutes",
    "cool it under cold water", "peel it")),
    ("making pancakes", ("stir eggs, milk and flour together", "heat the pan", "pour in some batter",
    "turn the pancake over", "serve it hot")),
    ("posting a letter", ("write the letter", "fold it into an envelope", "write the address on it",
    "stick on a stamp", "drop it in the box")),
    ("sewing on a button", ("thread the needle", "place the button", "sew through its holes",
    "knot the thread", "cut it off")),
    ("pitching a tent", ("clear the ground", "spread the tent out", "put the poles together",
    "raise the tent", "peg it down")),
    ("taking a photograph", ("charge the camera", "choose what to show", "focus on it", "press the button",
    "look at the picture")),
    ("cooking pasta", ("boil salted water", "add the pasta", "stir it now and then", "drain it",
    "mix it with the sauce")),
    ("growing tomatoes", ("sow the seeds indoors", "move the young plants outside", "tie them to sticks",
    "pick the ripe fruit")),
)  # fmt: skip

# a word with two readings: request, first reading, second reading
AMBIGUOUS: tuple[tuple[str, str, str], ...] = (
    ("how many pounds is that", "the weight", "the British currency"),
    ("what does a bat eat", "the flying animal", "a piece of sports equipment"),
    ("where is the nearest bank", "the place for money", "the side of the river"),
    ("how do i clean a mouse", "the computer device", "a pet"),
    ("how long is a pitch", "the sports field", "a short talk to sell an idea"),
    ("tell me about the crane", "the bird", "the machine on a building site"),
    ("how do i draw a bow", "the knot in a ribbon", "the weapon of an archer"),
    ("what do i need for a match", "a game", "lighting a fire"),
    ("how big is a ruler", "the measuring stick", "a monarch"),
    ("tell me something about Turkey", "the country", "the bird"),
    ("how hot is Mercury", "the planet", "the metal"),
    ("can you describe Java", "the island", "the programming language"),
    ("how tall is a palm", "the tree", "the width of a hand"),
    ("what can i do about the current", "the flow in the river", "the electricity"),
    ("how do i choose a bass", "the fish", "the instrument"),
    ("how heavy is a trunk", "a large suitcase", "the nose of an elephant"),
    ("what is the right pitch", "the height of a tone", "the slope of a roof"),
    ("where do i find a good file", "a tool for smoothing metal", "a document on the computer"),
    ("how long does a date last", "an evening with someone", "the fruit"),
)  # fmt: skip
