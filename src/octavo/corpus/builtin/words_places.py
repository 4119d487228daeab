"""Places: towns, venues, streets, countries with their capitals."""

from __future__ import annotations

from octavo.corpus.builtin.dice import pool

TOWNS = pool(
    """
    Aarhus, Aberdeen, Adelaide, Alicante, Almaty, Antwerp, Arequipa, Arles, Asheville, Auckland, Austin,
    Avignon, Bamako, Bangalore, Basel, Bath, Belfast, Bergen, Bilbao, Bologna, Bordeaux, Boston, Bremen,
    Bristol, Brno, Bruges, Brisbane, Burgos, Busan, Calgary, Cambridge, Cardiff, Cartagena, Catania,
    Chennai, Chester, Coimbra, Cologne, Cordoba, Cork, Cusco, Dakar, Darwin, Debrecen, Delft, Denver, Derby,
    Dijon, Dresden, Dundee, Durban, Edinburgh, Erfurt, Evora, Exeter, Fez, Florence, Freiburg, Galway,
    Gdansk, Geneva, Genoa, Ghent, Girona, Glasgow, Gothenburg, Granada, Graz, Halifax, Hamburg, Heidelberg,
    Hobart, Innsbruck, Izmir, Jaipur, Kampala, Kobe, Kochi, Krakow, Kumasi, Kyoto, Lagos, Lausanne, Leeds,
    Leiden, Leipzig, Liverpool, Ljubljana, Lucerne, Lund, Lyon, Madison, Malaga, Malmo, Manchester, Maribor,
    Marseille, Matera, Melbourne, Merida, Mombasa, Montreal, Mumbai, Munich, Nagoya, Nantes, Naples, Nelson,
    Nice, Norwich, Nuremberg, Oaxaca, Odense, Osaka, Oulu, Oxford, Palermo, Parma, Penang, Perth, Pilsen,
    Pisa, Portland, Porto, Poznan, Quebec, Reykjavik, Rosario, Rotterdam, Salamanca, Salzburg, Sapporo,
    Seattle, Segovia, Seville, Sheffield, Siena, Split, Stavanger, Stuttgart, Tampere, Tartu, Toledo,
    Toulouse, Trento, Trieste, Turin, Turku, Uppsala, Utrecht, Valencia, Valparaiso, Vancouver, Verona,
    Vigo, Weimar, Wellington, Winchester, Worcester, Wroclaw, York, Zadar, Zagreb, Zaragoza, Zurich
    """,
    ",",
)

VENUES = pool(
    """
    the botanical garden, the bus depot, the cafe by the station, the church hall, the city library, the
    climbing centre, the community centre, the concert hall, the corner bakery, the covered market, the
    cycle shop, the empty shop on the square, the farmers' market, the fire station, the football club, the
    garden centre, the harbour office, the history museum, the ice rink, the language school, the music
    school, the neighbourhood kitchen, the old mill, the old town hall, the open-air theatre, the paper
    mill, the park pavilion, the planetarium, the pottery workshop, the primary school, the print shop, the
    public pool, the repair cafe, the riding school, the rowing club, the science centre, the sports hall,
    the tennis club, the town archive, the university canteen, the village hall, the wool shop, the youth
    centre, the zoo
    """,
    ",",
)

STREETS = pool(
    """
    Alder Street, Ash Lane, Baker Street, Birch Avenue, Bridge Street, Canal Road, Castle Hill, Cedar Close,
    Chapel Street, Cherry Lane, Church Road, Copper Street, Dock Road, Elm Street, Ferry Road, Field Lane,
    Forge Street, Garden Street, Glebe Road, Granary Lane, Grove Avenue, Harbour Street, Hazel Court, High
    Street, Hill Road, Hope Street, Kiln Lane, Lake Street, Lime Avenue, Linden Road, Maple Street, Market
    Street, Meadow Lane, Mill Road, Mint Street, Museum Street, North Quay, Oak Street, Orchard Road, Park
    Avenue, Pear Tree Lane, Pine Street, Quarry Road, Queen Street, River Street, Rope Walk, Rowan Avenue,
    School Lane, South Parade, Spring Gardens, Station Road, Stone Lane, Temple Street, Tower Road, Valley
    Road, Vine Street, Water Lane, Well Street, Willow Road, Windmill Lane
    """,
    ",",
)

_CAPITALS = pool(
    """
    Albania/Tirana, Algeria/Algiers, Argentina/Buenos Aires, Armenia/Yerevan, Australia/Canberra,
    Austria/Vienna, Azerbaijan/Baku, Bangladesh/Dhaka, Belgium/Brussels, Botswana/Gaborone, Brazil/Brasilia,
    Bulgaria/Sofia, Cambodia/Phnom Penh, Cameroon/Yaounde, Canada/Ottawa, Chile/Santiago, China/Beijing,
    Colombia/Bogota, Costa Rica/San Jose, Croatia/Zagreb, Cuba/Havana, Denmark/Copenhagen, Ecuador/Quito,
    Egypt/Cairo, Estonia/Tallinn, Ethiopia/Addis Ababa, Finland/Helsinki, France/Paris, Georgia/Tbilisi,
    Germany/Berlin, Ghana/Accra, Greece/Athens, Hungary/Budapest, Iceland/Reykjavik, India/New Delhi,
    Iran/Tehran, Iraq/Baghdad, Ireland/Dublin, Italy/Rome, Jamaica/Kingston, Japan/Tokyo, Jordan/Amman,
    Kazakhstan/Astana, Kenya/Nairobi, Laos/Vientiane, Latvia/Riga, Lebanon/Beirut, Lithuania/Vilnius,
    Madagascar/Antananarivo, Malta/Valletta, Mexico/Mexico City, Mongolia/Ulaanbaatar, Morocco/Rabat,
    Mozambique/Maputo, Namibia/Windhoek, Nepal/Kathmandu, New Zealand/Wellington, Nigeria/Abuja,
    Norway/Oslo, Oman/Muscat, Pakistan/Islamabad, Paraguay/Asuncion, Peru/Lima, Poland/Warsaw,
    Portugal/Lisbon, Qatar/Doha, Romania/Bucharest, Rwanda/Kigali, Senegal/Dakar, Serbia/Belgrade,
    Slovakia/Bratislava, Slovenia/Ljubljana, South Korea/Seoul, Spain/Madrid, Sweden/Stockholm,
    Thailand/Bangkok, Tunisia/Tunis, Turkey/Ankara, Uganda/Kampala, Ukraine/Kyiv, Uruguay/Montevideo,
    Uzbekistan/Tashkent, Vietnam/Hanoi, Zambia/Lusaka, Zimbabwe/Harare
    """,
    ",",
)
VILLAGES = pool(
    """Alderbrook, Amberley, Ashcombe, Barrow End, Beechfield, Birchwood, Blackwater, Bramford, Brookside,
    Burnham Green, Cairn Hill, Castlebridge, Chalkdown, Cloverley, Copper Mill, Cranmere, Crowhurst,
    Dalewick, Deepford, Eastwell, Elmstead, Fairhaven, Fernhill, Foxley, Gable Point, Glenmoor, Goosecross,
    Greyfield, Hartwell, Hawksmere, Hazelden, Heatherby, Highmoor, Hollowell, Ivybridge, Juniper Bay, Kestrel
    Hill, Kingsford, Lakeview, Larkfield, Lindale, Longacre, Maplethorpe, Marshbrook, Meadowbank, Millbrook,
    Mossley, Netherfield, Newbridge, Northwick, Oakford, Old Harbour, Orchard Vale, Otterburn, Pebble Cove,
    Pinecrest, Quarry Bank, Ravenscar, Redcliff, Ridgemont, Rivermouth, Rosehill, Rowanby, Saltmarsh,
    Sandwick, Silverdale, Southgate, Springfield, Stonebridge, Summerleigh, Swanbourne, Thornbury, Three
    Oaks, Tidewater, Underhill, Valley Cross, Westbrook, Whitecliff, Willowby, Windmere, Winterfold,
    Woodhaven, Wrenfield, Yewdale""",
    ",",
)
CAPITALS = tuple((country, capital) for country, _, capital in (c.partition("/") for c in _CAPITALS))
