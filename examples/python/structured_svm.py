"""# A structure of one's own: who goes with whom

Each example has five workers and five jobs, and some numbers for every pair of them. An output
gives every worker a job of his own. The package has no such model; the class below is all that it
needs to know to train one, with a certificate.
"""

# %% The structure: features, loss, and the two argmaxes
import numpy as np
from scipy.optimize import linear_sum_assignment

import minorant

SIZE, FEATURES = 5, 4


class Assignments:
    """Outputs are arrays: the job of each worker."""

    def joint_feature(self, x, y):
        """The features of the pairs that were chosen, added up."""
        return x[np.arange(SIZE), y].sum(axis=0)

    def loss(self, y_true, y):
        """How many workers have a wrong job."""
        return np.count_nonzero(y_true != y)

    def loss_augmented_inference(self, x, y_true, w):
        """The assignment with the largest sum of losses and scores."""
        wrong = np.arange(SIZE) != y_true[:, None]
        return linear_sum_assignment(x @ w + wrong, maximize=True)[1]

    def predict(self, x, w):
        """The assignment with the largest score."""
        return linear_sum_assignment(x @ w, maximize=True)[1]


# %% Examples whose true assignment is the best one for hidden weights, with some noise
rng = np.random.default_rng(0)
hidden = np.array([1.0, -2.0, 0.5, 0.0])
X = rng.standard_normal((300, SIZE, SIZE, FEATURES))
noise = 0.5 * rng.standard_normal((300, SIZE, SIZE))
Y = [linear_sum_assignment(x @ hidden + n, maximize=True)[1] for x, n in zip(X, noise, strict=True)]

# %% Training
svm = minorant.StructuredSVM(Assignments(), lam=0.01).fit(X[:200], Y[:200])
print(f"weights {svm.coef_.round(2)}, hidden ones {hidden}")
print(f"wrong jobs of new examples: {-svm.score(X[200:], Y[200:]):.2f} of {SIZE}")

# %% What is proven
certificate = svm.certificate_
print(f"objective {certificate.objective:.6f}, lower bound {certificate.lower_bound:.6f}")
print(f"{svm.n_evaluations_} passes of the oracle, {svm.n_outputs_} different outputs seen")
