"""Linear support vector regression."""

from typing import Literal

from ._regressor import LinearRegressor

#: Those of the library's losses that are a support vector machine's.
_LOSSES = ["epsilon_insensitive", "squared_epsilon_insensitive"]


class LinearSVR(LinearRegressor):
    """Linear support vector regression with a certified optimality gap.

    Minimises λ/2 ‖w‖² plus the weighted mean of max(0, |y − f| − ε) or of its square, which is
    scikit-learn's objective divided by C times the sum of the sample weights. With ε = 0 it is least
    absolute error.

    Parameters
    ----------
    loss : {'epsilon_insensitive', 'squared_epsilon_insensitive'}, default='epsilon_insensitive'
        The loss.

    Notes
    -----
    What differs from :class:`sklearn.svm.LinearSVR`: ``tol`` is a proven relative gap of the
    objective; ``max_evals`` and ``max_seconds`` stand in for ``max_iter``; ``intercept_`` is a number.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from minorant import LinearSVR
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = LinearSVR(epsilon=5.0, C=100.0, intercept_scaling=100.0).fit(X, y)
    >>> model.predict(X[:2]).shape
    (2,)
    >>> model.certificate_.certified
    True
    """

    epsilon: float = 0.0
    loss: Literal["epsilon_insensitive", "squared_epsilon_insensitive"] = "epsilon_insensitive"

    _model_name = "regression"

    @property
    def _loss(self):
        if self.loss not in _LOSSES:
            raise ValueError(f"loss must be one of {', '.join(_LOSSES)}, got {self.loss!r}")
        return self.loss

    @classmethod
    def _takes_loss(cls, loss):
        return loss.replace("-", "_") in _LOSSES
