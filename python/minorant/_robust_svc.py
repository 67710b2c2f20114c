"""Support vector classification with kernels that outliers cannot pull at."""

from numbers import Real

from ._estimator import estimator
from ._kernel import TwoClassEstimator
from ._labels import labels
from ._parameters import positive


@estimator
class RobustSVC(TwoClassEstimator):
    """Two classes by the ramp loss, with kernels: a row costs only so much, however wrong it is.

    Minimises ½ ‖w‖² + C Σ min(1 − ramp, hinge), with an intercept that is not regularised. A search
    over which rows count finds minima that local methods miss. Without a kernel, and for more than
    two classes, there is RampSVC.

    Parameters
    ----------
    C : float, default=1.0
        What the loss of a row counts.
    ramp : float, default=-1.0
        Where the loss bends, below 1: no row costs more than 1 − ramp.
    method : str, default='auto'
        'pdm' (which 'auto' is), 'ao' or 'da'.

    Examples
    --------
    >>> import numpy as np
    >>> from minorant import RobustSVC
    >>> X = np.array([[-2.0], [-1.0], [1.0], [2.0], [-3.0]])
    >>> y = [0, 0, 1, 1, 1]
    >>> model = RobustSVC(kernel="linear", C=10.0).fit(X, y)
    >>> model.predict(X)
    array([0, 0, 1, 1, 0])
    """

    _model_name = "robust-svm"

    def __init__(self, *, C=1.0, ramp=-1.0): ...

    def fit(self, X, y):
        """Trains.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The examples; with a precomputed kernel, their kernel matrix.
        y : array-like of shape (n_samples,)
            Their labels, of two classes.

        Returns
        -------
        self : RobustSVC
            The fitted estimator.
        """
        X, classes, rows = self._two_classes(X, y)
        if positive("C", self.C) is None:
            raise ValueError("C must be a positive number, got None")
        if not isinstance(self.ramp, Real) or not self.ramp < 1:
            raise ValueError(f"ramp must be a number below 1, got {self.ramp!r}")
        numbers = {"c": float(self.C), "ramp": float(self.ramp)}
        return self._train(X, classes, labels(classes), rows, **numbers)

    @classmethod
    def _parameters_of(cls, model):
        losses = dict(model.losses)
        return {**super()._parameters_of(model), "C": losses["c"], "ramp": losses["ramp"]}
