"""Parameters of estimators and options of the library: which is which, and the few checks that
the library's option table cannot make.
"""

import math
import re
from difflib import get_close_matches
from functools import cache
from numbers import Integral, Real

import numpy as np
from sklearn.utils import check_random_state

from . import _core

#: Evaluations after which estimators end a run where ``max_evals`` does not say.
MOST_EVALS = 10_000

#: Options that estimators have under quite another name.
_OTHER_NAMES = {
    "group_weights": "group_weight",
    "intercept_scaling": "bias",
    "lam": "lambda",
    "method": "solver",
    "multi_class": "multiclass",
    "n_jobs": "threads",
    "quantile": "tau",
    "random_state": "seed",
    "sample_weight": "weights",
}


def option_of(name):
    """The option that a parameter is: ``C1`` is c1, and ``n_states`` states."""
    return _OTHER_NAMES.get(name) or name.lower().removeprefix("n_")


#: The options of a model: the default as it would be typed, and the name in model files.
table = cache(_core.options)


def sentence(option, what, parameters):
    """The library's sentence about an option, with the name of the parameter in its place."""
    names = {option_of(name): name for name in [*parameters, "sample_weight"]}
    other = re.compile(r"(?<=with )(\w+)")
    what = other.sub(lambda found: names.get(found[0], found[0]), what)
    return f"{names.get(option, option)} {what}"


#: What parameters of other packages' estimators are called here.
_ELSEWHERE = {
    "alpha": "lam",
    "algorithm": "method",
    "coef0": "offset",
    "degree": "power",
    "dual": "method",
    "gamma": "sigma",
    "hidden_layer_sizes": "hidden",
    "lambda_": "lam",
    "max_iter": "max_evals",
    "max_iterations": "max_evals",
    "reg": "lam",
    "seed": "random_state",
    "solver": "method",
    "threads": "n_jobs",
}


def unknown(owner, name, known):
    """The sentence about a parameter that an estimator does not have."""
    meant = _ELSEWHERE.get(name)
    if meant not in known:
        meant = next(iter(get_close_matches(name, known, n=1)), None)
    if name == "penalty":
        hint = "its regularizer is the squared norm, and C or lam its strength"
    elif meant is not None:
        hint = f"{meant} is what comes nearest"
    else:
        hint = f"it has {', '.join(known)}"
    return f"{owner} has no parameter '{name}': {hint}"


def positive(name, value, kind=Real):
    """A positive number, or None for None."""
    if value is None:
        return None
    if not isinstance(value, kind) or isinstance(value, bool) or not 0 < value < math.inf:
        number = "integer" if kind is Integral else "number"
        raise ValueError(f"{name} must be a positive {number} or None, got {value!r}")
    return int(value) if kind is Integral else float(value)


def not_negative(name, value):
    """A finite number of 0 or more."""
    if not isinstance(value, Real) or not 0 <= value < math.inf:
        raise ValueError(f"{name} must be a number of 0 or more, got {value!r}")
    return float(value)


def of_run(method, tol, max_evals, max_seconds):
    """The options that a run on a user's own function or structure has."""
    return {
        "method": method,
        "tol": not_negative("tol", tol),
        "max_evals": positive("max_evals", max_evals, Integral),
        "max_seconds": positive("max_seconds", max_seconds),
    }


def seed(random_state):
    """The seed that a ``random_state`` stands for. None is one fixed seed: two fits that differ in
    ``n_jobs`` alone must not differ in their seeds."""
    if random_state is None:
        return 0
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))
