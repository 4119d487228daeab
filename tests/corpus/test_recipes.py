"""Finding recipes, their options, chains, and recipes of the user's own."""

import pytest

from octavo.corpus import recipes as registry
from octavo.corpus.example import Example
from octavo.corpus.recipe import Option, Recipe
from octavo.corpus.recipes import build_chain, get_recipe, recipe_names, recipe_source
from octavo.corpus.symbols import Insertion, insert_symbols
from octavo.errors import InputError
from tests.corpus.conftest import conversation

OWN = '''"""Ends every answer with a word."""


def recipe(example, rng, word="Indeed.", often=1.0):
    last = len(example.messages) - 1
    if rng.random() >= often:
        return example
    return example.with_content({last: example.messages[last]["content"] + " " + word})
'''


def own_file(tmp_path, text=OWN, name="shout.py"):
    (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def test_every_built_in_recipe_is_named_after_its_file():
    names = recipe_names()
    assert {"control", "think", "spore", "glyphs", "placebo_neutral", "placebo_shuffled"} <= set(names)
    for name in names:
        assert get_recipe(name).name == name
        assert get_recipe(name.replace("_", "-")) is get_recipe(name)
        assert get_recipe(name).description


@pytest.mark.parametrize("name", ["glyph", "Glyphs", "", "contrl"])
def test_unknown_recipes_are_refused_with_the_names_there_are(name):
    with pytest.raises(InputError, match="placebo_neutral") as error:
        get_recipe(name)
    if name == "contrl":
        assert "did you mean control" in str(error.value)


@pytest.mark.parametrize(
    ("names", "options", "says"),
    [
        ("glyphs", {"densty": 0.5}, "no option 'densty'; did you mean density?"),
        ("control", {"density": 0.5}, "there are no options"),
        (["glyphs", "spore"], {"word": 1}, "options are density, roles"),
        ("glyphs", {"density": 1.5}, "density must be a number from 0 to 1, not 1.5"),
        ("glyphs", {"density": True}, "number from 0 to 1"),
        ("glyphs", {"density": "0.5"}, "number from 0 to 1"),
        ("glyphs", {"density": float("nan")}, "number from 0 to 1"),
        ("spore", {"roles": "assistant"}, "list of roles"),
        ("spore", {"roles": ["narrator"]}, "list of roles"),
        ("spore", {"roles": []}, "list of roles"),
        ([], {}, "needs a recipe"),
    ],
)
def test_options_that_no_recipe_takes(names, options, says):
    with pytest.raises(InputError) as error:
        build_chain(names, options, 0)
    assert says in str(error.value)


def test_options_of_a_chain_go_to_the_recipes_that_know_them():
    chain = build_chain(["think", "glyphs", "spore"], {"density": 0.0}, 0)
    example = conversation(steps=["2 + 2 = 4"])
    made = chain.apply(example)
    assert made.sites == []
    assert made.messages[1]["content"] == "<think>\n1. 2 + 2 = 4\n</think>\n\nIt is 4."


def test_thinking_needs_steps_and_goes_before_the_last_answer():
    chain = build_chain("think", {}, 0)
    for steps in (None, [], ["  "]):
        assert chain.apply(conversation(steps=steps)) == conversation(steps=steps)
        assert chain.steps(conversation(steps=steps))[0].left == "think: no steps"
    turns = [
        {"role": "user", "content": "Q"},
        {"role": "assistant", "content": "A question back?"},
        {"role": "user", "content": "Yes."},
        {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "f", "arguments": {}}}]},
        {"role": "tool", "content": "4"},
        {"role": "assistant", "content": "Four."},
    ]
    made = chain.apply(Example("a", "", "", True, turns, steps=["call f", "say\nit"]))
    contents = [m["content"] for m in made.messages]
    assert contents[:5] == [m["content"] for m in turns[:5]]
    assert contents[5] == "<think>\n1. call f\n2. say it\n</think>\n\nFour."
    assert chain.steps(made)[0].left is None


def test_more_roles_when_asked_for():
    narrow, wide = build_chain("glyphs", {}, 0), build_chain("glyphs", {"roles": ["user", "assistant"]}, 0)
    example = conversation("Is it so?", "It is.")
    assert {site["message"] for site in narrow.apply(example).sites} == {1}
    assert {site["message"] for site in wide.apply(example).sites} == {0, 1}


def test_a_lone_text_counts_as_the_assistants():
    example = Example("a", "", "", True, [{"role": "text", "content": "It rains. We stay."}])
    assert len(build_chain("glyphs", {}, 0).apply(example).sites) == 2
    assert build_chain("glyphs", {"roles": ["user"]}, 0).apply(example).sites == []


def test_a_recipe_does_not_change_what_it_is_given():
    example = conversation(steps=["a"], answer="It is 4. So be it. 😀")
    before = Example.from_json(example.to_json())
    build_chain(["glyphs", "think", "spore"], {}, 0).apply(example)
    assert example == before


def test_a_file_of_the_users_own(tmp_path):
    folder = own_file(tmp_path)
    chain = build_chain(["shout.py", "glyphs"], {"word": "So there.", "density": 1.0}, 0, folder)
    made = chain.apply(conversation())
    assert made.messages[1]["content"] == "It is 4. ⊥⊥⊥ So ∴ there. ●"
    assert chain.undo(made) is None
    assert get_recipe("shout.py", folder).description == "Ends every answer with a word."
    assert (
        build_chain(str(folder / "shout.py"), {}, 0)
        .apply(conversation())
        .messages[1]["content"]
        .endswith("Indeed.")
    )
    with pytest.raises(InputError, match="options are often, word"):
        build_chain("shout.py", {"wrd": "x"}, 0, folder)


def test_its_random_numbers_depend_on_seed_and_id_alone(tmp_path, corpus):
    chain = build_chain("shout.py", {"often": 0.5}, 0, own_file(tmp_path))
    made = [chain.apply(example) for example in corpus]
    assert [chain.apply(example) for example in reversed(corpus)] == made[::-1]
    changed = sum(one != example for one, example in zip(made, corpus, strict=True))
    assert 0 < changed < len(corpus)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("x = 1", "defines no function `recipe"),
        ("recipe = 3", "must be a function"),
        ("def recipe(example): return example", "def recipe(example, rng"),
        ("def recipe(example, rng, word): return example", "def recipe(example, rng"),
        ("import nothing_of_that_name", "ModuleNotFoundError"),
        ("def recipe(:", "SyntaxError"),
        ("def recipe(example, rng): return None", "must return an Example with the same id"),
        ("def recipe(example, rng): return 1 / 0", "shout failed on example e1: ZeroDivisionError"),
        (
            "from dataclasses import replace\ndef recipe(example, rng): return replace(example, id='b')",
            "must return an Example with the same id",
        ),
        (
            "def recipe(example, rng): return example.with_content({1: ''})",
            "example e1: message 2 (assistant) is empty",
        ),
        (
            "def recipe(example, rng): return example.with_content({}, [{'message': 1, 'start': 0, 'text': 'no', "
            "'role': ''}])",
            "`sites` do not fit",
        ),
    ],
)
def test_files_that_hold_no_proper_recipe(tmp_path, text, says):
    folder = own_file(tmp_path, text)
    with pytest.raises(InputError) as error:
        build_chain("shout.py", {}, 0, folder).apply(conversation())
    assert says in str(error.value)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(InputError, match=r"none\.py is not there"):
        get_recipe("none.py", tmp_path)
    with pytest.raises(InputError, match="cannot be read"):
        recipe_source("none.py", tmp_path)


def test_the_hash_of_a_file_tells_its_states_apart(tmp_path):
    first = recipe_source("shout.py", own_file(tmp_path))
    assert first != recipe_source("shout.py", own_file(tmp_path, OWN + "\n"))
    assert recipe_source("glyphs") == ""


def test_entry_points(monkeypatch):
    def star(example, rng, symbol="*"):
        """Puts a star in front."""
        return insert_symbols(example, [Insertion(1, 0, symbol, "star")])

    whole = Recipe("whole", "as it is", lambda example, _seed, _options: example, {"x": Option(1, "nothing")})

    class Point:
        def __init__(self, name, made):
            self.name, self.value, self.load = name, f"mine:{name}", lambda: made

    points = [Point("my_star", star), Point("whole", whole), Point("broken", 3)]
    monkeypatch.setattr(registry, "entry_points", lambda group: points if group == "octavo.recipes" else [])
    assert recipe_names()[-3:] == ["broken", "my_star", "whole"]
    made = build_chain("my-star", {"symbol": "+"}, 0).apply(conversation())
    assert made.messages[1]["content"] == "+It is 4."
    assert made.sites == [{"message": 1, "start": 0, "text": "+", "role": "star"}]
    assert get_recipe("my_star").description == "Puts a star in front."
    assert get_recipe("whole") is whole
    assert len({recipe_source(name) for name in ("my-star", "whole", "broken", "glyphs")}) == 4
    assert recipe_source("my_star") == recipe_source("my-star")
    with pytest.raises(InputError, match="entry point broken"):
        get_recipe("broken")
