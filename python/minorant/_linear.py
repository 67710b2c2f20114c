"""What all linear estimators share: from checked arrays to the compiled half and back.

An estimator is thin: its parameters, its documentation, and the options that it hands to the one
entry point, ``minorant._core.train``.
"""

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from . import _core
from ._callbacks import Callbacks, CallbackSupportMixin, with_callbacks
from ._estimator import ModelEstimator, StrengthMixin, warn_unless_certified
from ._features import LAYOUT, entries, hand_over
from ._labels import class_numbers, class_weights, labels
from ._parameters import positive
from ._progress import ProgressBar
from ._results import Trace

#: Problems with fewer entries are solved to rounding whatever ``tol`` says.
SMALL = 10**6
#: Evaluations after which small non-convex problems count as solved.
ENOUGH = 10_000


class LinearEstimator(CallbackSupportMixin, ClassifierMixin, StrengthMixin, ModelEstimator):
    """Base of the linear estimators; not for use by itself.

    Parameters
    ----------
    fit_intercept : bool, default=True
        Whether to add a constant feature. Its weight is regularised like the others.
    intercept_scaling : float, default=1.0
        The constant feature's value; the larger, the less it is regularised.
    warm_start : bool, default=False
        Whether to start at the weights of the last fit. An interrupted fit then leaves the best
        weights so far in the estimator.
    tol : float, default=1e-3
        The relative gap that is certified. Problems below a million entries are solved to
        rounding whatever ``tol`` says.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Weights of the features; one row where there are two classes.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercepts.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if the training data had some.
    """

    def __init__(self, *, fit_intercept=True, intercept_scaling=1.0, warm_start=False): ...

    _model_name = "svm"
    _compiled = _core.Model

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
        names = settings.pop("labels", None) or labels(classes)
        callbacks = Callbacks(self, X, y, sample_weight)
        bar = ProgressBar(type(self).__name__, self.tol) if self.verbose else None
        try:
            model, report, trace, raised = _core.train(
                name,
                hand_over(X),
                names,
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
        return {
            **self._strength(),
            **self._run_options(),
            "bias": positive("intercept_scaling", self.intercept_scaling)
            if self.fit_intercept
            else None,
            "memory": None,
            "parts": None,
            "small": entries(X) < SMALL,
        }

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
        super()._take(model)
        self.coef_, self.intercept_ = _unpack(model.weights(), model.features, model.bias)

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

    @classmethod
    def _parameters_of(cls, model):
        """The parameters that a model of a file was trained with."""
        return {
            **super()._parameters_of(model),
            "fit_intercept": model.bias is not None,
            "intercept_scaling": 1.0 if model.bias is None else model.bias,
        }


class LinearClassifier(LinearEstimator):
    """Base of those that give each row one of the classes; not for use by itself.

    Parameters
    ----------
    class_weight : dict or 'balanced', default=None
        Weights of the classes; 1 for those that are not named.
    """

    def __init__(self, *, class_weight=None): ...

    @with_callbacks
    def fit(self, X, y, sample_weight=None):
        """Trains.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The examples.
        y : array-like of shape (n_samples,)
            Their labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the examples; an integer weight equals that many copies of the example.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        X, y, classes, rows, options = self._checked(X, y, sample_weight)
        return self._train(X, y, sample_weight, classes, rows, **options)

    def _checked(self, X, y, sample_weight):
        """Data and labels as the compiled half takes them, and the options of this estimator."""
        options = self._own_options()
        X, y = validate_data(self, X, y, **LAYOUT)
        check_classification_targets(y)
        classes, rows = class_numbers(y)
        weights = class_weights(self.class_weight, classes, y, sample_weight)
        return X, y, classes, rows, {**options, "class_weight": weights}

    def _own_options(self):
        """The options that this estimator alone has, checked."""
        return {}

    @classmethod
    def _can_take(cls, model):
        """Whether a model of a file is one of this estimator's."""
        return model.name == cls._model_name and model.task != "multilabel"


class NonConvexClassifier(LinearClassifier):
    """Base of those whose answer is a local one; not for use by itself.

    Parameters
    ----------
    tol : float, default=1e-3
        The local gap, relative to the objective, at which a run stops. Problems below a million
        entries are solved on to rounding whatever ``tol`` says.

    Attributes
    ----------
    certificate_ : Certificate
        ``objective`` and ``local_gap``. The objective is not convex: there is no lower bound, and
        ``certified`` is False.
    """

    def _effort(self, X):
        """A non-convex run to rounding may creep for ever; this much is enough."""
        if self.max_evals is not None or entries(X) >= SMALL:
            return {}
        return {"max_evals": ENOUGH}


def _unpack(problems, n_features, bias):
    """``coef_`` and ``intercept_`` of weights that lie feature by feature."""
    weights = problems[0] if len(problems) == 1 else np.hstack(problems)
    # Rows of coef_ are columns of the weights: the transpose is a view, and predicting needs no
    # copy of it.
    coef = weights[:n_features].T
    outputs = weights.shape[1]
    intercept = np.zeros(outputs) if bias is None else bias * weights[n_features]
    return coef, intercept
