"""Huber's robust regression."""

import numpy as np
from numpy.typing import NDArray

from ._declared import fitted
from ._regressor import LinearRegressor


class HuberRegressor(LinearRegressor):
    """Linear regression that outliers cannot pull far, with a certified optimality gap.

    Targets that are missed by less than ``epsilon`` times the scale σ cost by the square of that, those
    further away by the distance alone. The scale is fitted along: the risk is the least over σ > 0 of the
    mean of σ/2 + σ h((y − f)/σ), where h is ½ r² as far as ``epsilon`` and straight beyond.

    Parameters
    ----------
    epsilon : float, default=1.35
        How many scales away a target counts as an outlier.
    fit_scale : bool, default=True
        Whether to fit the scale; it is 1 otherwise.

    Attributes
    ----------
    scale_ : float
        The scale σ.
    outliers_ : ndarray of shape (n_samples,)
        Which of the training rows are missed by more than ``epsilon`` scales. Loaded estimators do not
        have it.

    Notes
    -----
    The intercept is free, as that of :class:`sklearn.linear_model.HuberRegressor`. What differs from
    there: the objective is half of its one, divided by the sum of the sample weights, so that ``lam`` is its ``alpha`` over that sum (``C`` is
    1/``alpha``); ``tol`` is a proven relative gap of the objective; ``max_evals`` and ``max_seconds``
    stand in for ``max_iter``.

    Examples
    --------
    >>> import numpy as np
    >>> from minorant import HuberRegressor
    >>> X = np.arange(20.0).reshape(-1, 1)
    >>> y = 2.0 * X.ravel() + np.sin(X.ravel())
    >>> y[[3, 17]] += 1000.0
    >>> model = HuberRegressor(epsilon=2.5, lam=1e-6).fit(X, y)
    >>> model.coef_.round(1), np.flatnonzero(model.outliers_)
    (array([2.]), array([ 3, 17]))
    >>> model.certificate_.certified
    True
    """

    epsilon: float = 1.35
    fit_scale: bool = True
    intercept_scaling: float | None = None

    _model_name = "regression"
    _loss = "huber"

    scale_: float = fitted()
    outliers_: NDArray[np.bool_] = fitted()

    def _train_rows(self, X, y, classes, examples, options):
        super()._train_rows(X, y, classes, examples, options)
        missed = np.abs(y - self._outputs_of(X).ravel())
        self.outliers_ = missed > self.epsilon * self.scale_
        return self

    def _options(self, X, sample_weight, model):
        options = super()._options(X, sample_weight, model)
        epsilon = options.pop("epsilon")
        return {**options, "huber": epsilon, "huber_scale": bool(self.fit_scale)}

    def _take_weights(self, header, arrays):
        super()._take_weights(header, arrays)
        scale = header.get("scale")
        self.scale_ = 1.0 if scale is None else scale

    @classmethod
    def _parameters_of(cls, header, arrays):
        found = super()._parameters_of(header, arrays)
        return {**found, "epsilon": header["huber"], "fit_scale": header.get("scale") is not None}
