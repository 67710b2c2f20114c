"""Semi-supervised support vector classification."""

from collections.abc import Mapping
from typing import Any, Literal, Self

import numpy as np
from numpy.random import RandomState
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import _check_sample_weight, validate_data

from ._callbacks import with_callbacks
from ._examples import LAYOUT, Examples, MatrixLike, hand_over
from ._labels import class_weights, classes_of_texts, has_label, labelled_classes, labels
from ._linear import NonConvexClassifier


class TransductiveSVC(NonConvexClassifier):
    """Linear support vector classification of rows of which most have no label.

    Rows without a label (-1, as in scikit-learn's semi-supervised module) keep the decision
    boundary away from them: each costs max(0, 1 − |f|), weighed by ``gamma``. The objective has
    many local minima. The run starts at the support vector machine of the rows with a label; of
    several starts the best is kept.

    Parameters
    ----------
    gamma : float, default=1.0
        Weight of the mean loss of the rows without a label, beside that of the others.
    n_starts : int, default=1
        Runs from different starts.
    balance_mean : float, default=None
        Where the mean decision value over the rows without a label is to lie; for two classes.
    C : float, default=None
        Strength of the data term: λ = 1/(C Σ sample_weight), summed over the rows with a label.
        1 if neither ``C`` nor ``lam`` is given.

    Attributes
    ----------
    transduction_ : ndarray of shape (n_samples,)
        The labels of the training rows; where there was none, the one that is predicted.

    Notes
    -----
    Classes must not be called -1. Labels of -1 and +1 are refused: recode them, for instance with
    ``np.where(y == -1, 0, y)``, before labels are taken away. In an array of strings, ``"-1"``
    means no label. More than two classes are trained together. Where every row has a label this is
    the support vector machine, with its global certificate.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_blobs
    >>> from minorant import TransductiveSVC
    >>> X, y = make_blobs(200, centers=[[-3, 0], [3, 0]], random_state=0)
    >>> labels = np.full(200, -1)
    >>> labels[:6] = y[:6]
    >>> model = TransductiveSVC().fit(X, labels)
    >>> bool((model.transduction_ == y).mean() > 0.95)
    True
    """

    transduction_: NDArray[Any]

    _model_name = "tsvm"

    def __init__(
        self,
        *,
        gamma: float = 1.0,
        n_starts: int = 1,
        balance_mean: float | None = None,
        class_weight: Mapping[Any, float] | Literal["balanced"] | None = None,
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        warm_start: bool = False,
        C: float | None = None,
        lam: float | None = None,
        n_jobs: int | None = None,
        tol: float = 1e-3,
        method: str = "auto",
        max_evals: int | None = None,
        max_seconds: float | None = None,
        random_state: int | RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.gamma = gamma
        self.n_starts = n_starts
        self.balance_mean = balance_mean
        self._keep(locals())

    @with_callbacks
    def fit(self, X: MatrixLike, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Trains.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The examples.
        y : array-like of shape (n_samples,)
            Their labels; -1 where there is none.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the examples; an integer weight equals that many copies of the example.

        Returns
        -------
        self : TransductiveSVC
            The fitted estimator.
        """
        X, y = validate_data(self, X, y, **LAYOUT)
        labelled = has_label(y)
        classes, names, rows = labelled_classes(y, labelled)
        model, unlabelled = None, [0.0]
        if labelled.all():
            # The same objective, and the library's transduction insists on rows to transduce.
            model, unlabelled, names, rows = "svm", [], labels(classes), rows - np.uint32(1)
        if sample_weight is not None:
            sample_weight = _check_sample_weight(sample_weight, X, dtype=np.float64)
        of_labelled = None if sample_weight is None else sample_weight[labelled]
        weights = class_weights(self.class_weight, classes, names, y[labelled], of_labelled)
        options = {**self._options(X, sample_weight, model), "class_weight": weights or None}
        examples = Examples(hand_over(X), classes=[*unlabelled, *names], labels=rows)
        self._train_rows(X, y, sample_weight, examples, classes, options, model)
        self.transduction_ = np.where(labelled, y, self.predict(X)).astype(classes.dtype)
        return self

    @classmethod
    def _classes_of(cls, header):
        return classes_of_texts(header["classes"])
