"""Are the results of tools consistent with the calls: echoed values, computed values, plausible ones."""

from __future__ import annotations

import ast
import operator
from datetime import date
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from octavo.corpus.checker.text import clock_of, minutes_of
from octavo.corpus.checker.tool_facts import PHRASES

Values = dict[str, Any]
_SIZE = {"km": 1000, "m": 1, "cm": 0.01, "kg": 1, "g": 0.001, "t": 1000, "l": 1, "ml": 0.001, "min": 1, "h": 60, "d": 1440, "week": 10080}
_OPERATORS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv}


def near(one: float, other: float, by: float = 0.0051) -> bool:
    """Equal up to half a cent."""
    return abs(one - other) <= by


def _evaluate(node: ast.AST) -> float:
    if isinstance(node, ast.Expression):
        return _evaluate(node.body)
    if isinstance(node, ast.BinOp):
        return _OPERATORS[type(node.op)](_evaluate(node.left), _evaluate(node.right))  # type: ignore[index,no-any-return]
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


def computed(tool: str, args: Values, result: Values) -> bool:
    """Do the computed fields follow from the call?"""
    r = result
    if tool == "create_event":
        return r["end"] == clock_of(minutes_of(args["start"]) + int(args["minutes"]))
    if tool == "convert_currency":
        return near(r["converted"], _cents(Decimal(str(args["amount"])) * Decimal(str(r["rate"]))))
    if tool == "convert_units":
        return near(r["result"], args["value"] * _SIZE[args["from"]] / _SIZE[args["to"]], 0.0001)
    if tool == "calculate":
        return bool(r["result"] == _evaluate(ast.parse(args["expression"], mode="eval")))
    if tool == "loan_payment":
        return near(r["monthly"], _loan(args))
    if tool == "split_bill":
        total = args["total"] + args["total"] * args["tip_percent"] / 100
        return near(r["total_with_tip"], total) and near(r["each"] * args["people"], total, 0.0051 * args["people"])
    if tool == "days_between":
        return bool(r["days"] == date.fromisoformat(args["second"]).toordinal() - date.fromisoformat(args["first"]).toordinal())
    if tool == "translate":
        return bool(r["translation"] == PHRASES[args["language"]][args["text"]])
    if tool == "place_order":
        return bool(r["total"] == r["unit_price"] * args["quantity"])
    if tool == "search_trains":
        return (minutes_of(r["departure"]) + r["minutes"]) % 1440 == minutes_of(r["arrival"])
    if tool == "find_recipe":
        return bool(0 < r["minutes"] <= args["max_minutes"])
    if tool == "set_thermostat":
        return bool(r["target_celsius"] == args["celsius"])
    if tool == "get_weather":
        return bool(r["low"] <= r["high"] and 0 <= r["rain_percent"] <= 100)
    if tool == "opening_hours":
        return minutes_of(r["opens"]) < minutes_of(r["closes"])
    if tool == "log_expense":
        return bool(r["month_total"] >= args["amount"])
    return True


def inconsistent(tool: str, args: Values, result: Values) -> str | None:
    """What in a result does not go with its call, None if all does."""
    for key, value in args.items():
        if key in result and result[key] != value:
            return f"{tool} returns {key} {result[key]!r} for {value!r}"
    try:
        return None if computed(tool, args, result) else f"the result of {tool} does not follow from the call"
    except (KeyError, TypeError, ValueError) as error:
        return f"the result of {tool} is incomplete: {error}"
