"""Linear support vector classification."""

from collections.abc import Mapping
from typing import Any, Literal

from numpy.random import RandomState
from numpy.typing import ArrayLike

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

    _model_name = "svm"

    def __init__(
        self,
        *,
        loss: Literal["hinge", "squared_hinge", "huber_hinge"] = "hinge",
        huber: float = 0.5,
        multi_class: Literal["joint", "ovr"] = "joint",
        class_weight: Mapping[Any, float] | Literal["balanced"] | None = None,
        fit_intercept: bool = True,
        intercept_scaling: float | None = 1.0,
        l1_ratio: float | None = None,
        positive: bool = False,
        bounds: ArrayLike | None = None,
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
        self.loss = loss
        self.huber = huber
        self.multi_class = multi_class
        self._keep(locals())

    def _checked(self, X, y, sample_weight):
        X, y, classes, examples, options = super()._checked(X, y, sample_weight)
        if self.loss in ("squared_hinge", "huber_hinge") and len(classes) > 2:
            # The library's own sentence speaks to users of the command.
            if self.multi_class == "joint":
                raise ValueError(
                    f"loss={self.loss!r} with more than two classes needs multi_class='ovr'"
                )
        return X, y, classes, examples, options

    @classmethod
    def _parameters_of(cls, header, arrays):
        found = super()._parameters_of(header, arrays)
        return {**found, "loss": found["loss"].replace("-", "_")}
