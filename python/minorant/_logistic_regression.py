"""Logistic regression."""

import numpy as np
from scipy.special import expit, softmax
from sklearn.utils.metaestimators import available_if

from ._estimator import keeps_parameters
from ._linear import LinearEstimator
from ._path import PathMixin


def _has_probabilities(self):
    """One-vs-rest models are fitted class by class: together they are no distribution."""
    if self.multi_class == "joint" or len(getattr(self, "classes_", ())) == 2:
        return True
    raise AttributeError("probabilities need multi_class='joint' or two classes")


class LogisticRegression(PathMixin, LinearEstimator):
    """Logistic regression, binary or softmax, with a certified optimality gap.

    Minimises λ/2 ‖w‖² or λ ‖w‖₁ plus the weighted mean of the negative log-likelihoods.

    Parameters
    ----------
    penalty : {'l2', 'l1'}, default='l2'
        The regularizer. The intercept is penalised like the other weights.
    multi_class : {'joint', 'ovr'}, default='joint'
        How more than two classes are trained: by one softmax, or each against the rest.
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
    What differs from :class:`sklearn.linear_model.LogisticRegression`: the intercept is
    regularised (raise ``intercept_scaling`` to lessen that), and ``tol`` is a proven relative gap
    of the objective.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from minorant import LogisticRegression
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LogisticRegression().fit(X, y)
    >>> model.predict_proba(X[:1]).round(2)
    array([[0.98, 0.02, 0.  ]])
    """

    _model_name = "logistic"

    @keeps_parameters
    def __init__(
        self,
        *,
        penalty="l2",
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

    def _own_options(self):
        if self.penalty not in ("l2", "l1"):
            raise ValueError(f"penalty must be 'l2' or 'l1', got {self.penalty!r}")
        if self.multi_class not in ("joint", "ovr"):
            raise ValueError(f"multi_class must be 'joint' or 'ovr', got {self.multi_class!r}")
        return {"penalty": self.penalty, "multiclass": self.multi_class}

    @available_if(_has_probabilities)
    def predict_proba(self, X):
        """Probabilities of the classes.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.

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
    def predict_log_proba(self, X):
        """Logarithms of the probabilities of the classes.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        log_probabilities : ndarray of shape (n_samples, n_classes)
            One column for each class.
        """
        return np.log(self.predict_proba(X))

    @classmethod
    def _parameters_of(cls, model):
        multi_class = "ovr" if model.task == "one-vs-rest" else "joint"
        shared = super()._parameters_of(model)
        return {**shared, "penalty": model.penalty, "multi_class": multi_class}
