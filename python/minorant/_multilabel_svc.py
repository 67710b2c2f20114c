"""Support vector classification with sets of labels."""

import numpy as np
from scipy import sparse
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import column_or_1d, validate_data

from ._callbacks import with_callbacks
from ._estimator import estimator
from ._features import LAYOUT
from ._labels import class_numbers
from ._linear import LinearEstimator


@estimator
class MultilabelSVC(LinearEstimator):
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

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags

    @with_callbacks
    def fit(self, X, y, sample_weight=None):
        """Trains.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The examples.
        y : {array-like, sparse matrix} of shape (n_samples, n_classes) or (n_samples,)
            1 where an example has a label and 0 elsewhere, or one label for each example.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the examples; an integer weight equals that many copies of the example.

        Returns
        -------
        self : MultilabelSVC
            The fitted estimator.
        """
        X, y = validate_data(self, X, y, multi_output=True, **LAYOUT)
        check_classification_targets(y)
        kind = type_of_target(y)
        self._has_sets = kind == "multilabel-indicator"
        if self._has_sets:
            sets = sparse.csr_array(y)
            sets.eliminate_zeros()
            sets.sort_indices()
            classes = np.arange(sets.shape[1])
            rows = sets.indptr.astype(np.uint64), sets.indices.astype(np.uint32)
        elif kind in ("binary", "multiclass"):
            y = column_or_1d(y, warn=True)
            classes, numbers = class_numbers(y)
            rows = np.arange(len(numbers) + 1, dtype=np.uint64), numbers
        else:
            raise ValueError(f"MultilabelSVC takes labels or a label indicator matrix, not {kind}")
        return self._train(X, y, sample_weight, classes, rows, multilabel=True)

    def _take(self, model):
        super()._take(model)
        self.threshold_ = model.threshold

    def decision_function(self, X):
        """Decision values of rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        scores : ndarray of shape (n_samples, n_classes) or (n_samples,)
            One value for each class. Where rows have one label out of two, the difference of the
            two.
        """
        scores = self._scores(X)
        if not self._has_sets and scores.shape[1] == 2:
            return scores[:, 1] - scores[:, 0]
        return scores

    def predict(self, X):
        """Labels of rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        labels : ndarray of shape (n_samples, n_classes) or (n_samples,)
            1 for the labels that are predicted and 0 elsewhere, or one label for each row if the
            training data had that.
        """
        if self.__sklearn_is_fitted__() and self._has_sets:
            return (self.decision_function(X) > self.threshold_).astype(np.int64)
        return super().predict(X)

    def __sklearn_is_fitted__(self):
        return hasattr(self, "coef_")

    @classmethod
    def _can_take(cls, model):
        return model.name == cls._model_name and model.task == "multilabel"

    @classmethod
    def load(cls, path):
        estimator = super().load(path)
        estimator._has_sets = True
        return estimator
