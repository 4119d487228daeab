"""Capitals and their countries, the checker's own list: a mistake of the generator's must not confirm itself."""

_TABLE = """
    Abuja=Nigeria; Accra=Ghana; Addis Ababa=Ethiopia; Algiers=Algeria; Amman=Jordan; Ankara=Turkey;
    Antananarivo=Madagascar; Astana=Kazakhstan; Asuncion=Paraguay; Athens=Greece; Baghdad=Iraq;
    Baku=Azerbaijan; Bangkok=Thailand; Beijing=China; Beirut=Lebanon; Belgrade=Serbia; Berlin=Germany;
    Bogota=Colombia; Brasilia=Brazil; Bratislava=Slovakia; Brussels=Belgium; Bucharest=Romania;
    Budapest=Hungary; Buenos Aires=Argentina; Cairo=Egypt; Canberra=Australia; Copenhagen=Denmark;
    Dakar=Senegal; Dhaka=Bangladesh; Doha=Qatar; Dublin=Ireland; Gaborone=Botswana; Hanoi=Vietnam;
    Harare=Zimbabwe; Havana=Cuba; Helsinki=Finland; Islamabad=Pakistan; Kampala=Uganda; Kathmandu=Nepal;
    Kigali=Rwanda; Kingston=Jamaica; Kyiv=Ukraine; Lima=Peru; Lisbon=Portugal; Ljubljana=Slovenia;
    Lusaka=Zambia; Madrid=Spain; Maputo=Mozambique; Mexico City=Mexico; Montevideo=Uruguay; Muscat=Oman;
    Nairobi=Kenya; New Delhi=India; Oslo=Norway; Ottawa=Canada; Paris=France; Phnom Penh=Cambodia;
    Quito=Ecuador; Rabat=Morocco; Reykjavik=Iceland; Riga=Latvia; Rome=Italy; San Jose=Costa Rica;
    Santiago=Chile; Seoul=South Korea; Sofia=Bulgaria; Stockholm=Sweden; Tallinn=Estonia;
    Tashkent=Uzbekistan; Tbilisi=Georgia; Tehran=Iran; Tirana=Albania; Tokyo=Japan; Tunis=Tunisia;
    Ulaanbaatar=Mongolia; Valletta=Malta; Vienna=Austria; Vientiane=Laos; Vilnius=Lithuania; Warsaw=Poland;
    Wellington=New Zealand; Windhoek=Namibia; Yaounde=Cameroon; Yerevan=Armenia; Zagreb=Croatia;
"""
COUNTRY_OF = {
    capital.strip(): country.strip()
    for capital, _, country in (entry.partition("=") for entry in _TABLE.replace("\n", " ").split(";"))
    if country
}
CAPITAL_OF = {country: capital for capital, country in COUNTRY_OF.items()}
