"""Linear support vector classification."""

from ._estimator import estimator
from ._linear import LinearClassifier
from ._path import PathMixin


@estimator
class LinearSVC(PathMixin, LinearClassifier):
    """Linear support vector classification with a certified optimality gap.

    Minimises λ/2 ‖w‖² plus the weighted mean of the losses, which is scikit-learn's objective
    divided by C times the sum of the sample weights.

    Parameters
    ----------
    loss : {'hinge', 'squared_hinge'}, default='hinge'
        The loss.
    multi_class : {'joint', 'ovr'}, default='joint'
        How more than two classes are trained: all together (Crammer and Singer's loss), or each
        against the rest. The squared hinge has only the latter.

    Notes
    -----
    What differs from :class:`sklearn.svm.LinearSVC`: the default loss is the hinge, not its
    square; several classes are trained jointly, not one against the rest; ``tol`` is a proven
    relative gap of the objective; ``max_evals`` and ``max_seconds`` stand in for ``max_iter``, and
    without them a run goes on until the gap is reached.

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

    def __init__(self, *, loss="hinge", multi_class="joint"): ...

    def _checked(self, X, y, sample_weight):
        X, y, classes, rows, options = super()._checked(X, y, sample_weight)
        if self.loss == "squared_hinge" and self.multi_class == "joint" and len(classes) > 2:
            raise ValueError(
                "loss='squared_hinge' with more than two classes needs multi_class='ovr'"
            )
        return X, y, classes, rows, options

    def _own_options(self):
        if self.loss not in ("hinge", "squared_hinge"):
            raise ValueError(f"loss must be 'hinge' or 'squared_hinge', got {self.loss!r}")
        if self.multi_class not in ("joint", "ovr"):
            raise ValueError(f"multi_class must be 'joint' or 'ovr', got {self.multi_class!r}")
        return {"loss": self.loss, "multiclass": self.multi_class}

    @classmethod
    def _parameters_of(cls, model):
        multi_class = "ovr" if model.task == "one-vs-rest" else "joint"
        return {**super()._parameters_of(model), "loss": model.loss, "multi_class": multi_class}
