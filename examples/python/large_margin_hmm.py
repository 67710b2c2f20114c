"""# Telling strokes of a pen apart

Hidden Markov models of real-valued frames: one of a few states for each class, fitted by maximum
likelihood first and then for large margins. The strokes are generated.
"""

# %% Strokes: how fast a pen moves to the right and up, frame by frame
import numpy as np

import minorant

SHAPES = {
    "arch": lambda s: (1.0, np.cos(np.pi * s)),
    "cup": lambda s: (1.0, -np.cos(np.pi * s)),
    "hook": lambda s: (np.cos(np.pi * s), np.cos(0.5 * np.pi * s)),
    "loop": lambda s: (np.cos(2.0 * np.pi * s), np.sin(2.0 * np.pi * s)),
}


def stroke(rng, name):
    """Frames of a stroke that is drawn at some speed by an unsteady hand."""
    way = np.linspace(0.0, 1.0, rng.integers(8, 16))
    frames = np.column_stack([np.broadcast_to(part, way.shape) for part in SHAPES[name](way)])
    return frames + 0.9 * rng.normal(size=frames.shape)


rng = np.random.default_rng(0)
y = [name for _ in range(100) for name in SHAPES]
X = [stroke(rng, name) for name in y]

# %% Maximum likelihood, then large margins
model = minorant.LargeMarginHMM(n_states=3, lam=0.1).fit(X[:200], y[:200])
print(f"maximum likelihood: {model.score_at_start(X[200:], y[200:]):.3f} of the strokes right")
print(f"large margins: {model.score(X[200:], y[200:]):.3f}, {model.n_evaluations_} evaluations")

# %% The objective has many minima: there is a local gap and no bound
print(f"lower bound: {model.certificate_.lower_bound}")
print(f"local gap: {model.certificate_.local_gap:.2g}")
