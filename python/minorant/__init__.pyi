"""The types of what the package exports."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from os import PathLike
from typing import Any, Generic, Literal, NamedTuple, Protocol, Self, TypeVar

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
    local_gap: float | None = None
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

class LargeMarginHMM(BaseEstimator):
    classes_: NDArray[Any]
    certificate_: Certificate
    validation_error_: float | None
    trace_: Trace
    n_features_in_: int
    n_iter_: int
    n_evaluations_: int
    lam_: float
    method_: str
    status_: str
    def __init__(
        self,
        *,
        task: Literal["classify", "label"] = "classify",
        n_states: int = 3,
        n_mixtures: int = 1,
        topology: Literal["left-right", "ergodic"] = "left-right",
        group_weights: Mapping[str, float] | None = None,
        validation_fraction: float = 0.0,
        C: float | None = None,
        lam: float | None = None,
        n_jobs: int | None = None,
        tol: float = 1e-3,
        method: str = "auto",
        max_evals: int | None = None,
        max_seconds: float | None = None,
        random_state: int | RandomState | None = None,
        verbose: int = 0,
    ) -> None: ...
    def fit(
        self, X: Sequence[ArrayLike], y: Any, sample_weight: ArrayLike | None = None
    ) -> Self: ...
    def predict(self, X: Sequence[ArrayLike]) -> Any: ...
    def decision_function(self, X: Sequence[ArrayLike]) -> NDArray[float64]: ...
    def score(self, X: Sequence[ArrayLike], y: Any) -> float: ...
    def score_at_start(self, X: Sequence[ArrayLike], y: Any) -> float: ...
    def save(self, path: _Path) -> None: ...
    @classmethod
    def load(cls, path: _Path) -> Self: ...

class LinearSVC(_LinearEstimator):
    def __init__(
        self,
        *,
        loss: Literal["hinge", "squared_hinge"] = "hinge",
        multi_class: Literal["joint", "ovr"] = "joint",
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
    ) -> None: ...
    def path(
        self,
        X: _Matrix,
        y: Any,
        lams: ArrayLike | None = None,
        *,
        sample_weight: ArrayLike | None = None,
        validation: tuple[_Matrix, Any] | None = None,
        fill: bool = True,
    ) -> Path[Self]: ...

class LogisticRegression(_LinearEstimator):
    def __init__(
        self,
        *,
        penalty: Literal["l2", "l1"] = "l2",
        multi_class: Literal["joint", "ovr"] = "joint",
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
    ) -> None: ...
    def predict_proba(self, X: _Matrix) -> NDArray[float64]: ...
    def predict_log_proba(self, X: _Matrix) -> NDArray[float64]: ...
    def path(
        self,
        X: _Matrix,
        y: Any,
        lams: ArrayLike | None = None,
        *,
        sample_weight: ArrayLike | None = None,
        validation: tuple[_Matrix, Any] | None = None,
        fill: bool = True,
    ) -> Path[Self]: ...

class MultilabelSVC(_LinearEstimator):
    threshold_: float
    def __init__(
        self,
        *,
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
    ) -> None: ...

class RampSVC(_LinearEstimator):
    def __init__(
        self,
        *,
        ramp: float = -1.0,
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
    ) -> None: ...

class TransductiveSVC(_LinearEstimator):
    transduction_: NDArray[Any]
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
    ) -> None: ...

class _KernelEstimator(ClassifierMixin, BaseEstimator):
    classes_: NDArray[Any]
    support_: NDArray[Any]
    dual_coef_: NDArray[float64]
    intercept_: NDArray[float64]
    sigma_: float | None
    certificate_: Certificate
    trace_: Trace
    n_features_in_: int
    feature_names_in_: NDArray[Any]
    n_iter_: int
    n_evaluations_: int
    method_: str
    status_: str
    def fit(self, X: _Matrix, y: Any) -> Self: ...
    def decision_function(self, X: _Matrix) -> NDArray[float64]: ...
    def predict(self, X: _Matrix) -> NDArray[Any]: ...
    def save(self, path: _Path) -> None: ...
    @classmethod
    def load(cls, path: _Path) -> Self: ...

class S3VC(_KernelEstimator):
    transduction_: NDArray[Any]
    def __init__(
        self,
        *,
        C1: float = 100.0,
        C2: float | None = None,
        balance: Literal["auto", "none"] | int | tuple[int, int] = "auto",
        mode: Literal["search", "strict"] = "search",
        degree: float = 0.1,
        kernel: str | Callable[[Any, Any], NDArray[float64]] = "rbf",
        sigma: float | None = None,
        power: int = 3,
        offset: float = 1.0,
        n_jobs: int | None = None,
        tol: float = 1e-6,
        method: str = "auto",
        max_evals: int | None = None,
        max_seconds: float | None = None,
        random_state: int | RandomState | None = None,
        verbose: int = 0,
    ) -> None: ...

class LatentSVC(_KernelEstimator):
    def __init__(
        self,
        *,
        n_components: int = 2,
        C_pos: float = 1.0,
        C_neg: float = 1.0,
        kernel: str | Callable[[Any, Any], NDArray[float64]] = "rbf",
        sigma: float | None = None,
        power: int = 3,
        offset: float = 1.0,
        n_jobs: int | None = None,
        tol: float = 1e-6,
        method: str = "auto",
        max_evals: int | None = None,
        max_seconds: float | None = None,
        random_state: int | RandomState | None = None,
        verbose: int = 0,
    ) -> None: ...

class RobustSVC(_KernelEstimator):
    def __init__(
        self,
        *,
        C: float = 1.0,
        ramp: float = -1.0,
        kernel: str | Callable[[Any, Any], NDArray[float64]] = "rbf",
        sigma: float | None = None,
        power: int = 3,
        offset: float = 1.0,
        n_jobs: int | None = None,
        tol: float = 1e-6,
        method: str = "auto",
        max_evals: int | None = None,
        max_seconds: float | None = None,
        random_state: int | RandomState | None = None,
        verbose: int = 0,
    ) -> None: ...

class _ChainEstimator(BaseEstimator):
    classes_: NDArray[Any]
    coef_: Any  # an array, or a sparse one where only observed pairs have weights
    transitions_: NDArray[float64]
    intercept_: NDArray[float64]
    start_: NDArray[float64]
    end_: NDArray[float64]
    feature_names_: list[str] | None
    certificate_: Certificate
    trace_: Trace
    n_features_in_: int
    n_iter_: int
    n_evaluations_: int
    lam_: float
    method_: str
    status_: str
    def fit(
        self, X: Sequence[Any], y: Sequence[Any], sample_weight: ArrayLike | None = None
    ) -> Self: ...
    def predict(self, X: Sequence[Any]) -> list[NDArray[Any]]: ...
    def score(self, X: Sequence[Any], y: Sequence[Any]) -> float: ...
    def save(self, path: _Path) -> None: ...
    @classmethod
    def load(cls, path: _Path) -> Self: ...

class ChainSVM(_ChainEstimator):
    def __init__(
        self,
        *,
        label_loss: ArrayLike | None = None,
        pairs: Literal["all", "observed"] = "all",
        bias: float | None = None,
        boundary: bool = False,
        per: Literal["sequence", "token"] = "sequence",
        min_count: int | None = None,
        C: float | None = None,
        lam: float | None = None,
        n_jobs: int | None = None,
        tol: float = 1e-3,
        method: str = "auto",
        max_evals: int | None = None,
        max_seconds: float | None = None,
        random_state: int | RandomState | None = None,
        verbose: int = 0,
    ) -> None: ...

class ChainCRF(_ChainEstimator):
    def __init__(
        self,
        *,
        penalty: Literal["l2", "l1"] = "l2",
        pairs: Literal["all", "observed"] = "all",
        bias: float | None = None,
        boundary: bool = False,
        per: Literal["sequence", "token"] = "sequence",
        min_count: int | None = None,
        C: float | None = None,
        lam: float | None = None,
        n_jobs: int | None = None,
        tol: float = 1e-3,
        method: str = "auto",
        max_evals: int | None = None,
        max_seconds: float | None = None,
        random_state: int | RandomState | None = None,
        verbose: int = 0,
    ) -> None: ...
    def predict_marginals(self, X: Sequence[Any]) -> list[NDArray[float64]]: ...

class NeuroCRF(BaseEstimator):
    classes_: NDArray[Any]
    coefs_: list[NDArray[float64]]
    intercepts_: list[NDArray[float64]]
    transitions_: NDArray[float64]
    start_: NDArray[float64]
    end_: NDArray[float64]
    feature_names_: list[str] | None
    certificate_: Certificate
    trace_: Trace
    n_features_in_: int
    n_iter_: int
    n_evaluations_: int
    lam_: float
    method_: str
    status_: str
    def __init__(
        self,
        hidden: Sequence[int] = (300, 300),
        *,
        activation: Literal["sigmoid", "tanh", "relu"] = "sigmoid",
        pretrain: Literal["rbm", "none"] = "rbm",
        boundary: bool = False,
        per: Literal["sequence", "token"] = "sequence",
        min_count: int | None = None,
        C: float | None = None,
        lam: float | None = None,
        n_jobs: int | None = None,
        tol: float = 1e-3,
        method: str = "auto",
        max_evals: int | None = None,
        max_seconds: float | None = None,
        random_state: int | RandomState | None = None,
        verbose: int = 0,
    ) -> None: ...
    def fit(
        self, X: Sequence[Any], y: Sequence[Any], sample_weight: ArrayLike | None = None
    ) -> Self: ...
    def predict(self, X: Sequence[Any]) -> list[NDArray[Any]]: ...
    def predict_marginals(self, X: Sequence[Any]) -> list[NDArray[float64]]: ...
    def score(self, X: Sequence[Any], y: Sequence[Any]) -> float: ...
    def save(self, path: _Path) -> None: ...
    @classmethod
    def load(cls, path: _Path) -> Self: ...

class StructuredModel(Protocol):
    def joint_feature(self, x: Any, y: Any) -> Any: ...
    def loss(self, y_true: Any, y: Any) -> float: ...
    def loss_augmented_inference(self, x: Any, y_true: Any, w: NDArray[float64]) -> Any: ...
    def predict(self, x: Any, w: NDArray[float64]) -> Any: ...

class StructuredSVM(BaseEstimator):
    coef_: NDArray[float64]
    certificate_: Certificate
    trace_: Trace
    n_iter_: int
    n_evaluations_: int
    n_outputs_: int
    lam_: float
    method_: str
    status_: str
    def __init__(
        self,
        model: StructuredModel,
        *,
        C: float | None = None,
        lam: float | None = None,
        tol: float = 1e-3,
        method: str = "auto",
        max_evals: int | None = None,
        max_seconds: float | None = None,
        random_state: int | RandomState | None = None,
        verbose: int = 0,
    ) -> None: ...
    def fit(
        self, X: Sequence[Any], y: Sequence[Any], sample_weight: ArrayLike | None = None
    ) -> Self: ...
    def predict(self, X: Sequence[Any]) -> list[Any]: ...
    def score(self, X: Sequence[Any], y: Sequence[Any]) -> float: ...

class Between(NamedTuple):
    lo: float
    hi: float
    relative_gap: float | None

_Estimator = TypeVar("_Estimator")

class Path(Generic[_Estimator]):
    lams: NDArray[float64]
    estimators: list[_Estimator]
    between: list[Between]
    train_errors: NDArray[float64]
    validation_errors: NDArray[float64] | None
    n_evaluations: int
    is_whole: bool
    def __len__(self) -> int: ...
    @property
    def certificates(self) -> list[Certificate]: ...
    @property
    def best(self) -> _Estimator: ...
    def at(self, lam: float) -> _Estimator: ...
    def gap_at(self, lam: float) -> float | None: ...

class MinimizeResult(OptimizeResult):
    x: NDArray[float64]
    fun: float
    lower_bound: float | None
    gap: float | None
    local_gap: float | None
    nfev: int
    nit: int
    status: str
    success: bool
    message: str
    trace: Trace

class EvaluationError(ValueError):
    best: MinimizeResult | None
    @property
    def result(self) -> MinimizeResult | None: ...

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
def path(
    estimator: _Estimator,
    X: _Matrix,
    y: Any,
    lams: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    validation: tuple[_Matrix, Any] | None = None,
    fill: bool = True,
) -> Path[_Estimator]: ...
def load(path: _Path) -> Any: ...
def plot_path(path: Path[Any], *, ax: Axes | None = None) -> Axes: ...
def plot_convergence(
    *runs: Any,
    ax: Axes | None = None,
    x: Literal["evaluations", "seconds", "iteration"] = "evaluations",
    labels: list[str] | None = None,
) -> Axes: ...
