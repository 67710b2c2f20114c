"""What the estimators with kernels share."""

from numbers import Integral, Real

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted, validate_data

from . import _core
from ._estimator import ModelEstimator, warn_unless_certified
from ._features import LAYOUT, hand_over
from ._labels import class_numbers, classes_of_texts
from ._parameters import positive

_KERNELS = ("linear", "rbf", "poly", "precomputed")


class KernelEstimator(ClassifierMixin, ModelEstimator):
    """Base of the estimators with kernels; not for use by itself.

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
    tol : float, default=1e-6
        The relative accuracy to which single problems are solved.
    max_evals : int, default=None
        Most inner optimisations.

    Attributes
    ----------
    support_ : ndarray of shape (n_support,)
        The training rows that count.
    dual_coef_ : ndarray of shape (n_functions, n_support)
        Their coefficients.
    intercept_ : ndarray of shape (n_functions,)
        Intercepts, which are not regularised.
    sigma_ : float or None
        The width of 'rbf'.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if the training data had some.
    certificate_ : Certificate
        ``objective`` and ``local_gap``; there is no bound.
    trace_ : Trace
        One row for each inner optimisation that was told.
    n_iter_, n_evaluations_ : int
        Iterations, and inner optimisations.
    """

    def __init__(self, *, kernel="rbf", sigma=None, power=3, offset=1.0, tol=1e-6): ...

    _compiled = _core.KernelMachine

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = not callable(self.kernel)
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags

    def _train(self, X, classes, names, rows, **options):
        """Trains on validated features; ``names`` and ``rows`` are labels as the library has
        them."""
        settings = {**self._settings(), **options}
        if callable(self.kernel):
            self._rows = X
            X = self._gram(X)
        self._trained(
            classes,
            lambda watch: _core.train_kernel(
                self._model_name, hand_over(X), names, rows, settings, watch
            ),
        )
        warn_unless_certified(self, stacklevel=4)
        return self

    def _settings(self):
        if not callable(self.kernel) and self.kernel not in _KERNELS:
            raise ValueError(f"kernel must be a function or one of {_KERNELS}, got {self.kernel!r}")
        if not isinstance(self.offset, Real) or not 0 <= self.offset < np.inf:
            raise ValueError(f"offset must be a number of 0 or more, got {self.offset!r}")
        return {
            "kernel": "precomputed" if callable(self.kernel) else self.kernel,
            "sigma": positive("sigma", self.sigma),
            "power": positive("power", self.power, Integral) or 3,
            "offset": float(self.offset),
            "c1": 1.0,
            "c2": None,
            "balance": None,
            "is_balanced": True,
            "components": 1,
            "c_pos": 1.0,
            "c_neg": 1.0,
            "c": 1.0,
            "ramp": -1.0,
            "mode": "search",
            "degree": 0.1,
            **self._run_options(),
        }

    def _gram(self, X):
        """The kernel matrix of a user's function, rows by training rows."""
        found = np.ascontiguousarray(self.kernel(X, self._rows), dtype=np.float64)
        expected = (X.shape[0], self._rows.shape[0])
        if found.shape != expected:
            raise ValueError(f"kernel must return an array of shape {expected}, not {found.shape}")
        return found

    def _take(self, model):
        super()._take(model)
        self.support_ = np.array(model.support, dtype=np.intp)
        self.dual_coef_ = model.coefficients()
        self.intercept_ = model.biases()
        self.kernel_ = self.kernel if callable(self.kernel) else model.kernel[0]
        self.sigma_ = model.kernel[1]

    def decision_function(self, X):
        """Decision values of rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows; with a precomputed kernel, their kernel with the training rows.

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
            One value a row where there are two classes (above 0 means the second one), else one
            for each class.
        """
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, **LAYOUT)
        if callable(self.kernel):
            X = self._gram(X)
        scores = self._model.scores(hand_over(X), effective_n_jobs(self.n_jobs))
        return scores.ravel() if scores.shape[1] == 1 else scores

    def predict(self, X):
        """Labels of rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows; with a precomputed kernel, their kernel with the training rows.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            A label for each row; ties go to the first class.
        """
        scores = self.decision_function(X)
        at = (scores > 0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)
        return self.classes_[at]

    @classmethod
    def _classes_of(cls, model):
        return classes_of_texts(model.classes)

    @classmethod
    def _parameters_of(cls, model):
        name, sigma, power, offset = model.kernel
        polynomial = {} if power is None else {"power": power, "offset": offset}
        return {"kernel": name, "sigma": sigma, "tol": model.facts.tol, **polynomial}

    def _facts(self):
        return {"support rows": str(len(self.support_))}


class TwoClassEstimator(KernelEstimator):
    """Base of those that take two classes; not for use by itself."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def _two_classes(self, X, y):
        """Validated features, the classes, and which of them each row has."""
        X, y = validate_data(self, X, y, **LAYOUT)
        check_classification_targets(y)
        kind = type_of_target(y)
        if kind != "binary":
            raise ValueError(
                f"Only binary classification is supported. The type of the target is {kind}."
            )
        classes, rows = class_numbers(y)
        return X, classes, rows
