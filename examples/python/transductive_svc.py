"""# A few labels, many rows

Rows without a label are marked with -1, as in scikit-learn's semi-supervised module. They say
where there is a gap between the classes.
"""

# %% Four hundred rows, six of them labelled
import numpy as np
from sklearn.datasets import make_blobs

import minorant

X, y = make_blobs(400, centers=[[-3, -1], [3, 1]], cluster_std=[1.2, 1.2], random_state=3)
labels = np.full(len(y), -1)
for c in (0, 1):
    labels[np.flatnonzero(y == c)[:3]] = c

# %% With the labelled rows alone, and with all
known = labels != -1
alone = minorant.LinearSVC().fit(X[known], labels[known])
model = minorant.TransductiveSVC(n_starts=3, random_state=0).fit(X, labels)
print(f"labelled rows alone: {alone.score(X, y):.3f}")
print(f"all rows:            {(model.transduction_ == y).mean():.3f}")
print(f"local gap {model.certificate_.local_gap:.1e}, no bound: {model.certificate_.lower_bound}")
