"""Trains with LIBLINEAR and scikit-learn: one JSON request a line in, one JSON answer a line out.

The seconds are processor seconds of the training call alone. The objective is
lambda/2 |w|^2 + mean hinge loss, or lambda |w|_1 + mean logistic loss, computed here from the
weights that the peer returns.
"""
import json
import sys
import time
import warnings

import numpy as np
import scipy.sparse as sp
from liblinear.liblinearutil import parameter, problem, train
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

warnings.filterwarnings("ignore")
X = y = prob = None


def load(path):
    global X, y, prob
    with np.load(path) as arrays:
        shape = tuple(int(n) for n in arrays["shape"])
        if "dense" in arrays:
            X = sp.csr_matrix(arrays["dense"].reshape(shape), dtype=np.float64)
        else:
            parts = (arrays["data"], arrays["indices"], arrays["indptr"])
            X = sp.csr_matrix(parts, shape=shape)
        y = arrays["labels"]
    prob = problem(y, X)
    return {}


def objective(w, classes, lam):
    """w: one row of weights, or one for each class in the order of `classes`."""
    if len(w) == 1:
        margins = np.where(y == classes[1], 1.0, -1.0) * (X @ w[0])
        loss = np.maximum(0.0, 1.0 - margins)
    else:
        scores = X @ w.T
        rows = np.arange(len(y))
        truth = np.searchsorted(classes, y)
        own = scores[rows, truth]
        scores += 1.0
        scores[rows, truth] -= 1.0
        loss = scores.max(axis=1) - own
    return 0.5 * lam * float((w * w).sum()) + float(loss.mean())


def liblinear(request):
    lam, binary = request["lambda"], request["binary"]
    kind = 3 if binary else 4
    c = 1.0 / (lam * X.shape[0])
    settings = parameter(f"-s {kind} -c {c!r} -e {request['tol']!r} -B -1 -q")
    start = time.process_time()
    model = train(prob, settings)
    seconds = time.process_time() - start
    labels = np.array(model.get_labels())
    order = np.argsort(labels)
    if binary:
        # The weights are for the label that comes first in the data.
        w = np.array(model.w[: X.shape[1]]).reshape(1, -1)
        w = w if labels[0] > labels[1] else -w
    else:
        w = np.array(model.w[: X.shape[1] * len(labels)]).reshape(X.shape[1], -1).T[order]
    return seconds, objective(w, labels[order], lam)


def sklearn(request):
    lam, binary = request["lambda"], request["binary"]
    how = {"loss": "hinge"} if binary else {"multi_class": "crammer_singer"}
    model = LinearSVC(
        C=1.0 / (lam * X.shape[0]), tol=request["tol"], fit_intercept=False, dual=True,
        max_iter=request["iterations"], random_state=0, **how,
    )
    start = time.process_time()
    model.fit(X, y)
    seconds = time.process_time() - start
    return seconds, objective(model.coef_, model.classes_, lam)


def l1_objective(w, positive, lam):
    margins = np.where(y == positive, 1.0, -1.0) * (X @ w)
    return lam * float(np.abs(w).sum()) + float(np.logaddexp(0.0, -margins).mean())


def liblinear_l1(request):
    lam = request["lambda"]
    settings = parameter(f"-s 6 -c {1.0 / (lam * X.shape[0])!r} -e {request['tol']!r} -B -1 -q")
    start = time.process_time()
    model = train(prob, settings)
    seconds = time.process_time() - start
    # The weights are for the label that comes first in the data.
    return seconds, l1_objective(np.array(model.w[: X.shape[1]]), model.get_labels()[0], lam)


def sklearn_l1(request):
    lam = request["lambda"]
    model = LogisticRegression(
        l1_ratio=1.0, solver="liblinear", C=1.0 / (lam * X.shape[0]), tol=request["tol"],
        fit_intercept=False, max_iter=request["iterations"], random_state=0,
    )
    start = time.process_time()
    model.fit(X, y)
    seconds = time.process_time() - start
    return seconds, l1_objective(model.coef_[0], model.classes_[1], lam)


PEERS = {
    ("LIBLINEAR", "l2"): liblinear, ("scikit-learn", "l2"): sklearn,
    ("LIBLINEAR", "l1"): liblinear_l1, ("scikit-learn", "l1"): sklearn_l1,
}
for line in sys.stdin:
    request = json.loads(line)
    if "load" in request:
        answer = load(request["load"])
    else:
        seconds, value = PEERS[request["peer"], request["penalty"]](request)
        answer = {"seconds": seconds, "objective": value}
    print(json.dumps(answer), flush=True)
