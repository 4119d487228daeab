"""People: given names with their pronouns, surnames, relations, jobs."""

from __future__ import annotations

from dataclasses import dataclass

from octavo.corpus.builtin.dice import Dice, pool

WOMEN = pool(
    """
    Amara Aisha Alice Amelia Ana Anika Annika Astrid Beatriz Bella Bianca Bronwyn Camila Carmen Cecilia
    Chiara Chloe Clara Dalia Daniela Dina Edith Eleni Elif Elsa Emily Esther Eva Farah Fatima Fiona Freya
    Gabriela Georgia Greta Hana Hannah Harriet Helena Ida Ilse Imani Ingrid Irene Isabel Ivy Jana Jasmine
    Joanna Josephine Judith Julia Kaori Karin Katya Keiko Kiran Lara Laila Leah Leila Lena Lina Linnea Lucia
    Lucy Mabel Maeve Maja Mara Margot Maria Marisol Marta Matilda Maya Mei Mina Mirela Miriam Nadia Naomi
    Natalia Neha Nia Nina Noor Nora Olga Olivia Paloma Petra Phoebe Pilar Priya Rachel Ramona Rania Rosa
    Ruth Sabine Salma Sara Selma Shanti Sigrid Simone Sofia Stella Sunita Svetlana Tamara Tara Tess Thandi
    Tilda Ursula Valentina Vera Vesna Wanda Yasmin Yuki Zainab Zara Zoe Zofia
    """
)
MEN = pool(
    """
    Aaron Abel Adam Ahmed Ali Anders Andre Anton Arjun Arthur Axel Bashir Ben Benedikt Boris Bruno Callum
    Carlos Cedric Chen Cyril Damian Daniel Dario David Diego Dmitri Edgar Eduardo Elias Emeka Emil Enrique
    Erik Ethan Fabio Felix Femi Filip Finn Francis Gareth George Gregor Gustav Hamid Hans Harold Hassan
    Hector Henrik Hiroshi Hugo Ian Ibrahim Idris Igor Isaac Ivan Jakob Jamal Javier Jerome Joel Jonas Jorge
    Joseph Juan Kai Karim Kenji Kofi Kwame Lars Leon Leonard Liam Luca Lukas Magnus Malik Marco Marek Martin
    Mateo Matthias Milan Mohsen Moses Nathan Niklas Nikolai Noah Olaf Omar Oscar Otto Pablo Paolo Patrick
    Pavel Pedro Peter Philip Pierre Quentin Rafael Raj Ravi Rene Ricardo Robin Rohan Ruben Samir Samuel
    Santiago Sebastian Sergei Simon Stefan Sven Tariq Theo Thomas Tobias Tomas Umar Vikram Viktor Vincent
    Walter Wei Yannick Yusuf Zachary
    """
)
SURNAMES = pool(
    """
    Abara Acosta Adler Ahmad Alvarez Andersen Aoki Baker Banerjee Barros Becker Bell Bianchi Boateng Brennan
    Brooks Calloway Campos Castellano Chandra Cohen Costa Cruz Dahl Desai Diallo Dlamini Doyle Duarte
    Eriksen Farouk Ferrari Fischer Flores Fontaine Fraser Fujita Garcia Gomez Grant Greene Gupta Haddad
    Hansen Hayashi Herrera Hoffman Hughes Ibarra Iqbal Ito Ivanova Jansen Jimenez Johansson Kamau Kapoor
    Kaufmann Keller Khan Kowalski Kumar Laurent Lee Lindgren Lopez Lund MacLeod Mancini Marchetti Mbeki
    Mehta Meyer Mitchell Moreau Morales Murphy Nakamura Navarro Nguyen Novak Nwosu Okafor Oliveira Olsen
    Ortega Osei Park Patel Pereira Petrov Popescu Quinn Rahman Ramos Reyes Ricci Rossi Roy Ruiz Salazar
    Santos Sato Schmidt Shah Silva Singh Sokolov Sorensen Suzuki Takahashi Tanaka Torres Vargas Vasquez Vega
    Vogel Wagner Walsh Weber Wong Yamamoto Yilmaz Zhang Ziegler
    """
)
RELATIONS = (
    ("sister", "she", "her", "her"),
    ("brother", "he", "his", "him"),
    ("mother", "she", "her", "her"),
    ("father", "he", "his", "him"),
    ("aunt", "she", "her", "her"),
    ("uncle", "he", "his", "him"),
    ("grandmother", "she", "her", "her"),
    ("grandfather", "he", "his", "him"),
    ("niece", "she", "her", "her"),
    ("nephew", "he", "his", "him"),
    ("daughter", "she", "her", "her"),
    ("son", "he", "his", "him"),
)
JOBS = pool(
    """
    baker, beekeeper, bookbinder, bus driver, carpenter, caretaker, chemist, chef, coach, courier, dentist,
    designer, farmer, florist, forester, gardener, geologist, guide, hairdresser, jeweller, journalist,
    librarian, locksmith, mechanic, musician, nurse, optician, painter, pharmacist, photographer, plumber,
    potter, printer, ranger, roofer, sailor, sculptor, shepherd, surveyor, tailor, teacher, tiler,
    translator, vet, violinist, weaver, welder
    """,
    ",",
)


@dataclass(frozen=True)
class Person:
    """A name with the pronouns that go with it."""

    name: str
    they: str
    their: str
    them: str

    def slots(self, prefix: str = "p") -> dict[str, str]:
        """Template slots: `p` (name), `p_they`, `p_their`, `p_them`."""
        return {
            prefix: self.name,
            f"{prefix}_they": self.they,
            f"{prefix}_their": self.their,
            f"{prefix}_them": self.them,
        }


def people(dice: Dice, count: int) -> list[Person]:
    """`count` people with different names."""
    found: list[Person] = []
    names: set[str] = set()
    while len(found) < count:
        if dice.chance(0.5):
            person = Person(dice.pick(WOMEN), "she", "her", "her")
        else:
            person = Person(dice.pick(MEN), "he", "his", "him")
        if person.name not in names:
            names.add(person.name)
            found.append(person)
    return found


def person(dice: Dice) -> Person:
    """One person."""
    return people(dice, 1)[0]
