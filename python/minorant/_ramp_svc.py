"""Support vector classification with the ramp loss, for data with outliers."""

from numbers import Real

import numpy as np

from ._estimator import keeps_parameters
from ._linear import LinearEstimator


class RampSVC(LinearEstimator):
    """Linear support vector classification that outliers cannot bend.

    The loss of an example is min(1 − ramp, hinge): beyond a margin of ``ramp`` on the wrong side
    an example costs no more, however far out it lies. The objective has many local minima; one is
    found from zero on.

    Parameters
    ----------
    ramp : float, default=-1.0
        The margin below which the loss is constant; less than 1.
    C : float, default=None
        Strength of the data term, as in scikit-learn: λ = 1/(C Σ sample_weight). 1 if neither
        ``C`` nor ``lam`` is given.
    lam : float, default=None
        λ itself, instead of ``C``.
    tol : float, default=1e-3
        The local gap, relative to the objective, at which a run stops. Problems below a million
        entries are solved on to rounding whatever ``tol`` says.
    method : str, default='auto'
        The method, one of :func:`minorant.methods`; 'auto' is 'cccp' here.
    max_evals : int, default=None
        Most passes over the data.
    max_seconds : float, default=None
        Most seconds of optimisation.
    fit_intercept : bool, default=True
        Whether to add a constant feature. Its weight is regularised like the others.
    intercept_scaling : float, default=1.0
        The constant feature's value; the larger, the less it is regularised.
    class_weight : dict or 'balanced', default=None
        Weights of the classes; 1 for those that are not named.
    warm_start : bool, default=False
        Whether to start at the weights of the last fit. An interrupted fit then leaves the best
        weights so far in the estimator.
    random_state : int, RandomState instance or None, default=None
        Seed of methods that draw random numbers; None is one fixed seed, so that a fit can be
        repeated to the last bit.
    n_jobs : int, default=None
        Threads; None means 1, -1 all processors. The result has the same bits for any number.
    verbose : int, default=0
        Whether to show a progress bar.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Weights of the features; one row where there are two classes.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercepts.
    classes_ : ndarray of shape (n_classes,)
        The classes in order.
    certificate_ : Certificate
        ``objective`` and ``local_gap``. The objective is not convex: there is no lower bound, and
        ``certified`` is False.
    trace_ : Trace
        One row for each iteration.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if the training data had some.
    n_iter_, n_evaluations_ : int
        Iterations, and passes over the data.
    lam_ : float
        λ.
    method_, status_ : str
        The method that ran, and how it ended.

    Notes
    -----
    More than two classes are trained together, with Crammer and Singer's margin in the hinge.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_blobs
    >>> from minorant import LinearSVC, RampSVC
    >>> X, y = make_blobs(100, centers=[[-2, 0], [2, 0]], random_state=0)
    >>> outliers = np.where(y == 0, 1.0, -1.0)[:10, None] * [10.0, 0.0]
    >>> X_train, y_train = np.vstack([X, outliers]), np.hstack([y, y[:10]])
    >>> LinearSVC().fit(X_train, y_train).score(X, y)
    0.99
    >>> model = RampSVC().fit(X_train, y_train)
    >>> model.score(X, y)
    1.0
    >>> model.certificate_.lower_bound is None, model.certificate_.local_gap < 1e-3
    (True, True)
    """

    _model_name = "ramp-svm"

    @keeps_parameters
    def __init__(
        self,
        *,
        ramp=-1.0,
        C=None,
        lam=None,
        tol=1e-3,
        method="auto",
        max_evals=None,
        max_seconds=None,
        fit_intercept=True,
        intercept_scaling=1.0,
        class_weight=None,
        warm_start=False,
        random_state=None,
        n_jobs=None,
        verbose=0,
    ): ...

    def _checked(self, X, y, sample_weight):
        X, y, classes, rows, options = super()._checked(X, y, sample_weight)
        return X, y, classes, rows, {**options, **self._effort(X)}

    def _own_options(self):
        if not isinstance(self.ramp, Real) or not -np.inf < self.ramp < 1:
            raise ValueError(f"ramp must be a finite number below 1, got {self.ramp!r}")
        # It goes further down than the methods that know nothing of the loss's concave part.
        method = "cccp" if self.method == "auto" else self.method
        return {"ramp": float(self.ramp), "method": method}

    @classmethod
    def _parameters_of(cls, model):
        return {**super()._parameters_of(model), "ramp": model.ramp}
