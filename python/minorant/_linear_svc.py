"""Linear support vector classification."""

from ._estimator import keeps_parameters
from ._linear import LinearEstimator
from ._path import PathMixin


class LinearSVC(PathMixin, LinearEstimator):
    """Linear support vector classification with a certified optimality gap.

    Minimises λ/2 ‖w‖² plus the weighted mean of the losses, which is scikit-learn's objective
    divided by C times the sum of the sample weights.

    Parameters
    ----------
    loss : {'hinge', 'squared_hinge'}, default='hinge'
        The loss.
    multi_class : {'joint', 'ovr'}, default='joint'
        How more than two classes are trained: all together (Crammer and Singer's loss), or each
        against the rest. The squared hinge has only the latter.
    C : float, default=None
        Strength of the data term, as in scikit-learn: λ = 1/(C Σ sample_weight). 1 if neither
        ``C`` nor ``lam`` is given.
    lam : float, default=None
        λ itself, instead of ``C``.
    tol : float, default=1e-3
        The relative gap that is certified. Problems below a million entries are solved to
        rounding whatever ``tol`` says.
    method : str, default='auto'
        The method, one of :func:`minorant.methods`.
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
        ``objective``, ``lower_bound``, ``gap``, ``relative_gap`` and ``certified``.
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
    What differs from :class:`sklearn.svm.LinearSVC`: the default loss is the hinge, not its
    square; several classes are trained jointly, not one against the rest; ``tol`` is a proven
    relative gap of the objective; ``max_evals`` and ``max_seconds`` stand in for ``max_iter``, and
    without them a run goes on until the gap is reached.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from minorant import LinearSVC
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LinearSVC(C=10).fit(X, y)
    >>> model.predict(X[:3])
    array([0, 0, 0])
    >>> model.certificate_.relative_gap < 1e-10
    True
    """

    @keeps_parameters
    def __init__(
        self,
        *,
        loss="hinge",
        multi_class="joint",
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
        if self.loss == "squared_hinge" and self.multi_class == "joint" and len(classes) > 2:
            raise ValueError(
                "loss='squared_hinge' with more than two classes needs multi_class='ovr'"
            )
        return X, y, classes, rows, options

    def _own_options(self):
        if self.loss not in ("hinge", "squared_hinge"):
            raise ValueError(f"loss must be 'hinge' or 'squared_hinge', got {self.loss!r}")
        if self.multi_class not in ("joint", "ovr"):
            raise ValueError(f"multi_class must be 'joint' or 'ovr', got {self.multi_class!r}")
        return {"loss": self.loss, "multiclass": self.multi_class}

    @classmethod
    def _parameters_of(cls, model):
        multi_class = "ovr" if model.task == "one-vs-rest" else "joint"
        return {**super()._parameters_of(model), "loss": model.loss, "multi_class": multi_class}
