"""Checks of single parameters."""

import math
from numbers import Integral, Real


def positive(name, value, kind=Real):
    """A positive number, or None for None."""
    if value is None:
        return None
    if not isinstance(value, kind) or isinstance(value, bool) or not 0 < value < math.inf:
        number = "integer" if kind is Integral else "number"
        raise ValueError(f"{name} must be a positive {number} or None, got {value!r}")
    return int(value) if kind is Integral else float(value)
