"""Trains with the rivals of every loss: one JSON request a line in, one answer a line out.

The seconds are processor seconds of the training call alone. The objective is lambda/2 |w|^2 (or
lambda |w|_1) + mean loss, computed here from the weights that the rival returns. A rival that is not
installed, or cannot read the data, answers null.
"""
import json
import sys
import time
import warnings

import numpy as np
import scipy.sparse as sp

warnings.filterwarnings("ignore")
X = y = prob = None
warm = set()


def load(path):
    """The rows as they are stored: dense in their precision, or sparse."""
    global X, y, prob
    with np.load(path) as arrays:
        shape = tuple(int(n) for n in arrays["shape"])
        if "dense" in arrays:
            X = arrays["dense"].reshape(shape)
        else:
            parts = (arrays["data"], arrays["indices"], arrays["indptr"])
            X = sp.csr_matrix(parts, shape=shape)
        y = arrays["labels"]
    prob = None
    return {}


EPSILON, WIDTH = 0.1, 1.35


def scaled_huber(size):
    """The mean of sigma/2 + sigma h(size/sigma) at the best sigma."""
    sigma = np.sqrt(np.mean(size**2))
    for _ in range(200):
        inside = size <= WIDTH * sigma
        rest = 1.0 - WIDTH**2 * np.mean(~inside)
        following = np.sqrt(np.mean(np.where(inside, size**2, 0.0)) / rest)
        if following >= sigma * (1.0 - 1e-15):
            break
        sigma = following
    huber = np.where(inside, 0.5 * size**2 / sigma, WIDTH * (size - 0.5 * WIDTH * sigma))
    return float(np.mean(0.5 * sigma + huber))


def of_targets(loss, f):
    """The mean loss of targets."""
    excess = f - y
    size = np.abs(excess)
    if loss == "huber with its scale":
        return scaled_huber(size)
    losses = {
        "least squares": lambda: 0.5 * size**2,
        "absolute": lambda: size,
        "quantile 0.8": lambda: np.where(excess < 0.0, 0.8, 0.2) * size,
        "epsilon-insensitive": lambda: np.maximum(0.0, size - EPSILON),
        "squared epsilon-insensitive": lambda: np.maximum(0.0, size - EPSILON) ** 2,
        "huber": lambda: np.where(size <= WIDTH, 0.5 * size**2, WIDTH * (size - 0.5 * WIDTH)),
    }
    return float(losses[loss.removeprefix("L1 ")]().mean())


def objective(loss, w, classes, lam, l1):
    """w: one row of weights, or one for each class in the order of `classes`."""
    w = np.asarray(w, dtype=np.float64)
    if y.dtype == np.float64:
        size = np.abs(w).sum() if l1 else 0.5 * (w * w).sum()
        return lam * float(size) + of_targets(loss, X @ w[0])
    if len(w) == 1:
        margins = np.where(y == classes[1], 1.0, -1.0) * (X @ w[0])
        if loss == "logistic":
            losses = np.logaddexp(0.0, -margins)
        else:
            losses = np.maximum(0.0, 1.0 - margins)
            losses = losses if loss == "hinge" else losses * losses
    else:
        scores = X @ w.T
        own = scores[np.arange(len(y)), np.searchsorted(classes, y)]
        top = scores.max(axis=1)
        losses = top + np.log(np.exp(scores - top[:, None]).sum(axis=1)) - own
    size = np.abs(w).sum() if l1 else 0.5 * (w * w).sum()
    return lam * float(size) + float(losses.mean())


def timed(work):
    start = time.process_time()
    result = work()
    return time.process_time() - start, result


def liblinear(request, kind):
    from liblinear.liblinearutil import parameter, problem, train

    global prob
    if prob is None:
        prob = problem(y, sp.csr_matrix(X, dtype=np.float64))
    c = 1.0 / (request["lambda"] * X.shape[0])
    epsilon = EPSILON if "insensitive" in request["loss"] else 0.0
    # Least squares is half of the squared loss.
    c = 0.5 * c if request["loss"] == "least squares" else c
    settings = parameter(f"-s {kind} -c {c!r} -p {epsilon!r} -e {request['tol']!r} -B -1 -q")
    seconds, model = timed(lambda: train(prob, settings))
    if kind >= 11:
        return seconds, np.array(model.w[: X.shape[1]]).reshape(1, -1), None
    labels = np.array(model.get_labels())
    # The weights are for the label that comes first in the data.
    w = np.array(model.w[: X.shape[1]]).reshape(1, -1)
    return seconds, w if labels[0] > labels[1] else -w, np.sort(labels)


def fitted(model):
    # What is compiled on its first use is compiled before the clock starts.
    kind = (type(model).__name__, sp.issparse(X), X.dtype)
    if type(model).__module__.split(".")[0] in ("skglm", "celer") and kind not in warm:
        model.fit(X, y)
        warm.add(kind)
    seconds, _ = timed(lambda: model.fit(X, y))
    return seconds, np.atleast_2d(model.coef_), np.unique(y)


def sklearn(request, solver):
    from sklearn.linear_model import LogisticRegression

    return fitted(LogisticRegression(
        C=1.0 / (request["lambda"] * X.shape[0]), solver=solver, tol=request["tol"],
        fit_intercept=False, max_iter=100_000,
    ))


def snapml(request):
    import snapml

    settings = {
        "regularizer": request["lambda"] * X.shape[0], "tol": request["tol"], "n_jobs": 1,
        "fit_intercept": False, "max_iter": 100_000, "random_state": 0,
    }
    if request["loss"] == "hinge":
        return fitted(snapml.SupportVectorMachine(**settings))
    return fitted(snapml.LogisticRegression(dual=True, **settings))


def rehline(request):
    from rehline import plqERM_Ridge

    # It reads dense rows of doubles only, and labels of signs.
    if sp.issparse(X) and X.shape[0] * X.shape[1] > 5e7:
        return None
    dense = X.toarray() if sp.issparse(X) else X.astype(np.float64)
    if y.dtype == np.float64:
        return rehline_of_targets(request, dense)
    signs = np.where(y == y.max(), 1.0, -1.0)
    c = 1.0 / (request["lambda"] * X.shape[0])
    model = plqERM_Ridge(loss={"name": "svm"}, C=c, tol=request["tol"], max_iter=100_000)
    seconds, _ = timed(lambda: model.fit(dense, signs))
    return seconds, np.atleast_2d(model.coef_), np.unique(y)


def rehline_of_targets(request, dense):
    from rehline import plqERM_Ridge

    loss = {
        "absolute": {"name": "MAE"},
        "quantile 0.8": {"name": "QR", "qt": 0.8},
        "epsilon-insensitive": {"name": "SVR", "epsilon": EPSILON},
        "huber": {"name": "huber", "tau": WIDTH},
    }[request["loss"]]
    c = 1.0 / (request["lambda"] * len(y))
    model = plqERM_Ridge(loss=loss, C=c, tol=request["tol"], max_iter=100_000)
    seconds, _ = timed(lambda: model.fit(dense, y))
    return seconds, np.atleast_2d(model.coef_), None


def ridge(request, solver):
    from sklearn.linear_model import Ridge

    return fitted(Ridge(
        alpha=request["lambda"] * len(y), solver=solver, tol=request["tol"], fit_intercept=False,
        max_iter=100_000, random_state=0,
    ))


def huber(request):
    from sklearn.linear_model import HuberRegressor

    return fitted(HuberRegressor(
        epsilon=WIDTH, alpha=request["lambda"] * len(y), tol=request["tol"], fit_intercept=False,
        max_iter=100_000,
    ))


def highs(request):
    from sklearn.linear_model import QuantileRegressor

    # The program of all rows does not fit where there are many of them.
    if X.shape[0] * X.shape[1] > 5e6:
        return None
    tolerances = {"primal_feasibility_tolerance": request["tol"] * 1e-3}
    return fitted(QuantileRegressor(
        quantile=0.8, alpha=request["lambda"], fit_intercept=False, solver="highs",
        solver_options={**tolerances, "dual_feasibility_tolerance": request["tol"] * 1e-3},
    ))


def skglm_quantile(request):
    from skglm import GeneralizedLinearEstimator
    from skglm.experimental.pdcd_ws import PDCD_WS
    from skglm.experimental.quantile_regression import Pinball
    from skglm.penalties import L1

    if sp.issparse(X):
        return None
    solver = PDCD_WS(max_iter=500, max_epochs=500, tol=request["tol"], fit_intercept=False)
    # Its datafit is a sum over the rows.
    penalty = L1(alpha=request["lambda"] * len(y))
    return fitted(GeneralizedLinearEstimator(Pinball(0.8), penalty, solver))


def statsmodels(request):
    from statsmodels.regression.quantile_regression import QuantReg

    # It knows no penalty: where that counts it does not get there.
    if sp.issparse(X):
        return None
    model = QuantReg(y, X)
    seconds, found = timed(lambda: model.fit(q=0.8, p_tol=request["tol"], max_iter=10_000))
    return seconds, np.atleast_2d(found.params), None


def celer(request):
    from celer import LogisticRegression

    # Its dense rows must be doubles in the order of columns.
    model = LogisticRegression(
        C=1.0 / (request["lambda"] * X.shape[0]), tol=request["tol"], max_iter=1000,
    )
    return fitted(model)


def skglm(request):
    if y.dtype == np.float64:
        return skglm_quantile(request)
    from skglm import SparseLogisticRegression

    return fitted(SparseLogisticRegression(
        alpha=request["lambda"], tol=request["tol"], max_iter=1000, fit_intercept=False,
    ))


RIVALS = {
    **{f"-s {kind}": lambda r, kind=kind: liblinear(r, kind) for kind in (0, 1, 2, 3, 6, 7, 11, 12, 13)},
    **{name: lambda r, name=name: sklearn(r, name)
       for name in ("lbfgs", "newton-cg", "newton-cholesky")},
    **{name: lambda r, name=name: ridge(r, name) for name in ("cholesky", "lsqr", "sag")},
    "snapml": snapml, "rehline": rehline, "celer": celer, "skglm": skglm,
    "HuberRegressor": huber, "HiGHS": highs, "statsmodels": statsmodels,
}
for line in sys.stdin:
    request = json.loads(line)
    if "load" in request:
        answer = load(request["load"])
    else:
        try:
            result = RIVALS[request["peer"]](request)
        except Exception as why:
            print(f"{request['peer']}: {why}", file=sys.stderr)
            result = None
        answer = {"seconds": None, "objective": None}
        if result is not None:
            seconds, w, classes = result
            value = objective(request["loss"], w, classes, request["lambda"], request["l1"])
            answer = {"seconds": seconds, "objective": value}
    print(json.dumps(answer), flush=True)
