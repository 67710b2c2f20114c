"""What the estimators share that predict numbers by linear outputs."""

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ._declared import RegressorMixin, fitted
from ._examples import MatrixLike
from ._linear import LinearEstimator
from ._path import PathMixin


class LinearRegressor(RegressorMixin, PathMixin, LinearEstimator, is_base=True):
    """Base of the linear estimators that predict numbers; not for use by itself.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Weights of the features.
    intercept_ : float
        The intercept.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if the training data had some.
    """

    intercept_: float | NDArray[np.float64] = fitted()
    feature_names_in_: NDArray[Any] = fitted()

    _takes_targets, _has_classes = True, False
    #: The library's name of the loss.
    _loss: ClassVar[str]

    def predict(self, X: MatrixLike) -> NDArray[np.float64]:
        """Predicts numbers.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_quantiles)
            A number for each row; where several quantiles were asked for, a column for each.
        """
        values = self._scores(X)
        return values if self.coef_.ndim == 2 else values.ravel()

    def _numbered(self, y):
        return None, [], np.ascontiguousarray(y, dtype=np.float64)

    def _has_same_outputs(self, classes, outputs):
        return outputs == self._outputs()

    def _outputs(self):
        """How many numbers a row is predicted."""
        return 1

    def _shaped(self, coef, intercept):
        if self._outputs() == 1 and len(coef) == 1:
            return {"coef_": coef[0], "intercept_": float(intercept[0])}
        return {"coef_": coef, "intercept_": intercept}

    @classmethod
    def _can_take(cls, header):
        return super()._can_take(header) and cls._takes_loss(header["loss"])

    @classmethod
    def _takes_loss(cls, loss):
        """Whether a model with this loss is one of the estimator's."""
        return loss == cls._loss

    def _options(self, X, sample_weight, model):
        return {**super()._options(X, sample_weight, model), "loss": self._loss}
