"""# Regression with outliers

A tenth of the targets lost their decimal point. Least squares follows them; Huber's regression finds out the
scale of the others along with the weights, and tells which rows do not fit.
"""

# %% Data that scikit-learn ships, spoilt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.linear_model import Ridge
from sklearn.model_selection import train_test_split

import minorant

X, y = load_diabetes(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
wrong = np.random.default_rng(0).choice(len(y_train), len(y_train) // 10, replace=False)
y_train[wrong] *= 10

# %% Both
robust = minorant.HuberRegressor(lam=1e-6).fit(X_train, y_train)
squares = Ridge(alpha=1e-6 * len(y_train)).fit(X_train, y_train)
for name, model in [("Huber", robust), ("least squares", squares)]:
    error = np.abs(model.predict(X_test) - y_test).mean()
    print(f"{name:14} mean absolute error on new rows {error:6.1f}")

# %% What it found out
print(f"scale of the targets {robust.scale_:.1f}")
print(f"spoilt rows that are told: {robust.outliers_[wrong].sum()} of {len(wrong)}")
print(f"proven gap {robust.certificate_.relative_gap:.1e}")
