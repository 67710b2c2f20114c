"""# A monotone credit score

Census data (Adult) stands in for applicants: who earns more than 50 000 a year? A score that decides on
credit must not fall where age, education or hours of work rise. These columns come as bins; each becomes a
column for every step, and weights that may not be negative make the score monotone.

The data is read from the folder that MINORANT_DATA names.
"""

# %% Packages, and which columns of the data are bins of something that has an order
import os
import pathlib

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import load_svmlight_file
from sklearn.metrics import roc_auc_score

import minorant

FOLDER = pathlib.Path(os.environ.get("MINORANT_DATA", "../shared/data")) / "adult"
ORDERED = {"age": range(5), "education": range(34, 39), "hours": range(77, 82)}


# %% Bins as steps: 1 where the value is at least that of the bin
def steps(X):
    ordered = [X[:, list(bins)].toarray() for bins in ORDERED.values()]
    ordered = np.hstack([np.cumsum(bins[:, ::-1], axis=1)[:, ::-1][:, 1:] for bins in ordered])
    rest = np.setdiff1d(np.arange(X.shape[1]), np.concatenate([*map(list, ORDERED.values())]))
    return sp.csr_matrix(sp.hstack([ordered, X[:, rest]])), ordered.shape[1]


# %% With and without signs
def compare():
    X, y = load_svmlight_file(str(FOLDER / "a1a.gz"), n_features=123)
    X_test, y_test = load_svmlight_file(str(FOLDER / "a1a.t.gz"), n_features=123)
    rows, monotone = steps(X)
    rows_test, _ = steps(X_test)
    bounds = np.tile([-np.inf, np.inf], (rows.shape[1], 1))
    bounds[:monotone, 0] = 0.0
    free = minorant.LogisticRegression(lam=1e-3).fit(rows, y)
    signed = minorant.LogisticRegression(lam=1e-3, bounds=bounds).fit(rows, y)
    for name, model in [("any weights", free), ("monotone", signed)]:
        area = roc_auc_score(y_test, model.decision_function(rows_test))
        falls = int((model.coef_.ravel()[:monotone] < 0).sum())
        gap = model.certificate_.relative_gap
        print(f"{name:12} area under the curve {area:.3f}, steps down {falls}, proven gap {gap:.0e}")


if FOLDER.exists():
    compare()
else:
    print("the data set Adult is not there")
