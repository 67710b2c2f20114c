"""# One class of several kinds

Points of the second class lie left and right of the first one: no straight line separates them,
two do. Which point belongs to which line, nobody tells.
"""

# %% Data
import numpy as np

import minorant

rng = np.random.default_rng(0)
X = np.vstack([rng.normal(center, 0.7, (60, 2)) for center in ([-4, 0], [4, 1], [0, 0])])
y = np.repeat([1, 1, 0], 60)

# %% One component and two
for components in (1, 2):
    model = minorant.LatentSVC(n_components=components, kernel="linear").fit(X, y)
    print(f"{components} component(s): {model.score(X, y):.3f} right")
print(f"objective {model.certificate_.objective:.4f}, local gap {model.certificate_.local_gap:.1e}")
