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


def sample_weights(values, examples):
    """One weight of 0 or more for each example as a list of numbers, or None for None."""
    if values is None:
        return None
    weights = np.asarray(values, dtype=np.float64)
    if weights.shape != (examples,):
        raise ValueError(
            f"expected {examples} sample weights, one for each example, got shape {weights.shape}"
        )
    wrong = np.flatnonzero(~(weights >= 0) | np.isinf(weights))
    if len(wrong):
        raise ValueError(
            f"expected sample weights of 0 or more, got {weights[wrong[0]]} for example {wrong[0]}"
        )
    if not weights.any():
        raise ValueError("expected some sample weight above 0, got none")
    return weights.tolist()
