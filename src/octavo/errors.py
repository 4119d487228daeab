"""Errors that a person can act on; the command line turns them into one message and an exit code."""

from __future__ import annotations


class OctavoError(Exception):
    """Base of the errors that end a command with a message instead of a traceback."""

    exit_code = 1


class InputError(OctavoError):
    """The user's input is wrong: the message says what, where and what to do (exit code 2)."""

    exit_code = 2


class MachineError(OctavoError):
    """The machine failed: disk full, device lost, out of memory that no split cures (exit code 3)."""

    exit_code = 3
