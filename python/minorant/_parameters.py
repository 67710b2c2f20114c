"""The few checks of parameters that the library's option table cannot make."""

import math
from functools import cache
from numbers import Real

import numpy as np
from sklearn.utils import check_random_state

from . import _core

#: Evaluations after which estimators end a run where ``max_evals`` does not say.
MOST_EVALS = 10_000

#: The options of a model: what they mean, the default as it would be typed, the name in model files.
table = cache(_core.options)


def positive(name, value):
    """A positive number, or None for None."""
    if value is None:
        return None
    if not isinstance(value, Real) or isinstance(value, bool) or not 0 < value < math.inf:
        raise ValueError(f"{name} must be a positive number or None, got {value!r}")
    return float(value)


def not_negative(name, value):
    """A finite number of 0 or more."""
    if not isinstance(value, Real) or not 0 <= value < math.inf:
        raise ValueError(f"{name} must be a number of 0 or more, got {value!r}")
    return float(value)


def seed(random_state):
    """The seed that a ``random_state`` stands for. None is one fixed seed: two fits that differ in
    ``n_jobs`` alone must not differ in their seeds."""
    if random_state is None:
        return 0
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))
