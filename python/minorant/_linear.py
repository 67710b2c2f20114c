"""What all linear estimators share: from checked arrays to the compiled half and back."""

from collections.abc import Mapping
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import (
    _check_sample_weight,
    check_is_fitted,
    validate_data,
)

from . import _core
from ._cache import checked, is_stored
from ._callbacks import Callbacks, CallbackSupportMixin, with_callbacks
from ._declared import fitted
from ._estimator import ModelEstimator, StrengthMixin
from ._examples import LAYOUT, Examples, MatrixLike, entries, hand_over
from ._labels import class_weights
from ._parameters import positive
from ._rows import RowsMixin

#: Problems with fewer entries may go on past ``tol`` for a while.
SMALL = 10**4
#: Products with fewer multiplications are not worth a call of the compiled half.
FEW = 10**4


class LinearEstimator(CallbackSupportMixin, StrengthMixin, ModelEstimator, is_base=True):
    """Base of the linear estimators; not for use by itself.

    Parameters
    ----------
    fit_intercept : bool, default=True
        Whether there is an intercept.
    intercept_scaling : float or None
        The value of a constant feature whose weight is regularised like the others; the larger, the
        less it is regularised. None: the intercept is free, which is to say that it is neither
        regularised nor bounded.
    positive : bool, default=False
        Whether all weights are to be 0 or more; the intercept may be anything.
    bounds : array-like of shape (n_features, 2), default=None
        The least and the greatest value of each feature's weights; infinite where there is none.
    warm_start : bool, default=False
        Whether to start at the weights of the last fit. An interrupted fit then leaves the best
        weights so far in the estimator.
    tol : float, default=1e-3
        The relative gap that is certified, or the local one where the objective is not convex; 0
        asks for as small a one as rounding allows. Problems with fewer than 10 000 entries go on
        past ``tol``, to rounding or for 1000 further passes.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Weights of the features; one row where there are two classes.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercepts.
    """

    fit_intercept: bool = True
    intercept_scaling: float | None = 1.0
    l1_ratio: float | None = None
    positive: bool = False
    bounds: ArrayLike | None = None
    warm_start: bool = False

    coef_: NDArray[np.float64] = fitted()

    #: Whether ``y`` may have columns, and whether it is numbers to be met.
    _takes_sets, _takes_targets = False, False

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    # Training

    @with_callbacks
    def fit(self, X: MatrixLike, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Trains.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), or a cache or its path
            The examples. Rows of a cache that do not fit memory stay on disk.
        y : array-like of shape (n_samples,)
            Their labels or targets; those of the cache if not given. Where an estimator takes rows without a label, -1 means none;
            where it takes sets of labels, an array or sparse matrix of shape (n_samples,
            n_classes) has 1 where an example has a label, and 0 elsewhere.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the examples; an integer weight equals that many copies of the example. Those of the
            cache if not given.
        """
        return self._train_rows(*self._checked(X, y, sample_weight))

    def _checked(self, X, y, sample_weight):
        """Rows and labels, the classes, the examples as the compiled half takes them, the options."""
        further = {"multi_output": self._takes_sets, "y_numeric": self._takes_targets}
        if is_stored(X):
            X, y = checked(self, X, y, as_targets=self._takes_targets)
            sample_weight = X.weights if sample_weight is None else sample_weight
        else:
            X, y = validate_data(self, X, y, **further, **LAYOUT)
        classes, names, numbers = self._numbered(y)
        options = self._options(X, sample_weight, self._model_for(y))
        return X, y, classes, Examples(hand_over(X), classes=names, labels=numbers), options

    def _model_for(self, y):
        """The library's model for these labels."""
        return self._model_name

    def _train_rows(self, X, y, classes, examples, options):
        """Trains on what is checked."""
        start = self._start(classes, X.shape[1]) if self.warm_start else None
        callbacks = Callbacks(self, X, y, options["weights"])
        self._train(
            examples,
            classes,
            options,
            model=self._model_for(y),
            observe=self._observer(callbacks, classes, X.shape[1]) if callbacks.are_set else None,
            keep=self.warm_start,
            start=start,
            small=entries(X) < SMALL,
        )
        callbacks.end()
        return self

    def _options(self, X, sample_weight, model):
        options = super()._options(model)
        if getattr(X, "max_memory", None) is not None:
            options["max_memory"] = X.max_memory
        if sample_weight is not None:
            sample_weight = _check_sample_weight(sample_weight, X, dtype=np.float64)
        scaling = positive("intercept_scaling", self.intercept_scaling)
        options = {
            **options,
            "weights": sample_weight,
            "bias": scaling if self.fit_intercept else None,
        }
        if options.get("l1_ratio") is not None and options.get("penalty") == "l2":
            # The default of a parameter was not asked for.
            del options["penalty"]
        if self._has_free_intercept:
            options["intercept"] = "free"
        if "bounds" in options and self.bounds is not None:
            options["bounds"] = _triples(self.bounds, X.shape[1])
        return options

    @property
    def _has_free_intercept(self):
        return bool(self.fit_intercept) and self.intercept_scaling is None

    def _observer(self, callbacks, classes, n_features):
        def observe(record, weights):
            attributes = None
            # A free intercept is not among the weights of a run that is under way.
            if weights is not None and not self._has_free_intercept:
                attributes = {"n_features_in_": n_features}
                if classes is not None:
                    attributes["classes_"] = classes
                rows = n_features + bool(self.fit_intercept)
                bias = self.intercept_scaling if self.fit_intercept else None
                coef, intercept = _unpack([weights.reshape(rows, -1)], n_features, bias)
                attributes.update(self._shaped(coef, intercept))
            return callbacks.iteration(attributes)

        return observe

    def _start(self, classes, n_features):
        """The weights of the last fit, if they fit this one too."""
        if not hasattr(self, "coef_"):
            return None
        weights = np.atleast_2d(self.coef_).T
        if weights.shape[0] != n_features or not self._has_same_outputs(classes, weights.shape[1]):
            return None
        if self.fit_intercept and not self._has_free_intercept:
            bias = self.intercept_ / self.intercept_scaling
            weights = np.vstack([weights, np.broadcast_to(bias, (1, weights.shape[1]))])
        order = "F" if getattr(self, "multi_class", "joint") == "ovr" else "C"
        return np.ascontiguousarray(weights, dtype=np.float64).ravel(order)

    def _has_same_outputs(self, classes, outputs):
        """Whether the last fit was one of the same outputs."""
        return np.array_equal(self.classes_, classes)

    def _take_weights(self, header, arrays):
        problems = [arrays[f"weights.{k}"] for k in range(len(header["problems"]))]
        coef, intercept = _unpack(problems, header["features"], header["bias"])
        if header.get("intercept") == "free":
            free = [np.ravel(arrays[f"intercept.{k}"]) for k in range(len(problems))]
            intercept = np.concatenate(free)
        vars(self).update(self._shaped(coef, intercept))

    def _shaped(self, coef, intercept):
        """Weights and intercepts as attributes, in the shapes that users know."""
        return {"coef_": coef, "intercept_": intercept}

    # Prediction

    def _scores(self, X):
        """One column of decision values for each row of ``coef_``."""
        check_is_fitted(self)
        if is_stored(X):
            X, _ = checked(self, X, reset=False)
        else:
            X = validate_data(self, X, reset=False, **LAYOUT)
        return self._outputs_of(X)

    def _outputs_of(self, X):
        """The same for rows that are checked already."""
        coef = np.atleast_2d(self.coef_)
        if entries(X) * len(coef) < FEW and not is_stored(X):
            return X @ coef.T + self.intercept_
        weights = np.ascontiguousarray(coef.T, dtype=np.float64)
        return _core.scores(hand_over(X), weights, self._threads()) + self.intercept_

    # Files

    @classmethod
    def _parameters_of(cls, header, arrays):
        found = super()._parameters_of(header, arrays)
        is_free = header.get("intercept") == "free"
        found["fit_intercept"] = is_free or header["bias"] is not None
        if is_free:
            found["intercept_scaling"] = None
        if "loss" in found:
            found["loss"] = found["loss"].replace("-", "_")
        if "bounds" in arrays:
            found["bounds"] = _pairs(np.ravel(arrays["bounds"]), header["features"])
        return found


class LinearClassifier(RowsMixin, LinearEstimator, is_base=True):
    """Base of the linear estimators that give each row one of the classes; not for use by itself.

    Parameters
    ----------
    class_weight : dict or 'balanced', default=None
        Weights of the classes; 1 for those that are not named.
    """

    class_weight: Mapping[Any, float] | Literal["balanced"] | None = None

    def _checked(self, X, y, sample_weight):
        X, y, classes, examples, options = super()._checked(X, y, sample_weight)
        labelled, weights = self._labelled(y), options["weights"]
        weights = None if weights is None else weights[labelled]
        names = examples.classes[-len(classes) :]
        weights = class_weights(self.class_weight, classes, names, y[labelled], weights)
        return X, y, classes, examples, {**options, "class_weight": weights or None}

    def _labelled(self, y):
        """Which rows have a label."""
        return slice(None)

    @classmethod
    def _can_take(cls, header):
        return super()._can_take(header) and header["task"] != "multilabel"

    @classmethod
    def _parameters_of(cls, header, arrays):
        found = super()._parameters_of(header, arrays)
        classes = dict(zip(header["classes"], cls._classes_of(header), strict=True))
        weights = {classes[name]: weight for name, weight in found.pop("class_weight", [])}
        return {**found, "class_weight": weights or None}


def _triples(bounds, n_features):
    """Bounds as the library takes them: column from 1, least and greatest value of each."""
    bounds = np.asarray(bounds, dtype=np.float64)
    if bounds.shape != (n_features, 2):
        raise ValueError(f"bounds must have the shape ({n_features}, 2), got {bounds.shape}")
    columns = np.arange(1, n_features + 1)
    some = np.isfinite(bounds).any(axis=1) | np.isnan(bounds).any(axis=1) | (bounds[:, 0] == np.inf)
    some |= bounds[:, 1] == -np.inf
    return np.column_stack([columns, bounds])[some].ravel().tolist() or None


def _pairs(triples, n_features):
    """The bounds of all features from such triples."""
    bounds = np.tile([-np.inf, np.inf], (n_features, 1))
    for column, least, greatest in triples.reshape(-1, 3):
        bounds[int(column) - 1] = least, greatest
    return bounds


def _unpack(problems, n_features, bias):
    """``coef_`` and ``intercept_`` of weights that lie feature by feature."""
    weights = problems[0] if len(problems) == 1 else np.hstack(problems)
    # Rows of coef_ are columns of the weights: the transpose is a view, and predicting needs no
    # copy of it.
    coef = weights[:n_features].T
    outputs = weights.shape[1]
    intercept = np.zeros(outputs) if bias is None else bias * weights[n_features]
    return coef, intercept
