"""Things: countable goods with a plural and a usual price, containers, foods, animals, colours, activities."""

from __future__ import annotations

from dataclasses import dataclass


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


def _goods(low: int, high: int, names: str) -> tuple[Thing, ...]:
    things = []
    for name in names.split(","):
        one, _, many = name.strip().partition("/")
        things.append(Thing(one, many or one + "s", low, high))
    return tuple(things)


SMALL = _goods(
    40,
    450,
    "apple,pear,orange,lemon,mango/mangoes,peach/peaches,banana,bread roll,croissant,muffin,bagel,doughnut,pencil,"
    "eraser,envelope,postcard,stamp,candle,button,ribbon,notepad,marker,paintbrush/paintbrushes,glue stick,balloon,"
    "tulip bulb,seed packet,tea bag sampler,soap bar,sponge,light bulb,battery/batteries,key ring,bookmark,sticker "
    "sheet,marble,badge,biscuit tin,jar of honey/jars of honey,tin of beans/tins of beans,carton of milk/cartons of "
    "milk,bag of rice/bags of rice,bottle of water/bottles of water,bar of chocolate/bars of chocolate,roll of tape/"
    "rolls of tape,ball of yarn/balls of yarn,box of crayons/boxes of crayons,pot of basil/pots of basil,lettuce,"
    "cucumber,cabbage,avocado,coconut,pineapple,grapefruit,sandwich/sandwiches,pretzel,cupcake,lollipop",
)
MEDIUM = _goods(
    500,
    4800,
    "novel,cookbook,atlas/atlases,dictionary/dictionaries,board game,jigsaw puzzle,scarf/scarves,hat,pair of gloves/"
    "pairs of gloves,T-shirt,mug,teapot,vase,photo frame,lantern,cushion,towel,blanket,umbrella,water bottle,lunch box/"
    "lunch boxes,backpack,football,tennis racket,skipping rope,yoga mat,helmet,bicycle pump,bicycle lamp,hammer,"
    "screwdriver,trowel,watering can,flower pot,bird feeder,rosebush/rosebushes,fern,cheese board,frying pan,"
    "chopping board,set of spoons/sets of spoons,kettle,alarm clock,desk lamp,calendar,sketchbook,set of paints/sets "
    "of paints,harmonica,puppet,kite,model train,chess set,telescope stand,concert ticket,museum ticket,train ticket",
)
LARGE = _goods(
    6000,
    90000,
    "bicycle,bookcase,desk,armchair,sofa,wardrobe,rug,washing machine,fridge,microwave,vacuum cleaner,sewing machine,"
    "camera,tablet,laptop,monitor,printer,keyboard,guitar,violin,cello,drum kit,tent,canoe,kayak,surfboard,pair of skis/"
    "pairs of skis,wheelbarrow,lawnmower,greenhouse,workbench/workbenches,ladder,space heater,dehumidifier,coffee "
    "machine,bread oven,record player,loudspeaker,projector,telescope,winter coat,pair of boots/pairs of boots,suitcase",
)
GOODS = SMALL + MEDIUM

CONTAINERS = tuple(
    tuple(pair.split("/"))
    for pair in "box/boxes,crate/crates,bag/bags,basket/baskets,tray/trays,shelf/shelves,carton/cartons,drawer/drawers,"
    "bucket/buckets,tin/tins,packet/packets,case/cases,rack/racks,sack/sacks,hamper/hampers,pouch/pouches".split(
        ","
    )
)
COLLECTIBLES = tuple(
    "stamps,postcards,marbles,coins,seashells,comics,badges,records,model cars,pressed flowers,fossils,buttons,"
    "bottle caps,puzzle books,cards,paper cranes,feathers,maps,tickets,key rings,beads,stickers,old photographs,"
    "pebbles,bookmarks,pencils,magnets,minerals,toy soldiers,teacups".split(",")
)
COLOURS = tuple(
    "red,blue,green,yellow,orange,purple,white,black,grey,brown,pink,silver,golden,turquoise,violet,crimson,beige,"
    "navy,olive,teal".split(",")
)
ANIMALS = tuple(
    tuple(pair.split("/"))
    for pair in "hen/hens,duck/ducks,goat/goats,sheep/sheep,cow/cows,horse/horses,rabbit/rabbits,goose/geese,pig/pigs,"
    "pony/ponies,alpaca/alpacas,donkey/donkeys,bee/bees,swan/swans,owl/owls,otter/otters,heron/herons,fox/foxes,"
    "hedgehog/hedgehogs,squirrel/squirrels,deer/deer,bat/bats,toad/toads,newt/newts,parrot/parrots,tortoise/tortoises,"
    "penguin/penguins,seal/seals,turtle/turtles,crane/cranes".split(",")
)
ACTIVITIES = tuple(
    "archery,badminton,baking,ballet,basketball,beekeeping,birdwatching,bouldering,calligraphy,canoeing,chess,choir,"
    "cricket,cycling,debating,drawing,embroidery,fencing,fishing,football,gardening,gymnastics,handball,hiking,hockey,"
    "judo,juggling,karate,knitting,origami,painting,photography,pottery,rowing,rugby,running,sailing,sewing,skating,"
    "skiing,surfing,swimming,table tennis,tennis,theatre,volleyball,weaving,woodwork,yoga".split(",")
)
FOODS = tuple(
    "apple pie,banana bread,bean stew,beetroot salad,carrot cake,carrot soup,cheese scones,chestnut soup,chickpea curry,"
    "coconut rice,corn chowder,dumplings,fish pie,flatbread,fried rice,ginger biscuits,gnocchi,lentil soup,mushroom "
    "risotto,noodle soup,oat cakes,onion tart,pancakes,paella,pea soup,pesto pasta,pizza,plum crumble,potato gratin,"
    "potato salad,pumpkin soup,quiche,ratatouille,rice pudding,salsa,samosas,shortbread,spinach pie,stuffed peppers,"
    "tomato soup,vegetable curry,waffles".split(",")
)
INGREDIENTS = (
    ("flour", "g", 100, 600, 20), ("sugar", "g", 40, 300, 10), ("butter", "g", 30, 250, 10), ("rice", "g", 100, 600, 20),
    ("milk", "ml", 100, 900, 50), ("cream", "ml", 50, 400, 10), ("stock", "ml", 200, 1200, 50), ("oats", "g", 60, 400, 20),
    ("lentils", "g", 100, 500, 20), ("pasta", "g", 150, 600, 30), ("grated cheese", "g", 40, 300, 10),
    ("tomatoes", "g", 200, 900, 50), ("potatoes", "g", 300, 1500, 50), ("mushrooms", "g", 100, 600, 20),
    ("chopped nuts", "g", 30, 240, 10), ("olive oil", "ml", 10, 90, 5), ("yoghurt", "g", 100, 500, 25),
    ("apple juice", "ml", 100, 800, 50), ("breadcrumbs", "g", 40, 240, 20), ("honey", "g", 20, 160, 10),
)  # fmt: skip
WORDS = tuple(
    """almond anchor apricot autumn balcony bamboo banner barley basket beacon blanket blossom border bottle branch
    breeze bridge bronze bucket button cabin cactus camera canyon carpet castle cattle cedar celery cellar chapel cherry
    chimney cinnamon circle clover coast cobalt coffee column comet compass copper coral corner cottage cotton crater
    cricket crystal curtain dagger dolphin domino dragon eagle echo ember engine fabric falcon feather fiddle flannel
    forest fossil fountain galaxy garden garlic ginger glacier goblet granite gravel hammer harbour harvest hazel helmet
    hollow honey horizon island ivory jacket jasmine jungle kernel kettle kitchen ladder lagoon lantern lavender leather
    legend lemon lizard lobster lumber magnet mango maple marble market meadow melody mineral mirror mitten monsoon
    mosaic mountain muffin mustard napkin needle nettle nutmeg oatmeal ocean olive onion orbit orchard otter oyster
    paddle palace paper parade parcel parsley pasture pebble pencil pepper pillow pirate planet plaster plateau pocket
    pollen pottery prairie pumpkin puzzle quarry quartz rabbit radish rafter ribbon ridge ripple river rocket saddle
    saffron salmon sandal satin saucer scarlet shadow shelter silver sparrow spider spinach spiral stable station
    stream summer sunset swallow tablet tangle temple thimble thistle thunder timber tomato torrent tractor treasure
    trumpet tulip tundra tunnel turnip valley vanilla velvet village vinegar violet volcano walnut warden willow
    window winter yarrow zephyr zipper""".split()
)
