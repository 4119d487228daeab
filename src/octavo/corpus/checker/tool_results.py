"""Are the results of tools consistent with the calls: echoed values, computed values, plausible ones."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from datetime import date
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from octavo.corpus.checker.text import clock_of, minutes_of
from octavo.corpus.checker.tool_facts import PHRASES

Values = dict[str, Any]
_SIZE = {
    "km": 1000,
    "m": 1,
    "cm": 0.01,
    "kg": 1,
    "g": 0.001,
    "t": 1000,
    "l": 1,
    "ml": 0.001,
    "min": 1,
    "h": 60,
    "d": 1440,
    "week": 10080,
}
_OPERATORS: dict[type, Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}


def near(one: float, other: float, by: float = 0.0051) -> bool:
    """Equal up to half a cent."""
    return abs(one - other) <= by


def _evaluate(node: ast.AST) -> float:
    if isinstance(node, ast.Expression):
        return _evaluate(node.body)
    if isinstance(node, ast.BinOp):
        return _OPERATORS[type(node.op)](_evaluate(node.left), _evaluate(node.right))
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        return node.value
    raise ValueError("not an arithmetic expression")


def _loan(args: Values) -> float:
    """The payment that brings a debt to zero, found by bisection."""
    low, high = 0.0, float(args["principal"]) * 2
    for _ in range(80):
        middle, debt = (low + high) / 2, float(args["principal"])
        for _ in range(int(args["months"])):
            debt = debt * (1 + args["annual_percent"] / 1200) - middle
        low, high = (middle, high) if debt > 0 else (low, middle)
    return low


def _cents(amount: Decimal) -> float:
    return float(amount.quantize(Decimal("0.01"), ROUND_HALF_UP))


def _shared(a: Values, r: Values) -> bool:
    total = a["total"] + a["total"] * a["tip_percent"] / 100
    return near(r["total_with_tip"], total) and near(r["each"] * a["people"], total, 0.0051 * a["people"])


def _days(args: Values) -> int:
    return date.fromisoformat(args["second"]).toordinal() - date.fromisoformat(args["first"]).toordinal()


def _exchanged(a: Values, r: Values) -> float:
    return _cents(Decimal(str(a["amount"])) * Decimal(str(r["rate"])))


# tool: does its result follow from the call? a are the arguments, r is the result
COMPUTED: dict[str, Callable[[Values, Values], bool]] = {
    "create_event": lambda a, r: r["end"] == clock_of(minutes_of(a["start"]) + int(a["minutes"])),
    "convert_currency": lambda a, r: near(r["converted"], _exchanged(a, r)),
    "convert_units": lambda a, r: near(r["result"], a["value"] * _SIZE[a["from"]] / _SIZE[a["to"]], 0.0001),
    "calculate": lambda a, r: r["result"] == _evaluate(ast.parse(a["expression"], mode="eval")),
    "loan_payment": lambda a, r: near(r["monthly"], _loan(a)),
    "split_bill": _shared,
    "days_between": lambda a, r: r["days"] == _days(a),
    "translate": lambda a, r: r["translation"] == PHRASES[a["language"]][a["text"]],
    "place_order": lambda a, r: r["total"] == r["unit_price"] * a["quantity"],
    "search_trains": lambda _, r: (
        (minutes_of(r["departure"]) + r["minutes"]) % 1440 == minutes_of(r["arrival"])
    ),
    "find_recipe": lambda a, r: 0 < r["minutes"] <= a["max_minutes"],
    "set_thermostat": lambda a, r: r["target_celsius"] == a["celsius"],
    "get_weather": lambda _, r: r["low"] <= r["high"] and 0 <= r["rain_percent"] <= 100,
    "opening_hours": lambda _, r: minutes_of(r["opens"]) < minutes_of(r["closes"]),
    "log_expense": lambda a, r: r["month_total"] >= a["amount"],
}


def inconsistent(tool: str, args: Values, result: Values) -> str | None:
    """What in a result does not go with its call, None if all does."""
    for key, value in args.items():
        if key in result and result[key] != value:
            return f"{tool} returns {key} {result[key]!r} for {value!r}"
    try:
        right = tool not in COMPUTED or COMPUTED[tool](args, result)
        return None if right else f"the result of {tool} does not follow from the call"
    except (KeyError, TypeError, ValueError) as error:
        return f"the result of {tool} is incomplete: {error}"
