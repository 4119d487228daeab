"""The independent checker: right examples pass, and every sort of damage is found, in every family."""

import copy
import itertools
import re
from pathlib import Path

import pytest

from octavo.corpus import checker
from octavo.corpus.builtin.dice import Dice
from octavo.corpus.builtin.registry import KINDS
from octavo.corpus.builtin.words_places import CAPITALS
from octavo.corpus.checker import check
from octavo.corpus.checker.capitals import CAPITAL_OF
from octavo.corpus.checker.text import holds, last_sentence, strange_names, wrong_equation
from octavo.corpus.example import Example

FAMILIES = {f.name: f for kind in ("reasoning", "conversation", "tool_use", "logic") for f in KINDS[kind]}
TOOL_FAMILIES = {f.name for f in KINDS["tool_use"]}
TALK_FAMILIES = [name for name in FAMILIES if name not in TOOL_FAMILIES]
OTHER = {
    "true": "false",
    "false": "unknown",
    "unknown": "true",
    "yes": "no",
    "no": "yes",
    "honest": "lying",
    "lying": "honest",
    "●": "⊥",
    "⊥": "◑",
    "◑": "●",
    "Monday": "Tuesday",
    "Tuesday": "Sunday",
    "Sunday": "Monday",
    "two": "three",
    "three": "two",
}


def examples(name, count=4):
    dice = Dice(f"checker {name}")
    for number in range(count):
        draft = FAMILIES[name].draw(dice)
        yield Example(
            f"{name}-{number}", name, "", True, draft.messages, draft.tools, draft.steps, draft.answer
        )


def other(text):
    """Another text that could stand in its place: another number, the opposite, or a word that never occurs."""
    if text in OTHER:
        return OTHER[text]
    digits = [k for k, ch in enumerate(text) if ch.isdigit()]
    if digits:
        k = digits[-1]
        return text[:k] + str((int(text[k]) + 1) % 10) + text[k + 1 :]
    return "zebra"


def with_reply(example, reply):
    changed = copy.deepcopy(example)
    changed.messages[-1]["content"] = reply
    return changed


@pytest.mark.parametrize("name", FAMILIES)
def test_right_examples_pass(name):
    for example in examples(name, 25):
        verdict = check(example)
        assert verdict.ok, (verdict.reason, example.messages)


@pytest.mark.parametrize("name", FAMILIES)
def test_only_messages_and_tools_are_looked_at(name):
    for example in examples(name, 2):
        example.id, example.family, example.kind, example.seen = "", "", "", False
        assert check(example).ok


@pytest.mark.parametrize("name", TALK_FAMILIES)
def test_a_wrong_answer_field_is_found(name):
    for example in examples(name):
        answer = example.answer
        wrong = [other(str(answer[0])), *answer[1:]] if isinstance(answer, list) else other(str(answer))
        assert not check(Example(**{**vars(example), "answer": wrong, "origin": ""})).ok
        assert not check(Example(**{**vars(example), "answer": None, "origin": ""})).ok


@pytest.mark.parametrize("name", TALK_FAMILIES)
def test_a_wrong_answer_in_the_reply_is_found(name):
    for example in examples(name):
        reply = example.messages[-1]["content"]
        parts = example.answer if isinstance(example.answer, list) else [example.answer]
        if parts == ["not stated"]:
            assert not check(with_reply(example, "It is Zadar, as the text says.")).ok
            continue
        for part in parts if name not in ("explain_term", "fix_grammar") else parts[:1]:
            pattern = re.compile(rf"(?<![\w.,]){re.escape(part)}(?!\w)", re.IGNORECASE)
            wrong = pattern.sub(other(part), reply)
            assert wrong != reply, (part, reply)
            assert not check(with_reply(example, wrong)).ok, wrong


@pytest.mark.parametrize("name", [f.name for f in KINDS["reasoning"] + KINDS["logic"]])
def test_wrong_working_is_found(name):
    for example in examples(name, 6):
        for place, step in enumerate(example.steps):
            equation = re.search(r"= [$£€]?(\d[\d,]*)", step)
            if equation is None:
                continue
            number = equation[1]
            wrong_step = step[: equation.start(1)] + other(number) + step[equation.end(1) :]
            changed = with_reply(
                example,
                example.messages[-1]["content"].replace(step.rstrip(".")[1:], wrong_step.rstrip(".")[1:]),
            )
            changed.steps[place] = wrong_step
            assert not check(changed).ok, wrong_step
        no_steps = copy.deepcopy(example)
        no_steps.steps = None
        assert not check(no_steps).ok


@pytest.mark.parametrize("name", [f.name for f in KINDS["reasoning"] + KINDS["logic"]])
def test_another_question_has_another_answer(name):
    """A reply is held against its own question: the answer of one example does not pass for another."""
    drawn = list(examples(name, 12))
    for one, two in itertools.pairwise(drawn):
        if one.answer != two.answer:
            mixed = copy.deepcopy(one)
            mixed.messages[-1], mixed.answer, mixed.steps = two.messages[-1], two.answer, two.steps
            assert not check(mixed).ok


@pytest.mark.parametrize(
    "name",
    [
        "call_daily",
        "call_outside",
        "call_numbers",
        "call_library",
        "two_calls",
        "chain_message",
        "chain_order",
        "chain_trip",
        "chain_expense",
        "ask_then_call",
        "failed_call",
    ],
)
def test_wrong_calls_are_found(name):
    for example in examples(name):
        for place, message in enumerate(example.messages):
            for number, call in enumerate(message.get("tool_calls") or ()):
                for key, value in call["function"]["arguments"].items():
                    changed = copy.deepcopy(example)
                    arguments = changed.messages[place]["tool_calls"][number]["function"]["arguments"]
                    arguments[key] = other(value) if isinstance(value, str) else value + 1
                    assert not check(changed).ok, arguments
                changed = copy.deepcopy(example)
                changed.messages[place]["tool_calls"][number]["function"]["name"] = "delete_everything"
                assert not check(changed).ok
        wrong_answer = copy.deepcopy(example)
        wrong_answer.answer["calls"][0]["name"] = "delete_everything"
        assert not check(wrong_answer).ok


@pytest.mark.parametrize(
    "name",
    [
        "call_daily",
        "call_outside",
        "call_numbers",
        "call_library",
        "two_calls",
        "chain_order",
        "chain_trip",
        "chain_expense",
        "ask_then_call",
    ],
)
def test_replies_that_go_beyond_the_result_are_found(name):
    for example in examples(name):
        reply = example.messages[-1]["content"]
        assert not check(with_reply(example, "All done.")).ok
        assert not check(with_reply(example, reply + " That is 987654 in all.")).ok
        assert not check(with_reply(example, reply[:-1] + ", and Zebulon knows.")).ok


def test_results_that_do_not_follow_from_the_call_are_found():
    found = 0
    for example in examples("call_numbers", 60):
        name = example.answer["calls"][0]["name"]
        field = {
            "convert_currency": "converted",
            "convert_units": "result",
            "calculate": "result",
            "loan_payment": "monthly",
            "split_bill": "each",
            "days_between": "days",
        }.get(name)
        if field:
            found += 1
            changed = copy.deepcopy(example)
            content = changed.messages[2]["content"]
            changed.messages[2]["content"] = re.sub(rf'("{field}": )(\d)', r"\g<1>9\g<2>", content)
            assert not check(changed).ok, content
    assert found > 10


@pytest.mark.parametrize("name", ["ask_back", "ask_then_call"])
def test_the_missing_argument_must_be_asked_for(name):
    for example in examples(name):
        for text in ("Sure, it is done.", "Gladly. What is your favourite colour?"):
            changed = copy.deepcopy(example)
            changed.messages[1]["content"] = text
            assert not check(changed).ok
        changed = copy.deepcopy(example)
        changed.answer["ask"] = None
        assert not check(changed).ok


def test_what_no_tool_can_do_must_be_refused():
    for example in examples("no_tool", 20):
        assert not check(with_reply(example, "Done, it is all set.")).ok
        tool = example.tools[0]["function"]["name"]
        call = {"id": "call_1", "type": "function", "function": {"name": tool, "arguments": {}}}
        changed = copy.deepcopy(example)
        changed.messages.insert(1, {"role": "assistant", "content": "", "tool_calls": [call]})
        changed.messages.insert(2, {"role": "tool", "tool_call_id": "call_1", "content": "{}"})
        assert not check(changed).ok


def test_a_failure_must_not_be_told_as_a_success():
    for example in examples("failed_call"):
        assert not check(with_reply(example, "Done, it is all set.")).ok


def test_calls_and_results_go_together():
    example = next(examples("call_daily", 1))
    lost = copy.deepcopy(example)
    lost.messages.pop(2)
    assert not check(lost).ok
    strange = copy.deepcopy(example)
    strange.messages[2]["tool_call_id"] = "call_7"
    assert not check(strange).ok
    no_tools = copy.deepcopy(example)
    no_tools.tools = None
    assert not check(no_tools).ok


def test_schemas_are_looked_at():
    example = next(examples("call_daily", 1))
    for damage in ("description", "parameters"):
        changed = copy.deepcopy(example)
        changed.tools[0]["function"].pop(damage)
        assert not check(changed).ok
    twice = copy.deepcopy(example)
    twice.tools.append(twice.tools[0])
    assert not check(twice).ok


def test_what_is_not_understood_does_not_count_as_right():
    messages = [
        {"role": "user", "content": "What is the meaning of life?"},
        {"role": "assistant", "content": "42."},
    ]
    assert not check(Example("x", "", "", True, messages, None, ["It is 42."], "42")).ok
    assert not check(Example("x", "", "", True, messages[:1])).ok


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("2 + 3 = 5", False),
        ("2 + 3 × 4 = 14", False),
        ("2 × (3 + 4) = 14 m", False),
        ("$1,200 / 8 = $150.", False),
        ("1/6 + 1/3 = 1/2", False),
        ("-5 × 9 / 5 = -9", False),
        ("1. 2 + 2 = 4.\n2. 4 - 1 = 3.", False),
        ("12 - 5 = 7 = 14 / 2", False),
        ("2 + 3 = 6", True),
        ("$1,200 / 8 = $140", True),
        ("a. 7 × 6 = 42. 42 - 2 = 41.", True),
        ("10 - 3 - 2 = 9", True),
    ],
)
def test_equations(text, wrong):
    assert (wrong_equation(text) is not None) == wrong


def test_words_are_found_whole():
    assert holds("It is 12 in all.", "12")
    assert not holds("It is 12.5 in all.", "12")
    assert not holds("It is 1,012.", "12")
    assert not holds("It is -5 degrees.", "5 degrees")
    assert last_sentence("First 2.5 km. Then it is 3 km.") == "Then it is 3 km."
    assert strange_names("So Ada and Bob pay.", "Ada pays.") == {"Bob"}


def test_the_checker_shares_nothing_with_the_generator() -> None:
    """Its capitals too are its own list; where both lists name a country they agree."""
    folder = Path(checker.__file__).parent
    for path in folder.glob("*.py"):
        assert "corpus.builtin" not in path.read_text(encoding="utf-8"), path.name
    assert dict(CAPITALS) == CAPITAL_OF
