"""Durations and times as the control endpoint writes them."""

from __future__ import annotations

import datetime
import re
from typing import Union

Duration = Union[str, int, float, datetime.timedelta]
"""Go's text (`24h`, `1m30s`), a timedelta, or a number of seconds."""

_UNITS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}
_PART = re.compile(r"(\d+(?:\.\d*)?|\.\d+)(ms|us|µs|ns|h|m|s)")


def to_text(duration: Duration) -> str:
    if isinstance(duration, str):
        return duration
    if not isinstance(duration, datetime.timedelta):
        duration = datetime.timedelta(seconds=duration)
    return f"{duration // datetime.timedelta(milliseconds=1)}ms"


def to_seconds(duration: Duration) -> float:
    if isinstance(duration, datetime.timedelta):
        return duration.total_seconds()
    if not isinstance(duration, str):
        return float(duration)
    parts = _PART.findall(duration)
    if not parts or "".join(number + unit for number, unit in parts) != duration:
        raise ValueError(f"`{duration}` is not a duration such as `24h` or `1m30s`")
    return sum(float(number) * _UNITS[unit] for number, unit in parts)


def from_text(text: str) -> datetime.timedelta:
    return datetime.timedelta(seconds=to_seconds(text))


def to_time(text: str) -> datetime.datetime:
    """A time of RFC 3339 in UTC, to the microsecond."""
    whole, _, fraction = text.rstrip("Z").partition(".")
    micros = int((fraction + "000000")[:6])
    return datetime.datetime.fromisoformat(whole).replace(microsecond=micros, tzinfo=datetime.timezone.utc)
