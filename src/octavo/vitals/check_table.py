"""What `octavo check` found, as tables for people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console


def check_table(report: Mapping[str, Any], console: Console) -> None:
    """Print what `check_adapter` found: a line an adapter, each tensor of a single one, what is wrong."""
    from rich.table import Table

    many = len(report["adapters"]) > 1
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("adapter" if many else "file", overflow="fold")
    for name in ("tensors", "numbers", "NaN", "Inf", "update norm", "unmoved"):
        table.add_column(name, justify="right")
    for one in report["adapters"]:
        bad = "red" if one["nan"] or one["inf"] or one["unmoved"] else ""
        cells = [_count(one[key]) for key in ("tensors", "elements", "nan", "inf")]
        modules = len(one["modules"])
        moved = f"{len(one['unmoved'])} of {modules}" if modules else "–"
        table.add_row(one["name"], *cells, _figure(one["update_norm"]), moved, style=bad)
    console.print(table)
    shown = [tensor for tensor in report["tensors"] if not many or tensor["nan"] or tensor["inf"]]
    if shown:
        console.print()
        console.print(_tensor_table(shown, many))
    if report["against_base"]:
        console.print()
        console.print(_base_table(report["against_base"]))
    for line in _complaints(report):
        console.print(line, style="red", markup=False, highlight=False, soft_wrap=True)
    console.print("ok" if report["ok"] else "not ok", style="green" if report["ok"] else "bold red")


def _tensor_table(tensors: list[dict[str, Any]], many: bool) -> Any:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("tensor", overflow="fold")
    for name in ("shape", "type", "NaN", "Inf", "norm", "max abs"):
        table.add_column(name, justify="right")
    for tensor in tensors:
        table.add_row(
            f"{tensor['adapter']}: {tensor['name']}" if many else tensor["name"],
            "×".join(map(str, tensor["shape"])) or "scalar",
            tensor["dtype"],
            _count(tensor["nan"]),
            _count(tensor["inf"]),
            _figure(tensor["norm"]),
            _figure(tensor["max_abs"]),
            style="red" if tensor["nan"] or tensor["inf"] else "",
        )
    return table


def _base_table(against: Mapping[str, Mapping[str, Any]]) -> Any:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("on its base", overflow="fold")
    for name in ("largest update", "intruders", "logit change"):
        table.add_column(name, justify="right")
    table.add_column("answer", overflow="fold")
    for name, one in against.items():
        if one["reason"] is not None:
            table.add_row(name, "–", "–", "–", Text(f"not compared: {one['reason']}"), style="dim")
            continue
        figures = (_figure(one["largest_update"]), _whole(one["intruders"]), _figure(one["logit_change"]))
        said = one["answer"] if one["answer"] is not None else one["error"] or "logits are not finite"
        table.add_row(name, *figures, Text(" ".join(said.split())), style="" if one["good"] else "red")
    return table


def _complaints(report: Mapping[str, Any], most: int = 20) -> list[str]:
    lines = [f"{report['nonfinite']:,} numbers are not finite"] if report["nonfinite"] else []
    for what, names in (
        ("never moved (B is zero)", report["unmoved"]),
        ("has no adapter and no model", report["missing"]),
    ):
        lines += [f"{name} {what}" for name in names[:most]]
        lines += [f"and {len(names) - most} more"] if len(names) > most else []
    for name, one in report["against_base"].items():
        if one["good"] is False:
            what = "does not load on" if not one["loaded"] else "makes logits that are not finite of"
            lines.append(f"{name} {what} {one['base']}")
    return lines


def _count(number: int) -> str:
    return f"{number:,}"


def _whole(number: int | None) -> str:
    return "–" if number is None else _count(number)


def _figure(value: float | str | None) -> str:
    return "–" if value is None else value if isinstance(value, str) else f"{value:.4g}"
