"""Checking a worked answer: the closing sentence, the steps and every equation on the way."""

from __future__ import annotations

from octavo.corpus.checker import (
    logic,
    reasoning_calendar,
    reasoning_motion,
    reasoning_puzzles,
    reasoning_quantities,
    reasoning_rules,
)
from octavo.corpus.checker.text import (
    Solution,
    Solver,
    bare_numbers,
    holds,
    last_sentence,
    strange_names,
    wrong_equation,
)
from octavo.corpus.checker.verdict import Verdict, fail

SOLVERS: tuple[Solver, ...] = (
    *reasoning_rules.SOLVERS,
    *logic.SOLVERS,
    *reasoning_calendar.SOLVERS,
    *reasoning_motion.SOLVERS,
    *reasoning_puzzles.SOLVERS,
    *reasoning_quantities.SOLVERS,
)

CALENDAR = """Monday Tuesday Wednesday Thursday Friday Saturday Sunday January February March April May June
July August September October November December"""


def solve(question: str) -> tuple[str, Solution] | None:
    """The name of the first solver that understands the question, and its solution."""
    for candidate in SOLVERS:
        if candidate.cue.search(question):
            found = candidate.solve(question)
            if found is not None:
                return candidate.name, found if isinstance(found, Solution) else Solution(found)
    return None


def check_worked(question: str, reply: str, answer: object, steps: list[str] | None) -> Verdict | None:
    """A verdict on a question with a worked reply; None if no solver understands the question."""
    solved = solve(question)
    if solved is None:
        return None
    name, solution = solved
    if answer != solution.answer:
        return fail(f"{name}: the answer is {solution.answer!r}, the example says {answer!r}")
    problem = _wrong_words(question, reply, solution)
    return fail(f"{name}: {problem}") if problem else _check_steps(name, reply, steps)


def _wrong_words(question: str, reply: str, solution: Solution) -> str | None:
    """What is wrong with the closing sentence, or with the names in the reply."""
    closing = last_sentence(reply)
    if not holds(closing, solution.answer):
        return f"the closing sentence does not give {solution.answer!r}: {closing!r}"
    rival = next((r for r in solution.rivals if holds(closing, r) and not holds(solution.answer, r)), None)
    if rival is not None:
        return f"the closing sentence also names {rival!r}"
    numbers = bare_numbers(closing) - bare_numbers(solution.answer) - bare_numbers(question)
    if numbers:
        return f"the closing sentence has numbers from nowhere: {sorted(numbers)}"
    names = strange_names(reply, question, CALENDAR)
    return f"the reply has names from nowhere: {sorted(names)}" if names else None


def _check_steps(name: str, reply: str, steps: list[str] | None) -> Verdict:
    if not steps:
        return fail(f"{name}: a worked answer without steps")
    for text in (reply, *steps):
        wrong = wrong_equation(text)
        if wrong is not None:
            return fail(f"{name}: this does not hold: {wrong}")
    spoken = reply.lower()
    for step in steps:
        if step.lower().rstrip(".") not in spoken:
            return fail(f"{name}: the reply leaves out the step {step!r}")
    return Verdict(True, name)
