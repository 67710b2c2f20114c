"""Semi-supervised support vector classification with kernels."""

from numbers import Integral, Real

import numpy as np
from sklearn.utils.validation import validate_data

from ._estimator import estimator
from ._features import LAYOUT
from ._kernel import KernelEstimator
from ._parameters import positive
from ._transductive_svc import has_label, labelled_classes, names_beside_unlabelled


@estimator
class S3VC(KernelEstimator):
    """Semi-supervised support vector classification with kernels, beyond local minima.

    Minimises ½ ‖w‖² + C1 Σ hinge over the labelled rows + C2 Σ hinge over the others under the
    labels that fit them best and keep the balance. A search over labelings by parametric dual
    maximisation finds minima that local methods miss. Rows without a label have -1.

    Parameters
    ----------
    C1 : float, default=100.0
        What the loss of a labelled row counts.
    C2 : float, default=None
        What the loss of an unlabelled row counts; 1 (for more than 1000 such rows, 1000 by their
        number) if not given.
    balance : {'auto', 'none'}, int or tuple of two int, default='auto'
        How many of the unlabelled rows get the second class: the labelled share give or take 5 %
        of them, any number, just so many, or from so many to so many. Numbers go with two classes.
    mode : {'search', 'strict'}, default='search'
        'pdm': whether every candidate is polished, or Algorithm 1 is run as printed.
    degree : float, default=0.1
        'pdm': candidates of a round, as a fraction of the unlabelled rows.
    method : str, default='auto'
        'pdm' (which 'auto' is), 'gd', 'cccp', 'ao', 'lcs', 'ia', 'da', or 'bb', which proves its
        answer the best.

    Attributes
    ----------
    transduction_ : ndarray of shape (n_samples,)
        The labels of the training rows; where there was none, the one that is predicted.
    certificate_ : Certificate
        ``objective`` and ``local_gap``; a ``lower_bound`` where the method is 'bb'.

    Notes
    -----
    Classes must not be called -1. Labels of -1 and +1 are refused: recode them, for instance with
    ``np.where(y == -1, 0, y)``, before labels are taken away. More than two classes are trained
    one against the rest.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_moons
    >>> from minorant import S3VC
    >>> X, y = make_moons(80, noise=0.05, random_state=0)
    >>> labels = np.full(80, -1)
    >>> for c in (0, 1):
    ...     labels[np.flatnonzero(y == c)[0]] = c
    >>> model = S3VC(sigma=0.35, balance=39).fit(X, labels)
    >>> bool((model.transduction_ == y).all())
    True
    """

    _model_name = "s3vm"

    def __init__(self, *, C1=100.0, C2=None, balance="auto", mode="search", degree=0.1): ...

    def fit(self, X, y):
        """Trains.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The examples; with a precomputed kernel, their kernel matrix.
        y : array-like of shape (n_samples,)
            Their labels; -1 where there is none.

        Returns
        -------
        self : S3VC
            The fitted estimator.
        """
        if self.mode not in ("search", "strict"):
            raise ValueError(f"mode must be 'search' or 'strict', got {self.mode!r}")
        X, y = validate_data(self, X, y, **LAYOUT)
        labelled = has_label(y)
        classes, numbers = labelled_classes(y, labelled)
        rows = np.zeros(len(y), dtype=np.uint32)
        rows[labelled] = numbers + 1
        names = [0.0, *names_beside_unlabelled(classes)]
        self._train(X, classes, names, rows, **self._options())
        self.transduction_ = np.where(labelled, y, self.predict(X)).astype(classes.dtype)
        return self

    def _options(self):
        if positive("C1", self.C1) is None:
            raise ValueError("C1 must be a positive number, got None")
        if not isinstance(self.degree, Real) or not 0 < self.degree <= 1:
            raise ValueError(f"degree must be a number above 0 and up to 1, got {self.degree!r}")
        return {
            "c1": float(self.C1),
            "c2": positive("C2", self.C2),
            "balance": _interval(self.balance),
            "is_balanced": not (isinstance(self.balance, str) and self.balance == "none"),
            "mode": self.mode,
            "degree": float(self.degree),
        }

    @classmethod
    def _parameters_of(cls, model):
        losses, balance = dict(model.losses), model.balance or "none"
        if "=" in balance:
            balance = int(balance.split("=")[1])
        elif ":" in balance:
            balance = tuple(int(end) for end in balance.split(":"))
        own = {"C1": losses["c1"], "C2": losses["c2"], "balance": balance}
        return {**super()._parameters_of(model), **own}


def _interval(balance):
    """The least and the greatest number of rows, or None where nothing is said."""
    if isinstance(balance, str) and balance in ("auto", "none"):
        return None
    ends = balance if isinstance(balance, tuple | list) else (balance, balance)
    whole = all(isinstance(end, Integral) and not isinstance(end, bool) for end in ends)
    if len(ends) != 2 or not whole or not 0 <= ends[0] <= ends[1]:
        raise ValueError(
            f"balance must be 'auto', 'none', a number of rows or two of them, got {balance!r}"
        )
    return int(ends[0]), int(ends[1])
