"""Estimators that choose λ by cross-validation over warm paths, one for each whose path there is."""

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import is_classifier
from sklearn.metrics import check_scoring
from sklearn.model_selection import check_cv
from sklearn.utils import _safe_indexing, indexable
from sklearn.utils.validation import _check_sample_weight

from ._declared import Declared, fitted
from ._cache import is_stored
from ._examples import MatrixLike
from ._huber_regressor import HuberRegressor
from ._linear_svc import LinearSVC
from ._linear_svr import LinearSVR
from ._logistic_regression import LogisticRegression
from ._path import Path, default_lams, path, positive_lams
from ._quantile_regressor import QuantileRegressor

Scoring = str | Callable[..., float] | None


class CrossValidated(Declared):
    """What estimators have that choose λ by cross-validation; not for use by itself.

    On each fold one warm path serves all λ: planes that were found for one of them bound all others.
    The estimator is then trained on all data with the λ of the best mean score.

    Parameters
    ----------
    lams : array-like, default=None
        The λ to try, in any order. If not given, λ = 1/(C Σ sample_weight) for eleven C from 0.001 to
        100.
    cv : int, cross-validation generator or iterable, default=None
        How the folds are cut, as in scikit-learn: 5 folds if not given, with the shares of the classes
        where there are such.
    scoring : str or callable, default=None
        What a fold is scored by, as in scikit-learn; the estimator's own ``score`` if not given.

    Attributes
    ----------
    lam_ : float
        The λ that was chosen: of those with the best mean score, the largest.
    lams_ : ndarray of shape (n_lams,)
        The λ that were tried, descending.
    scores_ : ndarray of shape (n_lams, n_folds)
        The score of each λ on each fold.
    """

    lams: ArrayLike | None = None
    cv: Any = None
    scoring: Scoring = None
    # The strength of the regularizer is what is chosen: it is no parameter.
    C: float | None = fitted()
    lam: float | None = fitted()

    lams_: NDArray[np.float64] = fitted()
    scores_: NDArray[np.float64] = fitted()

    def fit(self, X: MatrixLike, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Chooses λ, and trains with it.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), or a cache or its path
            The examples. Rows of a cache that do not fit memory stay on disk.
        y : array-like of shape (n_samples,)
            Their labels or targets; those of the cache if not given.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the examples in training.
        """
        template = self._template()
        # Whatever is wrong with the data is said before it is cut.
        checked, labels, *_ = template._checked(X, y, sample_weight)
        if is_stored(X):
            X, y = checked, labels
            sample_weight = X.weights if sample_weight is None else sample_weight
        else:
            X, y = indexable(X, y)
        weights = None
        if sample_weight is not None:
            weights = _check_sample_weight(sample_weight, checked, dtype=np.float64)
        total = checked.shape[0] if weights is None else weights.sum()
        given = default_lams(total) if self.lams is None else positive_lams(self.lams)
        lams = np.unique(given)[::-1]
        scorer = check_scoring(template, scoring=self.scoring)
        cv = check_cv(self.cv, y, classifier=is_classifier(template))
        scores = []
        # Where rows stay on disk, folds are cut by their numbers.
        numbers = np.arange(checked.shape[0]) if is_stored(X) else X
        for train, test in cv.split(numbers, y):
            of_fold = None if weights is None else weights[train]
            rows, labels = _rows(X, train), _safe_indexing(y, train)
            found = path(template, rows, labels, lams, sample_weight=of_fold, fill=False)
            rows, labels = _rows(X, test), _safe_indexing(y, test)
            of_lam = dict(zip(found.lams, found.estimators, strict=True))
            # A path that ran out of evaluations or time has fewer points.
            scores.append(
                [scorer(of_lam[lam], rows, labels) if lam in of_lam else np.nan for lam in lams]
            )
        self.lams_, self.scores_ = lams, np.array(scores).T
        means = self.scores_.mean(axis=1)
        if np.isnan(means).all():
            raise ValueError("max_evals or max_seconds ended the paths before a single lam was tried")
        chosen = template.set_params(lam=float(lams[np.nanargmax(means)]))
        chosen.fit(X, y, sample_weight)
        fitted = {name: kept for name, kept in vars(chosen).items() if name.endswith("_")}
        vars(self).update(fitted, _model=chosen._model)
        return self

    def _template(self):
        """The estimator that is trained, its λ not chosen yet."""
        kind = next(base for base in type(self).__mro__ if not issubclass(base, CrossValidated))
        given, known = self.get_params(deep=False), kind._get_param_names()
        return kind(**{name: kept for name, kept in given.items() if name in known})

    def path(self, X: MatrixLike, y: Any, lams: ArrayLike | None = None, **how: Any) -> Path[Any]:
        """The path of the estimator over all data: :func:`minorant.path`."""
        return path(self._template(), X, y, lams, **how)


def _rows(X, at):
    return X._select(at) if is_stored(X) else _safe_indexing(X, at)


class LinearSVCCV(CrossValidated, LinearSVC):
    """:class:`LinearSVC` with the λ that cross-validation over warm paths finds best.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from minorant import LinearSVCCV
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LinearSVCCV(lams=[1.0, 0.1, 0.01]).fit(X, y)
    >>> model.scores_.shape, model.lam_
    ((3, 5), 0.01)
    """


class LogisticRegressionCV(CrossValidated, LogisticRegression):
    """:class:`LogisticRegression` with the λ that cross-validation over warm paths finds best.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from minorant import LogisticRegressionCV
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LogisticRegressionCV(lams=[1.0, 0.1, 0.01]).fit(X, y)
    >>> model.scores_.shape
    (3, 5)
    """


class LinearSVRCV(CrossValidated, LinearSVR):
    """:class:`LinearSVR` with the λ that cross-validation over warm paths finds best.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from minorant import LinearSVRCV
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = LinearSVRCV(lams=[1e-2, 1e-4, 1e-6], intercept_scaling=100.0).fit(X, y)
    >>> model.certificate_.certified
    True
    """


class QuantileRegressorCV(CrossValidated, QuantileRegressor):
    """:class:`QuantileRegressor` with the λ that cross-validation over warm paths finds best.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from minorant import QuantileRegressorCV
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = QuantileRegressorCV(lams=[1e-2, 1e-4], scoring="neg_mean_absolute_error").fit(X, y)
    >>> model.certificate_.certified
    True
    """


class HuberRegressorCV(CrossValidated, HuberRegressor):
    """:class:`HuberRegressor` with the λ that cross-validation over warm paths finds best.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from minorant import HuberRegressorCV
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = HuberRegressorCV(lams=[1e-2, 1e-4]).fit(X, y)
    >>> model.certificate_.certified
    True
    """
