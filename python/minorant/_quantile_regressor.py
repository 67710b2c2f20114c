"""Quantile regression."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike
from sklearn.metrics import r2_score

from ._examples import MatrixLike
from ._regressor import LinearRegressor


class QuantileRegressor(LinearRegressor):
    """Linear quantile regression with a certified optimality gap: one quantile, or several at once.

    A row with target y and prediction f costs τ for each unit that y lies above f, and 1 − τ for each
    unit below. Several quantiles are one problem: their losses add up, and where a lower quantile lies
    above the next, the distance is added.

    Parameters
    ----------
    quantile : float or sequence of float, default=0.5
        The quantile to predict, or several in ascending order, each above 0 and below 1.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,) or (n_quantiles, n_features)
        Weights of the features; a row for each quantile where there are several.
    intercept_ : float or ndarray of shape (n_quantiles,)
        The intercept, or one for each quantile.

    Notes
    -----
    The intercept is free, as that of :class:`sklearn.linear_model.QuantileRegressor`. What differs from
    there: the regularizer is λ/2 ‖w‖² (``l1_ratio=1`` makes it λ ‖w‖₁, and ``lam`` its ``alpha``);
    ``tol`` is a proven relative gap of the objective; there may be several quantiles, which then are the
    columns of what is predicted, and ``score`` goes by the one nearest to the median.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from minorant import QuantileRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> interval = QuantileRegressor(quantile=[0.1, 0.9], lam=1e-4)
    >>> low, high = interval.fit(X, y).predict(X).T
    >>> bool(((low <= y) & (y <= high)).mean() > 0.75)
    True
    >>> interval.certificate_.certified
    True
    """

    quantile: float | Sequence[float] = 0.5
    intercept_scaling: float | None = None

    _model_name = "regression"
    _loss = "quantile"

    def _outputs(self):
        return np.size(self.quantile)

    def score(
        self, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> float:
        """The share of the spread of the targets that the quantile nearest to the median explains.

        Parameters
        ----------
        y : array-like of shape (n_samples,)
            Their targets.

        Returns
        -------
        score : float
            R² of that quantile.
        """
        if self._outputs() == 1:
            return super().score(X, y, sample_weight)
        middle = int(np.argmin(np.abs(np.asarray(self.quantile) - 0.5)))
        return r2_score(y, self.predict(X)[:, middle], sample_weight=sample_weight)

    def _options(self, X, sample_weight, model):
        levels = np.atleast_1d(np.asarray(self.quantile, dtype=np.float64)).tolist()
        return {**super()._options(X, sample_weight, model), "tau": levels}

    @classmethod
    def _parameters_of(cls, header, arrays):
        found = super()._parameters_of(header, arrays)
        levels = found["quantile"]
        return {**found, "quantile": levels if len(levels) > 1 else levels[0]}
