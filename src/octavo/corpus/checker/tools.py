"""Checking conversations with tools: schemas, calls that the user asked for, results, replies, questions, refusals."""

from __future__ import annotations

import json
import re
from typing import Any

from octavo.corpus.checker.text import bare_numbers, holds, strange_names
from octavo.corpus.checker.tool_facts import CARRIED, DATE, READERS, TOLD, TOLD_IN_CHAIN, wanted_tools
from octavo.corpus.checker.tool_results import Values, inconsistent
from octavo.corpus.checker.verdict import Verdict, fail

_TYPES: dict[str, Any] = {"string": str, "integer": int, "number": (int, float), "boolean": bool}
_LINK = re.compile(
    r"(?<=[.?!]) (?:also|and one more thing|besides|after that|second|and then)[,:]? ", re.IGNORECASE
)
_CLOSING = re.compile(
    r"(?: (?:thanks|thank you|no hurry|it is for my|i promised it to)[^.!?]*[.!?])+$", re.IGNORECASE
)


class Wrong(Exception):
    """The example fails; the text says why."""


def _need(condition: object, why: str) -> None:
    if not condition:
        raise Wrong(why)


def _schemas(tools: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    found = {}
    for tool in tools:
        _need(tool.get("type") == "function", "a tool is not of type function")
        function = tool["function"]
        parameters = function["parameters"]
        _need(
            function.get("description") and parameters.get("type") == "object",
            f"{function['name']} has no full schema",
        )
        _need(
            set(parameters["required"]) <= set(parameters["properties"]),
            f"{function['name']} requires unknown arguments",
        )
        _need(function["name"] not in found, f"{function['name']} is offered twice")
        found[function["name"]] = parameters
    _need(found, "no tools are offered")
    return found


def _valid(name: str, args: Values, schemas: dict[str, dict[str, Any]]) -> None:
    _need(name in schemas, f"{name} is not on offer")
    properties = schemas[name]["properties"]
    _need(set(args) <= set(properties), f"{name} is called with unknown arguments")
    _need(set(schemas[name]["required"]) <= set(args), f"{name} is called without a required argument")
    for key, value in args.items():
        rule = properties[key]
        _need(
            isinstance(value, _TYPES[rule["type"]]) and not isinstance(value, bool),
            f"{name}.{key} has the wrong type",
        )
        _need("enum" not in rule or value in rule["enum"], f"{name}.{key} is none of its options")
        _need(
            "pattern" not in rule or re.search(rule["pattern"], value),
            f"{name}.{key} does not match its pattern",
        )


def _read(tool: str, text: str) -> Values:
    """The arguments of a tool that stand in a request."""
    found: Values = {}
    for name, reader in READERS[tool].items():
        match = re.search(reader.pattern, text, re.IGNORECASE if name in ("product", "item") else 0)
        match = match or re.search(f"(?i:{reader.pattern})", text) if name not in _NAMES else match
        if match:
            found[name] = reader.means(next(g for g in match.groups() if g))
    return found


_NAMES = {"origin", "destination", "city", "symbol", "name", "restaurant", "author", "store", "street"}


def _supplied(tool: str, argument: str, text: str) -> Any:
    """The value of one argument that the user gives when asked for it."""
    reader = READERS[tool][argument]
    text = re.sub(r"^(?:Oh, sorry: |Right, |Of course: |Good point: )", "", text)
    for pattern in (reader.pattern, reader.alone):
        match = (
            re.search(pattern, text[0].lower() + text[1:]) or re.search(pattern, text) if pattern else None
        )
        if match:
            return reader.means(next(g for g in match.groups() if g))
    raise Wrong(f"the user does not give the {argument}")


def _segments(text: str) -> list[str]:
    return _LINK.split(_CLOSING.sub("", " " + text).strip())


def _requests(text: str) -> list[tuple[str, str]]:
    """(tool, part of the text that asks for it) in the order of asking."""
    return [(tool, part) for part in _segments(text) for tool in wanted_tools(part)]


def _expected_calls(text: str, asked: dict[str, Values], results: dict[str, Values]) -> list[dict[str, Any]]:
    """The calls that a request leads to, given what was supplied later and what earlier calls returned."""
    calls = []
    for tool, part in _requests(text):
        args = {**_read(tool, part), **asked.get(tool, {})}
        for name in READERS[tool]:
            source = CARRIED.get((tool, name))
            if source and source[0] in results and name not in args:
                args[name] = results[source[0]][source[1]]
        calls.append({"name": tool, "arguments": args})
    return calls


def _said(value: Any) -> set[str]:
    """The ways in which a value may stand in a sentence."""
    if isinstance(value, bool):
        return {str(value)}
    if isinstance(value, int | float):
        return {str(value), f"{value:,}", f"{value:,.2f}", f"{value:,g}", f"{value:g}"}
    if isinstance(value, str) and re.fullmatch(r"\d{4}-\d\d-\d\d", value):
        year, month, day = value.split("-")
        months = [
            "January",
            "February",
            "March",
            "April",
            "May",
            "June",
            "July",
            "August",
            "September",
            "October",
            "November",
            "December",
        ]
        return {f"{int(day)} {months[int(month) - 1]} {year}"}
    return {str(value)}


def _check_reply(reply: str, user: str, calls: list[tuple[str, Values, Values]]) -> None:
    tools = tuple(tool for tool, _, _ in calls)
    merged: Values = {}
    for _, args, result in calls:
        merged |= {**args, **result}
    fields = [(merged, key) for key in TOLD_IN_CHAIN[tools]] if tools in TOLD_IN_CHAIN else [
        ({**args, **result}, key) for tool, args, result in calls for key in TOLD[tool]
    ]  # fmt: skip
    for values, key in fields:
        _need(
            any(holds(reply, said) for said in _said(values[key])),
            f"the reply does not tell the {key}, {values[key]!r}",
        )
    allowed = bare_numbers(user)
    for _, args, result in calls:
        for value in (*args.values(), *result.values()):
            for said in _said(value):
                allowed |= bare_numbers(said)
    known = [
        user,
        *(said for _, args, result in calls for v in (*args.values(), *result.values()) for said in _said(v)),
    ]
    names = strange_names(reply, *known)
    _need(not names, f"the reply has names from nowhere: {sorted(names)}")
    dates = (
        set(re.findall(DATE, reply))
        - {said for said in known if re.fullmatch(DATE, said)}
        - set(re.findall(DATE, user))
    )
    _need(not dates, f"the reply has dates from nowhere: {sorted(dates)}")
    strange = bare_numbers(reply) - allowed
    _need(not strange, f"the reply has numbers from nowhere: {sorted(strange)}")


def _answered(messages: list[dict[str, Any]]) -> list[tuple[str, Values, dict[str, Any]]]:
    """Every call with its result, matched by id; each is answered once and none is answered without a call."""
    calls = [c for m in messages for c in m.get("tool_calls") or ()]
    results = {m["tool_call_id"]: json.loads(m["content"]) for m in messages if m["role"] == "tool"}
    _need(sorted(c["id"] for c in calls) == sorted(results), "calls and results do not match")
    _need(len(results) == sum(m["role"] == "tool" for m in messages), "a call is answered twice")
    return [(c["function"]["name"], c["function"]["arguments"], results[c["id"]]) for c in calls]


def _judge(messages: list[dict[str, Any]], tools: list[dict[str, Any]], answer: Any) -> str:
    schemas = _schemas(tools)
    users = [m["content"] for m in messages if m["role"] == "user"]
    replies = [m["content"] for m in messages if m["role"] == "assistant" and not m.get("tool_calls")]
    calls = _answered(messages)
    for name, args, _ in calls:
        _valid(name, args, schemas)
    wanted = [tool for tool, _ in _requests(users[0])]
    _need(wanted, "no known request")
    if not set(wanted) & set(schemas):
        _need(
            not calls and answer == {"calls": [], "ask": None},
            "there is no tool for this, so nothing can be called",
        )
        refused = re.search(r"cannot|no tool|none of my tools", replies[-1])
        _need(refused and not bare_numbers(replies[-1]), "the reply does not say that it is not possible")
        return "no tool"
    _need(set(wanted) <= set(schemas), "one of the tools that are asked for is not on offer")
    asked, missing = _check_question(users, replies, wanted)
    if missing and len(users) == 1:
        _need(
            answer == {"calls": [], "ask": missing} and not calls,
            f"the {missing} is missing: ask for it, call nothing",
        )
        return "ask back"
    return _check_calls(users, replies[-1], calls, asked, missing, answer)


def _check_question(
    users: list[str], replies: list[str], wanted: list[str]
) -> tuple[dict[str, Values], str | None]:
    """What the user supplies when asked, and which argument was asked for (None: nothing was missing)."""
    if len(wanted) != 1:
        return {}, None
    tool = wanted[0]
    lacking = [name for name in READERS[tool] if name not in _read(tool, _segments(users[0])[0])]
    if not lacking:
        return {}, None
    _need(len(lacking) == 1, f"more than one argument of {tool} is missing: {lacking}")
    question = replies[0]
    _need(
        question.endswith("?") and re.search(READERS[tool][lacking[0]].asked, question, re.IGNORECASE),
        f"the {lacking[0]} is not asked for",
    )
    if len(users) == 1:
        return {}, lacking[0]
    return {tool: {lacking[0]: _supplied(tool, lacking[0], users[1])}}, lacking[0]


def _check_calls(
    users: list[str],
    reply: str,
    calls: list[tuple[str, Values, Values]],
    asked: dict[str, Values],
    missing: str | None,
    answer: Any,
) -> str:
    expected = _expected_calls(users[0], asked, {tool: result for tool, _, result in calls})
    made = [{"name": tool, "arguments": args} for tool, args, _ in calls]
    order = {c["name"]: k for k, c in enumerate(made)}
    expected.sort(key=lambda c: order.get(c["name"], len(made)))  # a chain may be asked for in one breath
    _need(expected == made, f"the user asks for {expected}, called is {made}")
    _need(answer == {"calls": made, "ask": missing}, "the answer field does not give these calls")
    failures = [result for _, _, result in calls if "error" in result]
    if failures:
        told = re.search(r"could not", reply) and not bare_numbers(reply)
        _need(told, "the tool failed, and the reply does not say so")
        return "failed call"
    for tool, args, result in calls:
        problem = inconsistent(tool, args, result)
        _need(problem is None, problem or "")
    _check_reply(reply, " ".join(users), calls)
    return "call" if len(calls) == 1 else "calls"


def check_tools(messages: list[dict[str, Any]], tools: list[dict[str, Any]], answer: Any) -> Verdict:
    """A verdict on a conversation with tools."""
    try:
        return Verdict(True, _judge(messages, tools, answer))
    except Wrong as wrong:
        return fail(f"tools: {wrong}")
    except (KeyError, TypeError, ValueError, IndexError, StopIteration) as error:
        return fail(f"tools: malformed ({type(error).__name__}: {error})")
