"""Hidden Markov models trained for large margins."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from ._declared import fitted
from ._estimator import ModelEstimator, NoTableMixin, StrengthMixin
from ._labels import class_numbers, labels
from ._sequences import check_lengths, share_right, tokens_of


class LargeMarginHMM(NoTableMixin, StrengthMixin, ModelEstimator):
    """Hidden Markov models of real-valued frames, trained for large margins.

    Each class (or label) has a few hidden states with mixtures of Gaussians. Training
    starts from maximum likelihood and is regularised to it: it minimises λ/2 ‖w − w₀‖² plus the
    mean over sequences of how far the best wrong answer, with its loss, is above the right one.
    The objective is not convex, so there is no lower bound, only a local gap.

    Parameters
    ----------
    task : {'classify', 'label'}, default='classify'
        What to tell: the class of each sequence, or the label of each of its frames.
    group_weights : dict, default=None
        Weights θ of 'transitions', 'means', 'variances' and 'mixtures' in the regularizer; 1 for
        those that are not named.
    max_evals : int, default=None
        Most passes over the data, after those for maximum likelihood; 10 000 if not given.

    Attributes
    ----------
    validation_error_ : float or None
        The error on what was held out.
    n_features_in_ : int
        Numbers in a frame.

    Examples
    --------
    >>> import numpy as np
    >>> from minorant import LargeMarginHMM
    >>> rng = np.random.default_rng(0)
    >>> X = [rng.normal(size=(8, 2)) + np.linspace(0, k % 2, 8)[:, None] for k in range(40)]
    >>> y = ["rising" if k % 2 else "flat" for k in range(40)]
    >>> model = LargeMarginHMM(n_states=2, lam=0.1).fit(X, y)
    >>> model.score(X, y) > model.score_at_start(X, y)
    True
    >>> model.certificate_.lower_bound is None
    True
    """

    task: Literal["classify", "label"] = "classify"
    n_states: int = 3
    n_mixtures: int = 1
    topology: Literal["left-right", "ergodic"] = "left-right"
    covariance: Literal["diagonal", "full"] = "diagonal"
    group_weights: Mapping[str, float] | None = None
    validation_fraction: float = 0.0

    validation_error_: float | None = fitted()

    _model_name = "hmm"

    def fit(self, X: Sequence[ArrayLike], y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Trains.

        Parameters
        ----------
        X : list of array-like of shape (n_frames, n_features)
            The sequences; each may have its own number of frames.
        y : array-like of shape (n_sequences,), or list of array-like of shape (n_frames,)
            The class of each sequence, or the labels of the frames of each.
        sample_weight : array-like of shape (n_sequences,), default=None
            Weights of the sequences, 1 each if not given; a weight is the same as so many
            repetitions.
        """
        options = self._options()
        examples = _join(X)
        lengths = np.diff(examples.starts.astype(np.int64))
        told = _join_labels(y, lengths) if self.task == "label" else np.asarray(y)
        if self.task != "label" and told.shape != lengths.shape:
            raise ValueError(
                f"expected one label for each sequence ({len(lengths)}), found shape {told.shape}"
            )
        if sample_weight is not None:
            options["weights"] = np.ascontiguousarray(sample_weight, dtype=np.float64)
        classes, rows = class_numbers(told)
        self._train(examples._replace(classes=labels(classes), labels=rows), classes, options)
        return self

    def _options(self, model=None):
        options, groups = super()._options(model), self.group_weights
        if groups is not None:
            options["group_weight"] = (
                list(groups.items()) if isinstance(groups, Mapping) else groups
            )
        return options

    def _take_weights(self, header, arrays):
        self.n_features_in_ = header["features"]
        self.validation_error_ = header["validation_error"]

    def predict(self, X: Sequence[ArrayLike]) -> Any:
        """The class of each sequence, or the labels of the frames of each.

        Returns
        -------
        labels : ndarray of shape (n_sequences,), or list of ndarray of shape (n_frames,)
            What the model tells; ties go to the first class.
        """
        check_is_fitted(self)
        return self._predict(self._model, X)

    def _predict(self, model, X):
        examples = _join(X, self.n_features_in_)
        labels = self.classes_[model.predict(examples, self._threads())]
        return labels if self.task == "classify" else examples.split(labels)

    def decision_function(self, X: Sequence[ArrayLike]) -> NDArray[np.float64]:
        """Scores of the classes, where sequences are classified.

        Returns
        -------
        scores : ndarray of shape (n_sequences, n_classes)
            The logarithm of the density of each class's best path.
        """
        check_is_fitted(self)
        if self.task == "label":
            raise ValueError("a model that labels frames has no scores of classes")
        return self._model.scores(_join(X, self.n_features_in_), self._threads())

    def score(self, X: Sequence[ArrayLike], y: Any) -> float:
        """The share of sequences (or frames) that are told right.

        Returns
        -------
        accuracy : float
            The share.
        """
        check_is_fitted(self)
        return self._accuracy(self._model, X, y)

    def score_at_start(self, X: Sequence[ArrayLike], y: Any) -> float:
        """:meth:`score` of the maximum-likelihood model that training started from."""
        check_is_fitted(self)
        return self._accuracy(self._model.at_start(), X, y)

    def _accuracy(self, model, X, y):
        predicted = self._predict(model, X)
        if self.task == "label":
            return share_right(predicted, y)
        y = np.asarray(y)
        if y.shape != predicted.shape:
            raise ValueError(f"expected {len(predicted)} labels, found shape {y.shape}")
        return float(np.mean(predicted == y))

    @classmethod
    def _parameters_of(cls, header, arrays):
        found = super()._parameters_of(header, arrays)
        return {**found, "group_weights": dict(found.pop("group_weights", ())) or None}


def _join(X, n_features=None):
    """All frames as one array, and where each sequence starts and the last one ends."""
    if isinstance(X, np.ndarray) and X.ndim == 2:
        raise ValueError("expected a list of sequences, found one array of two dimensions")
    sequences = [check_array(x, dtype=np.float64, order="C", ensure_min_samples=0) for x in list(X)]
    if not sequences:
        raise ValueError("expected at least one sequence, found none")
    return tokens_of(sequences, width=n_features)


def _join_labels(y, lengths):
    """The labels of all frames, which must be as many as each sequence has."""
    labels = [np.atleast_1d(z) for z in y]
    check_lengths(labels, lengths)
    return np.concatenate(labels)
