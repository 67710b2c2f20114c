"""# Outliers

A handful of examples with a wrong label, far out, bend a support vector machine. The ramp loss
stops counting them.
"""

# %% Two classes, and some wrong labels far out
import numpy as np
from sklearn.datasets import make_blobs

import minorant

X, y = make_blobs(400, centers=[[-2, 0], [2, 0]], random_state=0)
rng = np.random.default_rng(0)
outliers = rng.choice(200, 15, replace=False)
X_train, y_train = X[:200].copy(), y[:200].copy()
X_train[outliers] *= 10
y_train[outliers] = 1 - y_train[outliers]

# %% Both losses
for model in (minorant.LinearSVC(), minorant.RampSVC()):
    model.fit(X_train, y_train)
    print(f"{type(model).__name__}: accuracy {model.score(X[200:], y[200:]):.3f} on clean data")

# %% The ramp loss is not convex: what is reported is local, and says so
print(f"objective {model.certificate_.objective:.6f}, bound {model.certificate_.lower_bound}")
print(f"local gap {model.certificate_.local_gap:.1e}")
