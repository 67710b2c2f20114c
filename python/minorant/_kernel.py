"""What the estimators with kernels share."""

from numbers import Integral, Real

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from . import _core
from ._features import LAYOUT, hand_over
from ._linear import classes_of, label, warn_unless_certified
from ._parameters import positive, seed
from ._progress import ProgressBar
from ._results import Certificate, Trace, html_table, number

_KERNELS = ("linear", "rbf", "poly", "precomputed")


class KernelEstimator(ClassifierMixin, BaseEstimator):
    """Base of the estimators with kernels; not for use by itself."""

    #: The library's name of the model.
    _model_name = "s3vm"

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
        bar = ProgressBar(type(self).__name__, self.tol) if self.verbose else None
        watch = None if bar is None else lambda record, weights: bar(record)
        try:
            model, report, trace, raised = _core.train_kernel(
                self._model_name, hand_over(X), names, rows, settings, watch
            )
        finally:
            if bar is not None:
                bar.close()
        if raised is not None:
            raise raised
        self.classes_ = classes
        self._take(model)
        self.trace_ = Trace(trace)
        self.n_iter_ = int(report["iterations"])
        self.n_evaluations_ = int(report["evaluations"])
        warn_unless_certified(self, stacklevel=4)
        return self

    def _settings(self):
        if not callable(self.kernel) and self.kernel not in _KERNELS:
            raise ValueError(f"kernel must be a function or one of {_KERNELS}, got {self.kernel!r}")
        if not isinstance(self.tol, Real) or not 0 <= self.tol < np.inf:
            raise ValueError(f"tol must be a number of 0 or more, got {self.tol!r}")
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
            "mode": "search",
            "degree": 0.1,
            "method": self.method,
            "seed": seed(self.random_state),
            "tol": float(self.tol),
            "max_evals": positive("max_evals", self.max_evals, Integral),
            "max_seconds": positive("max_seconds", self.max_seconds),
            "threads": effective_n_jobs(self.n_jobs),
        }

    def _gram(self, X):
        """The kernel matrix of a user's function, rows by training rows."""
        found = np.ascontiguousarray(self.kernel(X, self._rows), dtype=np.float64)
        expected = (X.shape[0], self._rows.shape[0])
        if found.shape != expected:
            raise ValueError(f"kernel must return an array of shape {expected}, not {found.shape}")
        return found

    def _take(self, model):
        self._model = model
        self.support_ = np.array(model.support, dtype=np.intp)
        self.dual_coef_ = model.coefficients()
        self.intercept_ = model.biases()
        self.kernel_ = self.kernel if callable(self.kernel) else model.kernel[0]
        self.sigma_ = model.kernel[1]
        self.method_ = model.method
        self.status_ = model.status
        gap = model.local_gap if model.lower_bound is None else None
        self.certificate_ = Certificate(model.objective, model.lower_bound, model.tol, gap)

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

    def save(self, path):
        """Saves the fitted model in the format of the command ``minorant``.

        Parameters
        ----------
        path : str or path-like
            The file to write. It appears whole or not at all. A kernel that is a function is not
            in it: the model is then one with a precomputed kernel.
        """
        check_is_fitted(self)
        self._model.save(path)

    @classmethod
    def load(cls, path):
        """Loads a model that :meth:`save` or the command ``minorant`` wrote.

        Parameters
        ----------
        path : str or path-like
            The file.

        Returns
        -------
        estimator : object
            A fitted estimator. The file holds no trace.
        """
        model = _core.KernelMachine.load(path)
        if model.name != cls._model_name:
            raise ValueError(f"{path} holds another model than {cls.__name__}")
        name, sigma, power, offset = model.kernel
        kernel = {"kernel": name, "sigma": sigma}
        if power is not None:
            kernel.update(power=power, offset=offset)
        estimator = cls(tol=model.tol, **kernel, **cls._parameters_of(model))
        try:
            estimator.classes_ = classes_of([float(name) for name in model.classes])
        except ValueError:
            estimator.classes_ = classes_of(model.classes)
        estimator.n_features_in_ = model.features
        estimator._take(model)
        estimator.trace_ = Trace()
        return estimator

    def _repr_html_inner(self):
        page = super()._repr_html_inner()
        if not hasattr(self, "certificate_"):
            return page
        return page + html_table(
            {
                "method": self.method_,
                "status": self.status_,
                "objective": number(self.certificate_.objective),
                **self.certificate_._proven(),
                "support rows": str(len(self.support_)),
            }
        )


def names_of(classes):
    """Classes as the library knows them."""
    return [label(c) for c in classes.tolist()]
