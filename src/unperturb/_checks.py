"""Checks that several rooms make of what they are given."""

from __future__ import annotations

from numbers import Real
from operator import index
from typing import Any

from unperturb.errors import InvalidOptionError, UnperturbError


def whole(
    value: Any, least: int, name: str, error: type[UnperturbError] = InvalidOptionError
) -> int:
    """Give a whole number that is at least `least`; what has a fraction, or is a bool, is none.

    Example:
        >>> whole(3, 1, "bins")
        3
        >>> whole(2.5, 1, "bins")
        Traceback (most recent call last):
            ...
        unperturb.errors.InvalidOptionError: bins is 2.5; it must be a whole number >= 1. \
pass such a number
    """
    try:
        number = index(value)
    except TypeError:
        number = least - 1
    if number < least or isinstance(value, bool):
        raise error(
            f"{name} is {value!r}", f"it must be a whole number >= {least}", "pass such a number"
        )
    return number


def is_number(value: Any) -> bool:
    """Say whether this is a real number, of Python or NumPy, that can be compared with others."""
    return isinstance(value, Real)
