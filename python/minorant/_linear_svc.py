"""Linear support vector classification."""

from typing import Literal

from ._linear import LinearClassifier
from ._path import PathMixin


class LinearSVC(PathMixin, LinearClassifier):
    """Linear support vector classification with a certified optimality gap.

    Minimises λ/2 ‖w‖² plus the weighted mean of the losses, which is scikit-learn's objective
    divided by C times the sum of the sample weights.

    Notes
    -----
    What differs from :class:`sklearn.svm.LinearSVC`: the default loss is the hinge, not its
    square; several classes are trained jointly, not one against the rest; ``tol`` is a proven
    relative gap of the objective; ``max_evals`` and ``max_seconds`` stand in for ``max_iter``, and
    without them a run ends after 10 000 passes.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from minorant import LinearSVC
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LinearSVC(C=10).fit(X, y)
    >>> model.predict(X[:3])
    array([0, 0, 0])
    >>> model.certificate_.relative_gap < 1e-10
    True
    """

    loss: Literal["hinge", "squared_hinge", "huber_hinge"] = "hinge"
    huber: float = 0.5
    multi_class: Literal["joint", "ovr"] = "joint"

    _model_name = "svm"
