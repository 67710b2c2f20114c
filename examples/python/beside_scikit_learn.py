"""# Where scikit-learn's LinearSVC does not converge

Features of very different sizes and a large C: scikit-learn's solver stops at its limit of
iterations and warns. How far from the optimum it is, it cannot say; the certificate can.
"""

# %% Data
import warnings

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

import minorant

X, y = load_breast_cancer(return_X_y=True)
C = 10.0


# %% The objective that both minimise, in scikit-learn's scale
def objective(coef, intercept):
    margins = np.where(y == 1, 1, -1) * (X @ coef.ravel() + intercept)
    regularizer = 0.5 * (np.sum(coef**2) + np.sum(intercept**2))
    return regularizer + C * np.maximum(0, 1 - margins).sum()


# %% scikit-learn
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    theirs = LinearSVC(loss="hinge", C=C, random_state=0).fit(X, y)
warned = any(issubclass(warning.category, ConvergenceWarning) for warning in caught)
their_objective = objective(theirs.coef_, theirs.intercept_)
print(f"scikit-learn: objective {their_objective:.1f}, warned: {warned}")

# %% Minorant
ours = minorant.LinearSVC(C=C).fit(X, y)
our_objective = objective(ours.coef_, ours.intercept_)
bound = ours.certificate_.lower_bound * C * len(y)
print(f"Minorant:     objective {our_objective:.1f}, proven to be at least {bound:.1f}")
print(f"scikit-learn's answer is {their_objective / our_objective:.2f} times the optimum")
