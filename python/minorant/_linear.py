"""What all linear estimators share: from checked arrays to the compiled half and back.

An estimator is thin: its parameters, its documentation, and the options that it hands to the one
entry point, ``minorant._core.train``.
"""

import warnings
from numbers import Integral, Real

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from . import _core
from ._callbacks import Callbacks, CallbackSupportMixin
from ._features import LAYOUT, entries, hand_over
from ._parameters import positive, seed
from ._progress import ProgressBar
from ._results import Certificate, Trace, html_table, number

#: Problems with fewer entries are solved to rounding whatever ``tol`` says.
SMALL = 10**6
#: Evaluations after which small non-convex problems count as solved.
ENOUGH = 10_000


class LinearEstimator(CallbackSupportMixin, ClassifierMixin, BaseEstimator):
    """Base of the linear estimators; not for use by itself."""

    #: The library's name of the model.
    _model_name = "svm"

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    # Training

    def _train(self, X, y, sample_weight, classes, rows, **options):
        """Trains on validated features; ``classes`` and ``rows`` are labels as the library has
        them."""
        start = self._start(classes, X.shape[1]) if self.warm_start else None
        settings = self._settings(X, sample_weight, start=start, **options)
        name = settings.pop("model")
        labels = settings.pop("labels", None) or [label(c) for c in classes.tolist()]
        callbacks = Callbacks(self, X, y, sample_weight)
        bar = ProgressBar(type(self).__name__, self.tol) if self.verbose else None
        try:
            model, report, trace, raised = _core.train(
                name,
                hand_over(X),
                labels,
                rows,
                settings,
                self._watcher(callbacks, bar, classes, X.shape[1]),
            )
        finally:
            if bar is not None:
                bar.close()
        if raised is not None and not self.warm_start:
            raise raised
        self.classes_ = classes
        self._finish(model, report, Trace(trace))
        if raised is not None:
            raise raised
        warn_unless_certified(self, stacklevel=4)
        callbacks.end()
        return self

    def _settings(self, X, sample_weight, **options):
        """All options as the compiled half takes them."""
        if sample_weight is not None:
            sample_weight = _check_sample_weight(sample_weight, X, dtype=np.float64)
            if np.any(sample_weight < 0):
                raise ValueError("Negative values in data passed to `sample_weight`.")
        return {
            "model": self._model_name,
            "loss": "hinge",
            "penalty": "l2",
            "multiclass": "joint",
            "multilabel": False,
            "ramp": -1.0,
            "gamma": 1.0,
            "starts": 1,
            "balance_mean": None,
            "class_weight": [],
            **self._shared_options(X),
            "sample_weight": sample_weight,
            "start": None,
            **options,
        }

    def _finish(self, model, report, trace):
        """Takes over what a run has left."""
        self._take(model)
        self.certificate_ = self.certificate_._replace(local_gap=report["local_gap"])
        self.trace_ = trace
        self.n_iter_ = int(report["iterations"])
        self.n_evaluations_ = int(report["evaluations"])
        self.method_ = report["method"]
        self.status_ = report["status"]

    def _shared_options(self, X):
        """The options that all estimators have, checked."""
        lam, c = positive("lam", self.lam), positive("C", self.C)
        if lam is not None and c is not None:
            raise ValueError("lam and C say the same in two ways: give one of them")
        if not isinstance(self.tol, Real) or not 0 <= self.tol < np.inf:
            raise ValueError(f"tol must be a number of 0 or more, got {self.tol!r}")
        return {
            "lam": lam,
            "c": c,
            "bias": positive("intercept_scaling", self.intercept_scaling)
            if self.fit_intercept
            else None,
            "method": self.method,
            "memory": None,
            "parts": None,
            "seed": seed(self.random_state),
            "tol": float(self.tol),
            "small": entries(X) < SMALL,
            "max_evals": positive("max_evals", self.max_evals, Integral),
            "max_seconds": positive("max_seconds", self.max_seconds),
            "threads": effective_n_jobs(self.n_jobs),
        }

    def _effort(self, X):
        """A non-convex run to rounding may creep for ever; this much is enough."""
        if self.max_evals is not None or entries(X) >= SMALL:
            return {}
        return {"max_evals": ENOUGH}

    def _watcher(self, callbacks, bar, classes, n_features):
        if not callbacks.are_set and bar is None:
            return None

        def watch(record, weights):
            if bar is not None:
                bar(record)
            if not callbacks.are_set:
                return False
            attributes = None
            if weights is not None:
                attributes = {"classes_": classes, "n_features_in_": n_features}
                rows = n_features + bool(self.fit_intercept)
                bias = self.intercept_scaling if self.fit_intercept else None
                coef, intercept = _unpack([weights.reshape(rows, -1)], n_features, bias)
                attributes.update(coef_=coef, intercept_=intercept)
            return callbacks.iteration(attributes)

        return watch

    def _start(self, classes, n_features):
        """The weights of the last fit, if they fit this one too."""
        if not hasattr(self, "coef_"):
            return None
        same = np.array_equal(self.classes_, classes) and self.coef_.shape[1] == n_features
        if not same:
            return None
        weights = self.coef_.T
        if self.fit_intercept:
            bias = self.intercept_ / self.intercept_scaling
            weights = np.vstack([weights, np.broadcast_to(bias, (1, weights.shape[1]))])
        order = "F" if getattr(self, "multi_class", "joint") == "ovr" else "C"
        return np.ascontiguousarray(weights, dtype=np.float64).ravel(order)

    def _take(self, model):
        """Takes weights and certificate over from a trained model."""
        self._model = model
        self.coef_, self.intercept_ = _unpack(model.weights(), model.features, model.bias)
        self.lam_ = model.lam
        self.certificate_ = Certificate(model.objective, model.lower_bound, model.tol)

    # Prediction

    def _scores(self, X):
        """One column of decision values for each row of ``coef_``."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, **LAYOUT)
        weights = np.ascontiguousarray(self.coef_.T, dtype=np.float64)
        return _core.scores(hand_over(X), weights, effective_n_jobs(self.n_jobs)) + self.intercept_

    def decision_function(self, X):
        """Decision values of rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
            One value a row where there are two classes (above 0 means the second one), else one
            for each class.
        """
        scores = self._scores(X)
        return scores.ravel() if scores.shape[1] == 1 else scores

    def predict(self, X):
        """Labels of rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            A label for each row; ties go to the first class.
        """
        scores = self.decision_function(X)
        at = (scores > 0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)
        return self.classes_[at]

    # Files

    def save(self, path):
        """Saves the fitted model in the format of the command ``minorant``.

        Parameters
        ----------
        path : str or path-like
            The file to write. It appears whole or not at all.
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
            A fitted estimator. The file holds no trace, and labels come back as integers, floats
            or strings.
        """
        model = _core.Model.load(path)
        if not cls._can_take(model):
            raise ValueError(f"{path} holds another model than {cls.__name__}")
        estimator = cls(**cls._parameters_of(model))
        estimator.classes_ = cls._classes_of(model)
        estimator.n_features_in_ = model.features
        estimator._take(model)
        estimator.trace_ = Trace()
        estimator.method_ = model.method
        estimator.status_ = model.status
        return estimator

    @classmethod
    def _classes_of(cls, model):
        """The classes of a model of a file."""
        return classes_of(model.classes)

    @classmethod
    def _can_take(cls, model):
        """Whether a model of a file is one of this estimator's."""
        return model.name == cls._model_name and model.task != "multilabel"

    @classmethod
    def _parameters_of(cls, model):
        """The parameters that a model of a file was trained with."""
        return {
            "lam": model.lam,
            "fit_intercept": model.bias is not None,
            "intercept_scaling": 1.0 if model.bias is None else model.bias,
            "tol": model.tol,
        }

    def _certificate_html(self):
        return html_table(
            {
                "method": self.method_,
                "status": self.status_,
                "objective": number(self.certificate_.objective),
                **self.certificate_._proven(),
                "lambda": number(self.lam_),
            }
        )

    def _repr_html_inner(self):
        page = super()._repr_html_inner()
        return page + self._certificate_html() if hasattr(self, "certificate_") else page


def warn_unless_certified(estimator, stacklevel):
    """Warns of a run that ended before it had what was asked of it."""
    name, status = type(estimator).__name__, estimator.status_
    tol, certificate = estimator.tol, estimator.certificate_
    if certificate.local_gap is not None:
        is_near = certificate.local_gap <= tol * abs(certificate.objective)
        if status in ("converged", "stalled") or is_near:
            return
        text = f"{name} stopped ({status}) at a local gap of {certificate.local_gap:.2e}."
    elif certificate.certified or (status == "converged" and certificate.lower_bound is not None):
        # Where the objective is zero to rounding, only the absolute gap can be small.
        return
    else:
        gap = certificate.relative_gap
        found = "no bound was proven" if gap is None else f"the gap is {gap:.2e}"
        text = (
            f"{name} stopped ({status}) before it could certify a relative gap of {tol:g}: {found}."
        )
    warnings.warn(text, ConvergenceWarning, stacklevel=stacklevel)


def class_numbers(y):
    """The classes in order, and for each row the number of its class."""
    classes, rows = np.unique(y, return_inverse=True)
    if classes.size < 2:
        raise ValueError(
            "This solver needs samples of at least 2 classes in the data, but the data contains "
            f"only one class: {classes[0]!r}"
        )
    return classes, rows.astype(np.uint32)


def class_weights(class_weight, classes, y, sample_weight):
    """Pairs of a class and its weight, for those that are not 1."""
    if class_weight is None:
        return []
    if class_weight == "balanced" and sample_weight is not None:
        weights = _check_sample_weight(sample_weight, y, dtype=np.float64)
        counts = np.array([weights[y == c].sum() for c in classes])
        of_class = weights.sum() / (len(classes) * np.where(counts > 0, counts, np.inf))
    else:
        of_class = compute_class_weight(class_weight, classes=classes, y=y)
    pairs = zip(classes.tolist(), of_class.tolist(), strict=True)
    return [(label(c), float(w)) for c, w in pairs if w != 1.0]


def _unpack(problems, n_features, bias):
    """``coef_`` and ``intercept_`` of weights that lie feature by feature."""
    weights = problems[0] if len(problems) == 1 else np.hstack(problems)
    # Rows of coef_ are columns of the weights: the transpose is a view, and predicting needs no
    # copy of it.
    coef = weights[:n_features].T
    outputs = weights.shape[1]
    intercept = np.zeros(outputs) if bias is None else bias * weights[n_features]
    return coef, intercept


def label(value):
    """A class as the library knows it: a number where it is one, else a text."""
    if isinstance(value, Real) and float(value) == value:
        return float(value)
    return str(value)


def classes_of(labels):
    """Labels of a file as an array: integers or floats where they are such, else strings."""
    if not all(isinstance(label, float) for label in labels):
        return np.array([str(label) for label in labels])
    values = np.array(labels)
    integers = values.astype(np.int64)
    return integers if np.array_equal(integers, values) else values
