"""# Learning features for labels in a row

A network under a conditional random field, where a linear chain cannot do: a token's label depends
on whether two of its numbers agree. The sequences are generated.
"""

# %% Sequences whose labels are the exclusive or of two bits
import numpy as np

import minorant

rng = np.random.default_rng(0)
X = [rng.integers(0, 2, (rng.integers(3, 7), 4)).astype(float) for _ in range(120)]
y = [np.where(x[:, 0] != x[:, 1], "odd", "even") for x in X]

# %% A linear chain, and a chain on learned features
linear = minorant.ChainCRF(C=10.0).fit(X[:80], y[:80])
model = minorant.NeuroCRF((12,), activation="tanh", pretrain="none", C=100.0, random_state=1)
model.fit(X[:80], y[:80])
print(f"linear: {linear.score(X[80:], y[80:]):.3f} of the labels right")
print(f"network: {model.score(X[80:], y[80:]):.3f}")

# %% Probabilities of labels
for row in model.predict_marginals(X[80:81])[0]:
    print("  ".join(f"{name} {p:.3f}" for name, p in zip(model.classes_, row, strict=True)))
