"""Days, months and clock times, and how they are written."""

from __future__ import annotations

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
    "November", "December",
)  # fmt: skip


def clock(minutes: int) -> str:
    """Minutes after midnight as a 24-hour time: "09:05"."""
    return f"{minutes // 60 % 24:02d}:{minutes % 60:02d}"


def span(minutes: int) -> str:
    """A length of time in words: "1 hour 20 minutes"."""
    hours, rest = divmod(minutes, 60)
    parts = [counted(hours, "hour")] if hours else []
    parts += [counted(rest, "minute")] if rest or not hours else []
    return " ".join(parts)


def counted(count: int, one: str, many: str | None = None) -> str:
    """The count with its noun: "1 day", "3 days"."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"
