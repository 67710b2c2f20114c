"""Semi-supervised support vector classification."""

from numbers import Integral, Real

import numpy as np
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, validate_data

from ._callbacks import with_callbacks
from ._estimator import estimator
from ._features import LAYOUT
from ._labels import class_numbers, class_weights, classes_of_texts, labels
from ._linear import NonConvexClassifier
from ._parameters import positive


@estimator
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

    _model_name = "tsvm"

    def __init__(self, *, gamma=1.0, n_starts=1, balance_mean=None): ...

    @with_callbacks
    def fit(self, X, y, sample_weight=None):
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
        if not isinstance(self.gamma, Real) or not 0 <= self.gamma < np.inf:
            raise ValueError(f"gamma must be a number of 0 or more, got {self.gamma!r}")
        if positive("n_starts", self.n_starts, Integral) is None:
            raise ValueError("n_starts must be a positive integer, got None")
        if self.balance_mean is not None and not isinstance(self.balance_mean, Real):
            raise ValueError(f"balance_mean must be a number or None, got {self.balance_mean!r}")
        X, y = validate_data(self, X, y, **LAYOUT)
        labelled = has_label(y)
        classes, numbers = labelled_classes(y, labelled)
        options = {
            "gamma": float(self.gamma),
            "starts": int(self.n_starts),
            "balance_mean": None if self.balance_mean is None else float(self.balance_mean),
        }
        rows = np.zeros(len(y), dtype=np.uint32)
        if labelled.all():
            # The same objective, and the library's transduction insists on rows to transduce.
            options["model"] = "svm"
            rows[:] = numbers
            names = labels(classes)
        else:
            rows[labelled] = numbers + 1
            names = names_beside_unlabelled(classes)
            options["labels"] = [0.0, *names]
            options.update(self._effort(X))
        if sample_weight is not None:
            sample_weight = _check_sample_weight(sample_weight, X, dtype=np.float64)
        of_labelled = None if sample_weight is None else sample_weight[labelled]
        pairs = class_weights(self.class_weight, classes, y[labelled], of_labelled)
        renamed = dict(zip(labels(classes), names, strict=True))
        options["class_weight"] = [(renamed[c], w) for c, w in pairs]
        self._train(X, y, sample_weight, classes, rows, **options)
        self.transduction_ = np.where(labelled, y, self.predict(X)).astype(classes.dtype)
        return self

    @classmethod
    def _classes_of(cls, model):
        return classes_of_texts(model.classes)

    @classmethod
    def _parameters_of(cls, model):
        shared = super()._parameters_of(model)
        return {**shared, "gamma": model.gamma, "balance_mean": model.balance_mean}


def has_label(y):
    """Where labels are not -1."""
    if y.dtype.kind in "biuf":
        return y != -1
    return np.array([str(value) != "-1" for value in y.tolist()], dtype=bool)


def labelled_classes(y, labelled):
    """The classes in order, and the class number of each row that has a label."""
    found = y[labelled]
    if found.dtype.kind == "O":
        kinds = {type(value) for value in found.tolist()}
        found = found.astype(str) if str in kinds else np.array(found.tolist())
    if not found.size:
        raise ValueError("expected some rows with a label, but all are -1, which means none")
    check_classification_targets(found)
    classes = np.unique(found)
    if len(classes) == 1 and not labelled.all() and y.dtype.kind in "biuf" and classes[0] == 1:
        raise ValueError(
            "-1 means that a row has no label, so that labels of -1 and 1 leave one class only: "
            "recode the classes first, for instance with np.where(y == -1, 0, y), and then mark "
            "rows without a label with -1"
        )
    return class_numbers(found)


def names_beside_unlabelled(classes):
    """The classes as the library knows them; 0 means unlabelled there, so numbers become texts."""
    names = labels(classes)
    if 0.0 not in names:
        return names
    return [str(c) for c in classes.tolist()]
