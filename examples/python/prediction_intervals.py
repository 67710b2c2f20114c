"""# Prediction intervals

Three quantiles of how a disease goes on, fitted as one problem: what is predicted is an interval, and the
quantiles rarely cross.
"""

# %% Data that scikit-learn ships
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split

import minorant

X, y = load_diabetes(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)

# %% The 5 %, 50 % and 95 % quantiles together, with a strength chosen by cross-validation
levels = [0.05, 0.5, 0.95]
model = minorant.QuantileRegressorCV(quantile=levels, lams=np.geomspace(1e-2, 1e-5, 4))
model.fit(X_train, y_train)
print(f"lambda {model.lam_:.0e}, proven gap {model.certificate_.relative_gap:.1e}")

# %% How often new targets lie in their interval
low, middle, high = model.predict(X_test).T
print(f"inside the interval: {np.mean((low <= y_test) & (y_test <= high)):.2f} (asked for: 0.90)")
print(f"above the median:    {np.mean(y_test > middle):.2f} (asked for: 0.50)")
print(f"rows whose quantiles cross: {np.sum((low > middle) | (middle > high))} of {len(y_test)}")
for i in range(3):
    print(f"from {low[i]:5.1f} to {high[i]:5.1f}, median {middle[i]:5.1f}; it was {y_test[i]:5.1f}")
