"""A range of λ: warm-started, with a certificate for each λ and for every one in between."""

from copy import deepcopy
from typing import Any, Generic, NamedTuple, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils.validation import validate_data

from . import _core
from ._cache import checked, is_stored
from ._examples import LAYOUT, Examples, MatrixLike, hand_over
from ._results import Certificate, Trace, html_table, number

Estimator = TypeVar("Estimator")

#: λ Σ sample_weight of a path where nobody says which: C from 0.001 to 100.
_DEFAULT = 10.0 ** np.linspace(3, -2, 11)


class Between(NamedTuple):
    """What is proven for every λ between two neighbours of a path.

    Attributes
    ----------
    lo, hi : float
        The two λ.
    relative_gap : float or None
        At every λ from ``lo`` to ``hi`` the better of the two neighbours' estimators has at most
        this relative gap; None where the method gives no bound over λ.

    Examples
    --------
    >>> from minorant import Between
    >>> Between(lo=0.1, hi=0.2, relative_gap=1e-3).hi
    0.2
    """

    lo: float
    hi: float
    relative_gap: float | None


class Path(Generic[Estimator]):
    """What :func:`minorant.path` found.

    Attributes
    ----------
    lams : ndarray of shape (n_points,)
        The λ, descending: those asked for and those that were put in between.
    estimators : list
        A fitted estimator for each λ, with its ``certificate_``.
    between : list of Between
        What is proven between neighbours, one entry for each two.
    train_errors : ndarray of shape (n_points,)
        Errors on the training data.
    validation_errors : ndarray of shape (n_points,) or None
        Errors on the validation data, where some was given.
    n_evaluations : int
        Passes over the data, all together.
    is_whole : bool
        Whether all λ asked for were reached before evaluations or time ran out.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> import minorant
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> path = minorant.path(minorant.LinearSVC(), scale(X), y, [1.0, 0.1, 0.01])
    >>> path.lams.max(), path.lams.min()
    (np.float64(1.0), np.float64(0.01))
    >>> path.gap_at(0.05) <= 3 * 1e-3
    True
    """

    def __init__(
        self,
        estimators: list[Estimator],
        between: list[Between],
        errors: list[tuple[float, float | None]],
        is_whole: bool,
    ) -> None:
        self.estimators = estimators
        self.lams: NDArray[np.float64] = np.array([estimator.lam_ for estimator in estimators])
        self.between = between
        self.train_errors = np.array([train for train, _ in errors])
        validation = [found for _, found in errors if found is not None]
        self.validation_errors = np.array(validation) if validation else None
        self.n_evaluations = sum(estimator.n_evaluations_ for estimator in estimators)
        self.is_whole = is_whole

    def __len__(self) -> int:
        return len(self.estimators)

    @property
    def certificates(self) -> list[Certificate]:
        """The certificate of each λ."""
        return [estimator.certificate_ for estimator in self.estimators]

    @property
    def best(self) -> Estimator:
        """The estimator of least validation error (training error without validation data); of
        several the one with the largest λ."""
        errors = self.train_errors if self.validation_errors is None else self.validation_errors
        return self.estimators[int(np.argmin(errors))]

    def at(self, lam: float) -> Estimator:
        """The estimator that serves a λ of the path's range: the better of its two neighbours.

        Parameters
        ----------
        lam : float
            λ, from the smallest of the path to the largest.

        Returns
        -------
        estimator : object
            The neighbour with the lower objective at ``lam``. :meth:`gap_at` says how good it is.
        """
        found = [self.estimators[i] for i in self._neighbours(lam)]
        return min(found, key=lambda estimator: _objective(estimator, lam))

    def gap_at(self, lam: float) -> float | None:
        """The relative gap that is proven for :meth:`at` of the same λ; None where none is."""
        at = self._neighbours(lam)
        if len(at) == 1:
            return self.estimators[at[0]].certificate_.relative_gap
        return self.between[at[0]].relative_gap

    def _neighbours(self, lam):
        exact = np.flatnonzero(self.lams == lam)
        if exact.size:
            return [int(exact[0])]
        above = int(np.count_nonzero(self.lams > lam))
        if above in (0, len(self.lams)):
            raise ValueError(
                f"lam must lie between {self.lams.min():g} and {self.lams.max():g}, got {lam!r}"
            )
        return [above - 1, above]

    def __repr__(self):
        ends = f"{self.lams.max():g} to {self.lams.min():g}" if len(self) else "nothing"
        return f"Path({len(self)} points, lam from {ends})"

    def _repr_html_(self):
        gaps = [b.relative_gap for b in self.between if b.relative_gap is not None]
        return html_table(
            {
                "points": str(len(self)),
                "lambda": f"{number(self.lams.max())} to {number(self.lams.min())}",
                "largest relative gap in between": number(max(gaps, default=None)),
                "evaluations": str(self.n_evaluations),
            }
        )


def _objective(estimator, lam):
    """The objective of an estimator's weights at another λ."""
    weights = [np.ravel(estimator.coef_)]
    if estimator.fit_intercept and estimator.intercept_scaling is not None:
        weights.append(np.ravel(estimator.intercept_) / estimator.intercept_scaling)
    weights = np.concatenate(weights)
    ratio = estimator.l1_ratio or 0.0
    penalty = ratio * np.abs(weights).sum() + (1 - ratio) * 0.5 * (weights**2).sum()
    return estimator.certificate_.objective + (lam - estimator.lam_) * penalty


def path(
    estimator: Estimator,
    X: MatrixLike,
    y: Any,
    lams: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    validation: tuple[MatrixLike, Any] | None = None,
    fill: bool = True,
) -> Path[Estimator]:
    """Trains an estimator for a whole range of λ, each from where the last one ended.

    Planes found for one λ serve all others, and so do their bounds: besides a certificate for
    each λ there is one for every λ in between.

    Parameters
    ----------
    estimator : LinearSVC, LogisticRegression, LinearSVR, QuantileRegressor or HuberRegressor
        What to train, to its own ``tol``. Its ``C`` and ``lam`` do not count, its ``max_evals``
        and ``max_seconds`` hold for the whole path. The penalty must be 'l2'.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        The examples.
    y : array-like of shape (n_samples,)
        Their labels or targets.
    lams : array-like, default=None
        The λ, in any order. If not given, λ = 1/(C n) for eleven C from 0.001 to 100.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the examples.
    validation : tuple (X, y), default=None
        Data to measure errors on.
    fill : bool, default=True
        Whether to put further λ in between until the gap there is at most three times ``tol``.

    Returns
    -------
    path : Path
        Fitted estimators and what is proven.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> import minorant
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> path = minorant.path(minorant.LinearSVC(), scale(X), y, [0.1, 0.01])
    >>> all(certificate.certified for certificate in path.certificates)
    True
    >>> max(between.relative_gap for between in path.between) < 3e-3
    True
    """
    if not isinstance(estimator, PathMixin) or "lam" not in estimator.get_params():
        name = type(estimator).__name__
        raise TypeError(f"a path needs a linear estimator whose problem is convex, not {name}")
    template = clone(estimator).set_params(C=None, lam=None)
    X, y, classes, examples, options = template._checked(X, y, sample_weight)
    weight = X.shape[0] if options["weights"] is None else options["weights"].sum()
    lams = default_lams(weight) if lams is None else positive_lams(lams)
    held_out = None if validation is None else _held_out(template, classes, examples, *validation)
    with template._watching():
        points, between, is_whole = _core.path(
            template._model_name, examples, options, lams.tolist(), validation=held_out, fill=fill
        )
    fitted = [_fitted(template, classes, model, counts) for model, counts, _, _ in points]
    errors = [(train, found) for _, _, train, found in points]
    return Path(fitted, [Between(*entry) for entry in between], errors, is_whole)


class PathMixin:
    """Gives an estimator its path, of which the estimator is the first argument."""

    path = path


def _fitted(template, classes, model, counts):
    # The template has seen the data, and knows what the features are.
    estimator = deepcopy(template).set_params(lam=model.header["lambda"])
    if classes is not None:
        estimator.classes_ = classes
    estimator._finish(model, counts, Trace())
    return estimator


def _held_out(template, classes, examples, X, y):
    numeric = template._takes_targets
    if is_stored(X):
        X, given = checked(template, X, y, reset=False)
        y = X.labels(numeric) if given is None else np.asarray(given)
    else:
        X, y = validate_data(template, X, y, reset=False, y_numeric=numeric, **LAYOUT)
    if numeric:
        return Examples(hand_over(X), labels=template._numbered(y)[2])
    at = np.minimum(np.searchsorted(classes, y), len(classes) - 1)
    unseen = np.asarray(classes[at] != y)
    if unseen.any():
        raise ValueError(f"the validation data has a label that no example has: {y[unseen][0]!r}")
    return Examples(hand_over(X), classes=examples.classes, labels=at.astype(np.uint32))


def default_lams(weight):
    """The λ where nobody says which, for examples of this weight."""
    return _DEFAULT / weight


def positive_lams(lams):
    """λ as numbers."""
    lams = np.atleast_1d(np.asarray(lams, dtype=np.float64))
    if lams.ndim != 1 or lams.size == 0 or not ((lams > 0) & np.isfinite(lams)).all():
        raise ValueError("lams must be one or more positive numbers")
    return lams
