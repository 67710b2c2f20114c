"""What the estimators of rows share, however they come by their decision values."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets

from ._declared import ClassifierMixin
from ._examples import MatrixLike
from ._labels import class_numbers, has_label, labelled_classes, labels


class RowsMixin(ClassifierMixin):
    """Decision values and labels of rows; not for use by itself.

    Attributes
    ----------
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if the training data had some.
    """

    intercept_: NDArray[np.float64]
    feature_names_in_: NDArray[Any]

    #: Whether rows have sets of labels.
    _has_sets = False

    def _numbered(self, y):
        """The classes in order, their names in the library, and for each row the number of its name."""
        check_classification_targets(y)
        classes, rows = class_numbers(y)
        return classes, labels(classes), rows

    def decision_function(self, X: MatrixLike) -> NDArray[np.float64]:
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
        scores = self._scores(X)
        return scores.ravel() if scores.shape[1] == 1 and not self._has_sets else scores

    def predict(self, X: MatrixLike) -> NDArray[Any]:
        """Labels of rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows; with a precomputed kernel, their kernel with the training rows.

        Returns
        -------
        labels : ndarray of shape (n_samples,), or (n_samples, n_classes) for sets of labels
            A label for each row, where ties go to the first class; of sets, 1 for the labels that
            are predicted and 0 elsewhere.
        """
        return self._labels_of(self.decision_function(X))

    def _labels_of(self, scores):
        at = (scores > 0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)
        return self.classes_[at]


class SemiSupervisedMixin:
    """Rows of which some have no label; not for use by itself.

    Attributes
    ----------
    transduction_ : ndarray of shape (n_samples,)
        The labels of the training rows; where there was none, the one that is predicted.
    """

    transduction_: NDArray[Any]

    def _numbered(self, y):
        return labelled_classes(y)

    def _train_rows(self, X, y, *further):
        super()._train_rows(X, y, *further)
        self.transduction_ = np.where(has_label(y), y, self.predict(X)).astype(self.classes_.dtype)
        return self
