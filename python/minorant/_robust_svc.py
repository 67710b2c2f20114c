"""Support vector classification with kernels that outliers cannot pull at."""

from numbers import Real

from ._estimator import keeps_parameters
from ._kernel import TwoClassEstimator
from ._labels import labels
from ._parameters import positive


class RobustSVC(TwoClassEstimator):
    """Two classes by the ramp loss, with kernels: a row costs only so much, however wrong it is.

    Minimises ½ ‖w‖² + C Σ min(1 − ramp, hinge), with an intercept that is not regularised. A search
    over which rows count finds minima that local methods miss. Without a kernel, and for more than
    two classes, there is RampSVC.

    Parameters
    ----------
    kernel : {'rbf', 'linear', 'poly', 'precomputed'} or callable, default='rbf'
        exp(−‖x−y‖²/(2 sigma²)), x·y or (x·y + offset)^power. 'precomputed' means that the data are
        rows of the kernel matrix; a function takes two sets of rows and returns their kernel.
    sigma : float, default=None
        The width of 'rbf'; about a third of the data's spread if not given.
    power : int, default=3
        The power of 'poly'.
    offset : float, default=1.0
        The offset of 'poly'.
    C : float, default=1.0
        What the loss of a row counts.
    ramp : float, default=-1.0
        Where the loss bends, below 1: no row costs more than 1 − ramp.
    tol : float, default=1e-6
        The relative accuracy to which single problems are solved.
    method : str, default='auto'
        'pdm' (which 'auto' is), 'ao' or 'da'.
    max_evals : int, default=None
        Most inner optimisations.
    max_seconds : float, default=None
        Most seconds of optimisation.
    random_state : int, RandomState instance or None, default=None
        Seed of methods that draw random numbers; None is one fixed seed, so that a fit can be
        repeated to the last bit.
    n_jobs : int, default=None
        Threads; None means 1, -1 all processors. The result has the same bits for any number.
    verbose : int, default=0
        Whether to show a progress bar.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes in order.
    support_ : ndarray of shape (n_support,)
        The training rows that count.
    dual_coef_ : ndarray of shape (n_functions, n_support)
        Their coefficients.
    intercept_ : ndarray of shape (n_functions,)
        Intercepts, which are not regularised.
    sigma_ : float or None
        The width of 'rbf'.
    certificate_ : Certificate
        ``objective`` and ``local_gap``; there is no bound.
    trace_ : Trace
        One row for each inner optimisation that was told.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if the training data had some.
    n_iter_, n_evaluations_ : int
        Iterations, and inner optimisations.
    method_, status_ : str
        The method that ran, and how it ended.

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

    @keeps_parameters
    def __init__(
        self,
        *,
        kernel="rbf",
        sigma=None,
        power=3,
        offset=1.0,
        C=1.0,
        ramp=-1.0,
        tol=1e-6,
        method="auto",
        max_evals=None,
        max_seconds=None,
        random_state=None,
        n_jobs=None,
        verbose=0,
    ): ...

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
