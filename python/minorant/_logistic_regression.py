"""Logistic regression."""

from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax
from sklearn.utils.metaestimators import available_if

from ._examples import MatrixLike
from ._linear import LinearClassifier
from ._path import PathMixin


def _has_probabilities(self):
    """One-vs-rest models are fitted class by class: together they are no distribution."""
    if self.multi_class == "joint" or len(getattr(self, "classes_", ())) == 2:
        return True
    raise AttributeError("probabilities need multi_class='joint' or two classes")


class LogisticRegression(PathMixin, LinearClassifier):
    """Logistic regression, binary or softmax, with a certified optimality gap.

    Minimises λ/2 ‖w‖², λ ‖w‖₁ or a mixture of both plus the weighted mean of the negative
    log-likelihoods.

    Notes
    -----
    The intercept is free, as that of :class:`sklearn.linear_model.LogisticRegression`. What differs
    from there: ``tol`` is a proven relative gap of the objective, and a number as
    ``intercept_scaling`` makes the intercept a constant feature that is regularised.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from minorant import LogisticRegression
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LogisticRegression().fit(X, y)
    >>> model.predict_proba(X[:1]).round(2)
    array([[0.98, 0.02, 0.  ]])
    """

    penalty: Literal["l2", "l1"] = "l2"
    multi_class: Literal["joint", "ovr"] = "joint"
    intercept_scaling: float | None = None

    _model_name = "logistic"

    @available_if(_has_probabilities)
    def predict_proba(self, X: MatrixLike) -> NDArray[np.float64]:
        """Probabilities of the classes.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
            One column for each class.
        """
        scores = self.decision_function(X)
        if scores.ndim == 1:
            return np.column_stack([expit(-scores), expit(scores)])
        return softmax(scores, axis=1)

    @available_if(_has_probabilities)
    def predict_log_proba(self, X: MatrixLike) -> NDArray[np.float64]:
        """Logarithms of what :meth:`predict_proba` returns for the same rows."""
        return np.log(self.predict_proba(X))
