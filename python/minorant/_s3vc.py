"""Semi-supervised support vector classification with kernels."""

from typing import Literal

from ._kernel import KernelEstimator
from ._rows import SemiSupervisedMixin


class S3VC(SemiSupervisedMixin, KernelEstimator):
    """Semi-supervised support vector classification with kernels, beyond local minima.

    Minimises ½ ‖w‖² + C1 Σ hinge over the labelled rows + C2 Σ hinge over the others under the
    labels that fit them best and keep the balance. A search over labelings by parametric dual
    maximisation finds minima that local methods miss. Rows without a label have -1.

    Parameters
    ----------
    balance : {'auto', 'none'}, int or tuple of two int, default='auto'
        How many of the unlabelled rows get the second class: the labelled share give or take 5 %
        of them, any number, just so many, or from so many to so many. Numbers go with two classes.
    method : str, default='auto'
        'pdm' (which 'auto' is), 'gd', 'cccp', 'ao', 'lcs', 'ia', 'da', or 'bb', which proves its
        answer the best by a lower bound.

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

    C1: float = 100.0
    C2: float | None = None
    balance: Literal["auto", "none"] | int | tuple[int, int] = "auto"
    mode: Literal["search", "strict"] = "search"
    degree: float = 0.1

    _model_name = "s3vm"
    _several_classes = True

    def _options(self, model=None):
        balance = self.balance
        if isinstance(balance, tuple | list):
            balance = ":".join(str(end) for end in balance)
        elif not isinstance(balance, str):
            balance = f"count={balance}"
        return {**super()._options(model), "balance": balance}

    @classmethod
    def _parameters_of(cls, header, arrays):
        found = super()._parameters_of(header, arrays)
        kind, _, ends = found.pop("balance", "none").rpartition("=")
        if kind == "count":
            return {**found, "balance": int(ends)}
        interval = tuple(int(end) for end in ends.split(":")) if ":" in ends else ends
        return {**found, "balance": interval}
