"""Checks of single parameters."""

import math
from numbers import Integral, Real

import numpy as np
from sklearn.utils import check_random_state


def positive(name, value, kind=Real):
    """A positive number, or None for None."""
    if value is None:
        return None
    if not isinstance(value, kind) or isinstance(value, bool) or not 0 < value < math.inf:
        number = "integer" if kind is Integral else "number"
        raise ValueError(f"{name} must be a positive {number} or None, got {value!r}")
    return int(value) if kind is Integral else float(value)


def seed(random_state):
    """The seed that a ``random_state`` stands for. None is one fixed seed: two fits that differ in
    ``n_jobs`` alone must not differ in their seeds."""
    if random_state is None:
        return 0
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))
