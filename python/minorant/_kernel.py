"""What the estimators with kernels share."""

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_is_fitted, validate_data

from ._declared import fitted
from ._estimator import ModelEstimator
from ._examples import LAYOUT, Examples, MatrixLike, hand_over
from ._rows import RowsMixin


class KernelEstimator(RowsMixin, ModelEstimator, is_base=True):
    """Base of the estimators with kernels; not for use by itself.

    Parameters
    ----------
    kernel : {'rbf', 'linear', 'poly', 'precomputed'} or callable, default='rbf'
        exp(−‖x−y‖²/(2 sigma²)), x·y or (x·y + offset)^power. 'precomputed' means that the data are
        rows of the kernel matrix; a function takes two sets of rows and returns their kernel.
    sigma : float, default=None
        The width of 'rbf'; about a third of the data's spread if not given.
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
    """

    kernel: str | Callable[[Any, Any], Any] = "rbf"
    sigma: float | None = None
    power: int = 3
    offset: float = 1.0
    tol: float = 1e-6

    support_: NDArray[np.intp] = fitted()
    dual_coef_: NDArray[np.float64] = fitted()
    sigma_: float | None = fitted()

    _has_texts = True
    # What is counted here are searches, each of which ends by itself.
    _most_evals = None
    #: Whether there may be more than two classes.
    _several_classes = False

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = not callable(self.kernel)
        tags.input_tags.pairwise = self.kernel == "precomputed"
        tags.classifier_tags.multi_class = self._several_classes
        return tags

    def _options(self, model=None):
        options = super()._options(model)
        return {**options, "kernel": "precomputed"} if callable(self.kernel) else options

    def fit(self, X: MatrixLike, y: Any) -> Self:
        """Trains.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The examples; with a precomputed kernel, their kernel matrix.
        y : array-like of shape (n_samples,)
            Their labels, of two classes of which the second one in order is positive; where an
            estimator takes rows without a label, of any number of classes, and -1 means none.
        """
        return self._train_rows(*validate_data(self, X, y, **LAYOUT))

    def _numbered(self, y):
        found = super()._numbered(y)
        if len(found[0]) > 2 and not self._several_classes:
            raise ValueError(
                "Only binary classification is supported. The type of the target is "
                f"{type_of_target(y)}."
            )
        return found

    def _train_rows(self, X, y):
        """Trains on validated rows."""
        classes, names, rows = self._numbered(y)
        options = self._options()
        if callable(self.kernel):
            self._rows = X
            X = self._gram(X)
        self._train(Examples(hand_over(X), classes=names, labels=rows), classes, options)
        return self

    def _gram(self, X):
        """The kernel matrix of a user's function, rows by training rows."""
        found = np.ascontiguousarray(self.kernel(X, self._rows), dtype=np.float64)
        expected = (X.shape[0], self._rows.shape[0])
        if found.shape != expected:
            raise ValueError(f"kernel must return an array of shape {expected}, not {found.shape}")
        return found

    def _take_weights(self, header, arrays):
        self.support_ = arrays["support.numbers"].astype(np.intp)
        self.dual_coef_, self.intercept_ = arrays["beta"], arrays["bias"]
        self.kernel_ = self.kernel if callable(self.kernel) else header["kernel"]
        self.sigma_ = header["sigma"] if header["kernel"] == "rbf" else None

    def _scores(self, X):
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, **LAYOUT)
        if callable(self.kernel):
            X = self._gram(X)
        return self._model.scores(Examples(hand_over(X)), self._threads())

    def _facts(self):
        return {"support rows": str(len(self.support_))}
