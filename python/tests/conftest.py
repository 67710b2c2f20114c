"""What the tests share."""

import numpy as np
import pytest
from sklearn.datasets import make_classification

import minorant


@pytest.fixture
def binary():
    return make_classification(120, 8, n_informative=5, flip_y=0.1, random_state=0)


@pytest.fixture
def three_classes():
    return make_classification(150, 9, n_informative=6, n_classes=3, flip_y=0.1, random_state=1)


@pytest.fixture
def endless():
    """Data large enough, and an estimator demanding enough, to be interrupted."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60_000, 60)).astype(np.float32)
    y = X[:, :30].sum(axis=1) + 10 * rng.standard_normal(len(X)) > 0
    return X, y, minorant.LinearSVC(C=1e9, tol=1e-15)
