"""# A risk of your own

Median regression: the mean absolute error has kinks everywhere, and a method for smooth functions
would trip over them. All that is needed is a function that returns value and subgradient.
"""

# %% Data with outliers
import numpy as np

import minorant

rng = np.random.default_rng(0)
X = rng.standard_normal((500, 5))
truth = np.array([1.0, -2.0, 0.0, 3.0, 0.5])
y = X @ truth + 0.1 * rng.standard_normal(500)
y[::10] += 50


# %% The risk
def mean_absolute_error(w):
    errors = X @ w - y
    return np.abs(errors).mean(), X.T @ np.sign(errors) / len(y)


# %% It is convex, so the bound is one
result = minorant.minimize(mean_absolute_error, np.zeros(5), lam=1e-4, convex=True, tol=1e-6)
print(f"{result.message} {result.nfev} evaluations")
print(f"between {result.lower_bound:.8f} and {result.fun:.8f}")
print(f"weights {result.x.round(2)}, true ones {truth}")
