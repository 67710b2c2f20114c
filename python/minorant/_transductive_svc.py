"""Semi-supervised support vector classification."""

import numpy as np

from ._labels import has_label, labels
from ._linear import LinearClassifier
from ._rows import SemiSupervisedMixin


class TransductiveSVC(SemiSupervisedMixin, LinearClassifier):
    """Linear support vector classification of rows of which most have no label.

    Rows without a label (-1, as in scikit-learn's semi-supervised module) keep the decision
    boundary away from them: each costs max(0, 1 − |f|), weighed by ``gamma``. The objective has
    many local minima. The run starts at the support vector machine of the rows with a label; of
    several starts the best is kept.

    Parameters
    ----------
    C : float, default=None
        Strength of the data term: λ = 1/(C Σ sample_weight), summed over the rows with a label.
        1 if neither ``C`` nor ``lam`` is given.

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

    gamma: float = 1.0
    n_starts: int = 1
    balance_mean: float | None = None

    _model_name = "tsvm"
    _has_texts = True

    def _labelled(self, y):
        return has_label(y)

    def _model_for(self, y):
        # The same objective, and the library's transduction insists on rows to transduce.
        return "svm" if has_label(y).all() else self._model_name

    def _numbered(self, y):
        classes, names, rows = super()._numbered(y)
        return (
            (classes, labels(classes), rows - np.uint32(1))
            if rows.all()
            else (classes, names, rows)
        )
