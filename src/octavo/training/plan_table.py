"""A plan as a table for people."""

from __future__ import annotations

from rich.table import Table

from octavo.sizes import in_words
from octavo.standing import duration
from octavo.training.preview import Preview

_PARTS = {
    "base": "base model, frozen",
    "adapters": "adapters, gradients, optimizer, last good copy",
    "activations": "activations of the largest micro-step",
    "head": "logits, a chunk at a time",
    "workspace": "workspace",
    "training": "training together",
    "evaluation": "evaluation (not at the same time)",
    "peak": "peak",
}


def plan_table(found: Preview) -> Table:
    """Two columns: what, and how much; the memory by part against the limit, then the time."""
    plan, bytes_of = found.plan, found.plan.predicted_bytes
    table = Table(title=f"{found.base} ({found.model}) on {found.device['name'] or found.device['kind']}")
    table.add_column("what")
    table.add_column("how much", justify="right")
    low, high = found.trained
    table.add_row("runs", f"{len(found.runs):,}")
    together = "replicas at once" if found.method == "replicas" else "lanes: runs trained side by side"
    table.add_row(together, f"{plan.lanes:,}")
    table.add_row(f"parameters of the base ({plan.dtype})", f"{plan.base_parameters:,}")
    table.add_row("trained parameters a run", f"{low:,}" if low == high else f"{low:,} to {high:,}")
    table.add_row("tokens of all runs, all epochs", f"{found.tokens:,}")
    table.add_row("longest example, tokens", f"{plan.longest_example:,}")
    table.add_row("micro-step, at most tokens", f"{plan.micro_step_tokens:,}")
    table.add_row("largest micro-step, tokens", f"{plan.largest_micro_step:,}", end_section=True)
    for name, words in _PARTS.items():
        last = name in ("workspace", "evaluation")
        table.add_row(words, in_words(bytes_of[name]), end_section=last)
    share = bytes_of["peak"] / plan.limit_bytes
    table.add_row(f"limit (lanes.memory: {plan.memory})", in_words(plan.limit_bytes))
    table.add_row("peak of the limit", f"{share:.0%}")
    table.add_row("free on the device", in_words(found.free_bytes), end_section=True)
    time = "not known without --probe" if plan.predicted_seconds is None else duration(plan.predicted_seconds)
    table.add_row("training time", time)
    if plan.analytic_error is not None:
        table.add_row("the formula alone, against the probe", f"{plan.analytic_error:+.1%}")
    if plan.shortened_to is not None:
        table.add_row("examples are cut at, tokens", f"{plan.shortened_to:,}")
    return table
