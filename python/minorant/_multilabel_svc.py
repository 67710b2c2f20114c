"""Support vector classification with sets of labels."""

import numpy as np
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import column_or_1d

from ._declared import fitted
from ._labels import label_sets
from ._linear import LinearEstimator
from ._rows import RowsMixin


class MultilabelSVC(RowsMixin, LinearEstimator):
    """Linear support vector classification with sets of labels and a certified optimality gap.

    The loss of an example is the largest violation of a margin of 1 between a label that it has
    and one that it has not. A label is predicted where its decision value is above one threshold
    for all, chosen on the training data. A one-dimensional ``y`` gives each row one label; then the
    label with the highest value is predicted.

    Attributes
    ----------
    coef_ : ndarray of shape (n_classes, n_features)
        Weights of the features.
    intercept_ : ndarray of shape (n_classes,)
        Intercepts.
    classes_ : ndarray of shape (n_classes,)
        The classes in order; column numbers where ``y`` has columns.
    threshold_ : float
        Labels with decision values above it are predicted.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from minorant import MultilabelSVC
    >>> X, Y = make_multilabel_classification(n_classes=4, random_state=0)
    >>> model = MultilabelSVC().fit(X, Y)
    >>> model.predict(X[:2]).shape
    (2, 4)
    """

    threshold_: float = fitted()

    _model_name = "svm"
    _takes_sets = True
    #: As models of files have them.
    _has_sets = True

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags

    def _numbered(self, y):
        check_classification_targets(y)
        kind = type_of_target(y)
        self._has_sets = kind == "multilabel-indicator"
        if self._has_sets:
            return label_sets(y)
        if kind not in ("binary", "multiclass"):
            raise ValueError(f"MultilabelSVC takes labels or a label indicator matrix, not {kind}")
        classes, names, numbers = super()._numbered(column_or_1d(y, warn=True))
        return classes, names, (np.arange(len(numbers) + 1, dtype=np.uint64), numbers)

    def _take_weights(self, header, arrays):
        super()._take_weights(header, arrays)
        self.threshold_ = header["threshold"]

    def _scores(self, X):
        scores = super()._scores(X)
        # Where rows have one label out of two, the difference of the two decides.
        return (
            scores[:, 1:] - scores[:, :1] if not self._has_sets and scores.shape[1] == 2 else scores
        )

    def _labels_of(self, scores):
        if self._has_sets:
            return (scores > self.threshold_).astype(np.int64)
        return super()._labels_of(scores)

    def _notes(self):
        return super()._notes() | ({} if self._has_sets else {"has_sets": False})

    @classmethod
    def _of_model(cls, path, model):
        estimator = super()._of_model(path, model)
        notes = model.header.get("python") or {}
        estimator._has_sets = notes.get("has_sets", True)
        return estimator

    @classmethod
    def _can_take(cls, header):
        return super()._can_take(header) and header["task"] == "multilabel"
