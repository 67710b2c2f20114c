"""The types of what the package exports."""

from collections.abc import Callable, Iterator, Mapping
from os import PathLike
from typing import Any, Literal, NamedTuple, Self

from matplotlib.axes import Axes
from numpy import float64
from numpy.random import RandomState
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import OptimizeResult
from sklearn.base import BaseEstimator, ClassifierMixin

from . import _core as _core
from ._core import methods as methods

__version__: str
__all__: list[str]

_Matrix = Any  # an array, a frame or a SciPy sparse matrix
_Path = str | PathLike[str]

class Certificate(NamedTuple):
    objective: float
    lower_bound: float | None
    tol: float
    @property
    def gap(self) -> float | None: ...
    @property
    def relative_gap(self) -> float | None: ...
    @property
    def certified(self) -> bool: ...

class Trace(Mapping[str, NDArray[Any]]):
    def __init__(self, columns: Mapping[str, Any] | None = None) -> None: ...
    def __getitem__(self, name: str) -> NDArray[Any]: ...
    def __iter__(self) -> Iterator[str]: ...
    def __len__(self) -> int: ...
    @property
    def rows(self) -> int: ...

class _LinearEstimator(ClassifierMixin, BaseEstimator):
    coef_: NDArray[float64]
    intercept_: NDArray[float64]
    classes_: NDArray[Any]
    certificate_: Certificate
    trace_: Trace
    n_features_in_: int
    feature_names_in_: NDArray[Any]
    n_iter_: int
    n_evaluations_: int
    lam_: float
    method_: str
    status_: str
    def fit(self, X: _Matrix, y: Any, sample_weight: ArrayLike | None = None) -> Self: ...
    def decision_function(self, X: _Matrix) -> NDArray[float64]: ...
    def predict(self, X: _Matrix) -> NDArray[Any]: ...
    def save(self, path: _Path) -> None: ...
    @classmethod
    def load(cls, path: _Path) -> Self: ...
    def set_callbacks(self, *callbacks: Any) -> Self: ...

class LinearSVC(_LinearEstimator):
    def __init__(
        self,
        *,
        loss: Literal["hinge", "squared_hinge"] = "hinge",
        multi_class: Literal["joint", "ovr"] = "joint",
        C: float | None = None,
        lam: float | None = None,
        tol: float = 1e-3,
        method: str = "auto",
        max_evals: int | None = None,
        max_seconds: float | None = None,
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        class_weight: Mapping[Any, float] | Literal["balanced"] | None = None,
        warm_start: bool = False,
        random_state: int | RandomState | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None: ...

class LogisticRegression(_LinearEstimator):
    def __init__(
        self,
        *,
        penalty: Literal["l2", "l1"] = "l2",
        multi_class: Literal["joint", "ovr"] = "joint",
        C: float | None = None,
        lam: float | None = None,
        tol: float = 1e-3,
        method: str = "auto",
        max_evals: int | None = None,
        max_seconds: float | None = None,
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        class_weight: Mapping[Any, float] | Literal["balanced"] | None = None,
        warm_start: bool = False,
        random_state: int | RandomState | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None: ...
    def predict_proba(self, X: _Matrix) -> NDArray[float64]: ...
    def predict_log_proba(self, X: _Matrix) -> NDArray[float64]: ...

class MultilabelSVC(_LinearEstimator):
    threshold_: float
    def __init__(
        self,
        *,
        C: float | None = None,
        lam: float | None = None,
        tol: float = 1e-3,
        method: str = "auto",
        max_evals: int | None = None,
        max_seconds: float | None = None,
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        warm_start: bool = False,
        random_state: int | RandomState | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None: ...

class MinimizeResult(OptimizeResult):
    x: NDArray[float64]
    fun: float
    lower_bound: float | None
    gap: float | None
    nfev: int
    nit: int
    status: str
    success: bool
    message: str
    trace: Trace

class EvaluationError(ValueError):
    result: MinimizeResult | None

def minimize(
    fun: Callable[[NDArray[float64]], tuple[float, ArrayLike]],
    x0: ArrayLike,
    lam: float,
    *,
    method: str = "auto",
    center: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    tol: float = 1e-3,
    max_evals: int | None = None,
    max_seconds: float | None = None,
    callback: Callable[[MinimizeResult], object] | None = None,
    convex: bool = False,
    memory: int | None = None,
) -> MinimizeResult: ...
def load(path: _Path) -> LinearSVC | LogisticRegression | MultilabelSVC: ...
def plot_convergence(
    *runs: Any,
    ax: Axes | None = None,
    x: Literal["evaluations", "seconds", "iteration"] = "evaluations",
    labels: list[str] | None = None,
) -> Axes: ...
