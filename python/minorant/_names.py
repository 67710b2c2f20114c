"""What parameters are called: here, in the library's option table, and in other packages. Only the
standard library is needed, for the book's Python reference is made with it too.
"""

import re
from difflib import get_close_matches

#: Options that estimators have under quite another name.
_OTHER_NAMES = {
    "group_weights": "group_weight",
    "intercept_scaling": "bias",
    "lam": "lambda",
    "method": "solver",
    "multi_class": "multiclass",
    "n_jobs": "threads",
    "positive": "nonnegative",
    "quantile": "tau",
    "random_state": "seed",
    "sample_weight": "weights",
}


def option_of(name):
    """The option that a parameter is: ``C1`` is c1, and ``n_states`` states."""
    return _OTHER_NAMES.get(name) or name.lower().removeprefix("n_")


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
