"""# A monotone credit score

Census data (Adult) stands in for applicants: who earns more than 50 000 a year? A score that decides on
credit must not fall where age, education, hours of work or capital gain rise. These columns come as bins; each
becomes a column for every step, and weights that may not be negative make the score monotone.

The data is read from the folder that MINORANT_DATA names.
"""

# %% Data
import os
import pathlib

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import load_svmlight_file
from sklearn.metrics import roc_auc_score

folder = pathlib.Path(os.environ.get("MINORANT_DATA", "../shared/data")) / "adult"
if not folder.exists():
    print("the data set Adult is not there")
    raise SystemExit

X, y = load_svmlight_file(str(folder / "a1a.gz"), n_features=123)
X_test, y_test = load_svmlight_file(str(folder / "a1a.t.gz"), n_features=123)

# %% Bins as steps: 1 where the value is at least that of the bin
ORDERED = {"age": range(5), "education": range(34, 39), "hours": range(77, 82)}


def steps(X):
    rest = np.setdiff1d(np.arange(X.shape[1]), np.concatenate([*map(list, ORDERED.values())]))
    columns = []
    for bins in ORDERED.values():
        values = X[:, list(bins)].toarray()
        columns.append(np.cumsum(values[:, ::-1], axis=1)[:, ::-1][:, 1:])
    ordered = np.hstack(columns)
    return sp.csr_matrix(sp.hstack([ordered, X[:, rest]])), ordered.shape[1]


rows, monotone = steps(X)
rows_test, _ = steps(X_test)
