"""The package's LinearSVC at its defaults and scikit-learn's to the same objective: one JSON request
a line in, one JSON answer a line out. Seconds are processor seconds of `fit`.
"""
import json
import sys
import time
import warnings

import numpy as np
import scipy.sparse as sp
from sklearn.svm import LinearSVC as Other

import minorant

#: scikit-learn's tolerances, from its default on.
TOLERANCES = [1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9]
X = y = None


def load(path):
    global X, y
    with np.load(path) as arrays:
        parts = (arrays["data"], arrays["indices"], arrays["indptr"])
        X = sp.csr_matrix(parts, shape=tuple(arrays["shape"]))
        y = arrays["labels"]
    if X.nnz > 0.1 * X.shape[0] * X.shape[1]:
        # Users hand dense data over as arrays.
        X = X.toarray()
    return {}


def timed(model):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        start = time.process_time()
        model.fit(X, y)
        seconds = time.process_time() - start
    return seconds, bool(caught)


def objective(model, way):
    """C = 1, divided by the number of rows as ours is."""
    squares = (model.coef_**2).sum() + (model.intercept_**2).sum()
    scores, rows = model.decision_function(X), np.arange(len(y))
    if scores.ndim == 1:
        losses = np.maximum(0, 1 - np.where(y == model.classes_[1], scores, -scores))
    elif way == "ovr":
        signs = np.where(y[:, None] == model.classes_, 1, -1)
        losses = np.maximum(0, 1 - signs * scores).sum(axis=1)
    else:
        truth = np.searchsorted(model.classes_, y)
        own = scores[rows, truth]
        scores = scores + 1
        scores[rows, truth] -= 1
        losses = scores.max(axis=1) - own
    return float(0.5 * squares / len(y) + losses.mean())


def ours(request):
    model = minorant.LinearSVC(multi_class=request["way"])
    seconds, warned = timed(model)
    return {
        "seconds": seconds,
        "warned": warned,
        "gap": model.certificate_.relative_gap,
        "evaluations": model.n_evaluations_,
        "method": model.method_,
        "objective": model.certificate_.objective,
        "checked": objective(model, request["way"]),
    }


def theirs(request):
    """At its defaults, and to our objective with the loosest tolerance that gets there."""
    how = {"loss": "hinge"}
    if request["way"] == "joint" and len(np.unique(y)) > 2:
        how = {"multi_class": "crammer_singer"}
    model = Other(random_state=0, **how)
    seconds, warned = timed(model)
    answer = {"seconds": seconds, "warned": warned, "objective": objective(model, request["way"])}
    spent = 0.0
    for tol in TOLERANCES:
        model = Other(random_state=0, tol=tol, max_iter=10**6, **how)
        seconds, _ = timed(model)
        spent += seconds
        if objective(model, request["way"]) <= request["objective"]:
            return {**answer, "same": seconds, "tol": tol}
        if spent > request["limit"]:
            break
    return answer


for line in sys.stdin:
    request = json.loads(line)
    if "load" in request:
        answer = load(request["load"])
    else:
        answer = {"ours": ours, "theirs": theirs}[request["who"]](request)
    print(json.dumps(answer), flush=True)
