"""Things: goods with their plural and usual price, containers, foods, animals, colours, activities, words."""

from __future__ import annotations

from dataclasses import dataclass

from octavo.corpus.builtin.dice import pool


@dataclass(frozen=True)
class Thing:
    """A countable thing: singular, plural, and the range of its usual price in cents."""

    one: str
    many: str
    low: int
    high: int

    def of(self, count: int) -> str:
        """The noun that goes with the count."""
        return self.one if count == 1 else self.many


def _pairs(text: str) -> tuple[tuple[str, str], ...]:
    """Singular and plural; a plural that is not the singular with an s stands after a slash."""
    split = (member.partition("/") for member in pool(text, ","))
    return tuple((one, many or one + "s") for one, _, many in split)


def _goods(low: int, high: int, text: str) -> tuple[Thing, ...]:
    return tuple(Thing(one, many, low, high) for one, many in _pairs(text))


SMALL = _goods(
    40,
    450,
    """
    apple, pear, orange, lemon, mango/mangoes, peach/peaches, banana, bread roll, croissant, muffin, bagel,
    doughnut, pencil, eraser, envelope, postcard, stamp, candle, button, ribbon, notepad, marker,
    paintbrush/paintbrushes, glue stick, balloon, tulip bulb, seed packet, soap bar, sponge,
    light bulb, battery/batteries, key ring, bookmark, sticker sheet, marble, badge, biscuit tin, jar of
    honey/jars of honey, tin of beans/tins of beans, carton of milk/cartons of milk, bag of rice/bags of
    rice, bottle of water/bottles of water, bar of chocolate/bars of chocolate, roll of tape/rolls of tape,
    ball of yarn/balls of yarn, box of crayons/boxes of crayons, pot of basil/pots of basil, lettuce,
    cucumber, cabbage, avocado, coconut, pineapple, grapefruit, sandwich/sandwiches, pretzel, cupcake,
    lollipop
    """,
)
MEDIUM = _goods(
    500,
    4800,
    """
    novel, cookbook, atlas/atlases, dictionary/dictionaries, board game, jigsaw puzzle, scarf/scarves, hat,
    pair of gloves/pairs of gloves, T-shirt, mug, teapot, vase, photo frame, lantern, cushion, towel,
    blanket, umbrella, water bottle, lunch box/lunch boxes, backpack, football, tennis racket, skipping
    rope, yoga mat, helmet, bicycle pump, bicycle lamp, hammer, screwdriver, trowel, watering can, flower
    pot, bird feeder, rosebush/rosebushes, fern, cheese board, frying pan, chopping board, set of
    spoons/sets of spoons, kettle, alarm clock, desk lamp, calendar, sketchbook, set of paints/sets of
    paints, harmonica, puppet, kite, model train, chess set, telescope stand, concert ticket, museum ticket,
    train ticket
    """,
)
LARGE = _goods(
    6000,
    90000,
    """
    bicycle, bookcase, desk, armchair, sofa, wardrobe, rug, washing machine, fridge, microwave, vacuum
    cleaner, sewing machine, camera, tablet, laptop, monitor, printer, keyboard, guitar, violin, cello, drum
    kit, tent, canoe, kayak, surfboard, pair of skis/pairs of skis, wheelbarrow, lawnmower, greenhouse,
    workbench/workbenches, ladder, space heater, dehumidifier, coffee machine, bread oven, record player,
    loudspeaker, projector, telescope, winter coat, pair of boots/pairs of boots, suitcase
    """,
)
CONTAINERS = _pairs(
    """
    box/boxes, crate, bag, basket, tray, shelf/shelves, carton, drawer, bucket, tin, packet, case, rack,
    sack, hamper, pouch/pouches
    """
)
COLLECTIBLES = pool(
    """
    stamps, postcards, marbles, coins, seashells, comics, badges, records, model cars, pressed flowers,
    fossils, buttons, bottle caps, puzzle books, cards, paper cranes, feathers, maps, tickets, key rings,
    beads, stickers, old photographs, pebbles, bookmarks, pencils, magnets, minerals, toy soldiers, teacups
    """,
    ",",
)
COLOURS = pool(
    """
    red, blue, green, yellow, orange, purple, white, black, grey, brown, pink, silver, golden, turquoise,
    violet, crimson, beige, navy, olive, teal
    """,
    ",",
)
ANIMALS = _pairs(
    """
    hen, duck, goat, sheep/sheep, cow, horse, rabbit, goose/geese, pig, pony/ponies, alpaca, donkey, bee,
    swan, owl, otter, heron, fox/foxes, hedgehog, squirrel, deer/deer, bat, toad, newt, parrot, tortoise,
    penguin, seal, turtle, crane
    """
)
ACTIVITIES = pool(
    """
    archery, badminton, baking, ballet, basketball, beekeeping, birdwatching, bouldering, calligraphy,
    canoeing, chess, singing, cricket, cycling, debating, drawing, embroidery, fencing, fishing, football,
    gardening, gymnastics, handball, hiking, hockey, judo, juggling, karate, knitting, origami, painting,
    photography, pottery, rowing, rugby, running, sailing, sewing, skating, skiing, surfing, swimming, table
    tennis, tennis, acting, volleyball, weaving, woodwork, yoga
    """,
    ",",
)
FOODS = pool(
    """
    apple pie, banana bread, bean stew, beetroot salad, carrot cake, carrot soup, cheese scones, chestnut
    soup, chickpea curry, coconut rice, corn chowder, dumplings, fish pie, flatbread, fried rice, ginger
    biscuits, gnocchi, lentil soup, mushroom risotto, noodle soup, oat cakes, onion tart, pancakes, paella,
    pea soup, pesto pasta, pizza, plum crumble, potato gratin, potato salad, pumpkin soup, quiche,
    ratatouille, rice pudding, salsa, samosas, shortbread, spinach pie, stuffed peppers, tomato soup,
    vegetable curry, waffles
    """,
    ",",
)
INGREDIENTS = (
    ("flour", "g", 100, 600, 20),
    ("sugar", "g", 40, 300, 10), ("butter", "g", 30, 250, 10),
    ("rice", "g", 100, 600, 20),
    ("milk", "ml", 100, 900, 50), ("cream", "ml", 50, 400, 10), ("stock", "ml", 200, 1200, 50), ("oats", "g",
    60, 400, 20),
    ("lentils", "g", 100, 500, 20), ("pasta", "g", 150, 600, 30), ("grated cheese", "g", 40, 300, 10),
    ("tomatoes", "g", 200, 900, 50), ("potatoes", "g", 300, 1500, 50), ("mushrooms", "g", 100, 600, 20),
    ("chopped nuts", "g", 30, 240, 10), ("olive oil", "ml", 10, 90, 5), ("yoghurt", "g", 100, 500, 25),
    ("apple juice", "ml", 100, 800, 50), ("breadcrumbs", "g", 40, 240, 20), ("honey", "g", 20, 160, 10),
)  # fmt: skip
WORDS = pool(
    """
    almond anchor apricot autumn balcony bamboo banner barley basket beacon blanket blossom border bottle
    branch breeze bridge bronze bucket button cabin cactus camera canyon carpet castle cattle cedar celery
    cellar chapel cherry chimney cinnamon circle clover coast cobalt coffee column comet compass copper
    coral corner cottage cotton crater cricket crystal curtain dagger dolphin domino dragon eagle echo ember
    engine fabric falcon feather fiddle flannel forest fossil fountain galaxy garden garlic ginger glacier
    goblet granite gravel hammer harbour harvest hazel helmet hollow honey horizon island ivory jacket
    jasmine jungle kernel kettle kitchen ladder lagoon lantern lavender leather legend lemon lizard lobster
    lumber magnet mango maple marble market meadow melody mineral mirror mitten monsoon mosaic mountain
    muffin mustard napkin needle nettle nutmeg oatmeal ocean olive onion orbit orchard otter oyster paddle
    palace paper parade parcel parsley pasture pebble pencil pepper pillow pirate planet plaster plateau
    pocket pollen pottery prairie pumpkin puzzle quarry quartz rabbit radish rafter ribbon ridge ripple
    river rocket saddle saffron salmon sandal satin saucer scarlet shadow shelter silver sparrow spider
    spinach spiral stable station stream summer sunset swallow tablet tangle temple thimble thistle thunder
    timber tomato torrent tractor treasure trumpet tulip tundra tunnel turnip valley vanilla velvet village
    vinegar violet volcano walnut warden willow window winter yarrow zephyr zipper
    """
)
