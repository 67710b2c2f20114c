"""# Two labels, a hundred points

Two half moons, one labelled point in each. Local methods often split the wrong way; the search over
labelings does not.
"""

# %% Data
import numpy as np
from sklearn.datasets import make_moons

import minorant

X, y = make_moons(100, noise=0.08, random_state=0)
labels = np.full(len(y), -1)
for c in (0, 1):
    labels[np.flatnonzero(y == c)[0]] = c

# %% A local method and the search
for method in ("gd", "pdm"):
    model = minorant.S3VC(sigma=0.35, balance=49, method=method).fit(X, labels)
    right = (model.transduction_ == y).mean()
    print(
        f"{method:4} objective {model.certificate_.objective:8.4f}, {right:.2f} of the labels right"
    )
