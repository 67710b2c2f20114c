"""Minimising a user's own function."""

import itertools
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import OptimizeResult

from . import _core
from ._docstrings import complete, parameters_of
from ._parameters import not_negative, table
from ._results import Trace, html_table, number

_MESSAGES = {
    "converged": "The method's own stop rule held.",
    "max-evals": "The evaluations ran out.",
    "max-seconds": "The time ran out.",
    "interrupted": "The callback stopped the run.",
    "stalled": "Rounding allows no more progress.",
    "unbounded": "The objective falls for ever.",
}


class MinimizeResult(OptimizeResult):
    """What :func:`minimize` found; a dictionary whose entries are attributes too.

    Attributes
    ----------
    x : ndarray
        The best point.
    fun : float
        The whole objective there.
    lower_bound : float or None
        A number that the objective cannot go below; None unless ``convex=True``.
    gap : float or None
        ``fun`` less ``lower_bound``.
    local_gap : float or None
        The gap of the last local model, where ``fun`` is not said to be convex. It proves nothing
        about other points.
    nfev, nit : int
        Evaluations and iterations.
    status : str
        'converged', 'max-evals', 'max-seconds', 'interrupted', 'stalled', 'unbounded' or
        'failed'.
    success : bool
        Whether the status is 'converged'.
    message : str
        The status in words.
    trace : Trace
        One row for each iteration.
    """

    x: NDArray[np.float64]
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

    def _repr_html_(self):
        return html_table(
            {
                "status": self.status,
                "fun": number(self.fun),
                "lower bound": number(self.lower_bound),
                "gap": number(self.gap),
                "local gap": number(self.local_gap),
                "evaluations": str(self.nfev),
                "iterations": str(self.nit),
                "message": self.message,
            }
        )


class EvaluationError(ValueError):
    """The function gave no finite value and subgradient of the right shape.

    Attributes
    ----------
    best : MinimizeResult or None
        The best point before that, if there is one; ``result`` is the same.
    """

    best: MinimizeResult | None = None

    @property
    def result(self) -> MinimizeResult | None:
        """The best point before the failure, if there is one."""
        return self.best


def minimize(
    fun: Callable[[NDArray[np.float64]], tuple[float, ArrayLike]],
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
    argsup: Callable[[NDArray[np.float64], NDArray[np.float64]], ArrayLike] | None = None,
    locality: str = "path",
    direction_tol: float | None = None,
    direction_limit: int | None = None,
    curvature_floor: float | None = None,
    search: str = "auto",
    wolfe_decrease: float | None = None,
    wolfe_curvature: float | None = None,
    prox_distance: float | None = None,
    prox_iterations: float | None = None,
    stop_gradient: float | None = None,
    stop_change: float | None = None,
    stop_idle: int | None = None,
) -> MinimizeResult:
    """Minimises λ/2 ‖θ ∘ (w − center)‖² + fun(w).

    Parameters
    ----------
    fun : callable
        ``fun(w)`` returns the value and a subgradient of the risk at the array ``w``. It is called
        on the calling thread; its exceptions come through unchanged.
    x0 : array-like of shape (n,)
        Where to start.
    lam : float
        λ. With 0 there is no bound; 'nbm', 'lmbm' and the methods that walk do without a
        regularizer, and 'auto' takes one of them.
    method : str, default='auto'
        The method, one of :func:`minorant.methods`.
    center : array-like of shape (n,), default=None
        The regularizer's centre; zeros if not given.
    weights : array-like of shape (n,), default=None
        The regularizer's weights θ; ones if not given.
    max_evals : int, default=None
        Most evaluations of ``fun``.
    callback : callable, default=None
        Called after each iteration with a result that holds ``x`` and ``fun`` (the best so far)
        and the entries of the trace. The run stops if it returns something true or raises
        ``StopIteration``.
    convex : bool, default=False
        Whether ``fun`` is convex. Only then is the bound one, and reported.
    argsup : callable, default=None
        ``argsup(w, p)`` returns the subgradient of the risk at ``w`` that has the largest inner
        product with ``p``. With it 'subbfgs', 'sublbfgs' and 'subgd' can be used.

    Returns
    -------
    result : MinimizeResult
        ``x``, ``fun`` (the whole objective), ``lower_bound``, ``gap``, ``local_gap``, ``nfev``,
        ``nit``, ``status``, ``message`` and ``trace``.

    Raises
    ------
    EvaluationError
        If ``fun`` returns something of another shape, or numbers that are not finite. It says at
        which evaluation, and its ``best`` is the best point before that. A line search takes a
        value that is not finite for a step too long and tries shorter ones first.

    Examples
    --------
    >>> import numpy as np
    >>> import minorant
    >>> def risk(w):
    ...     return np.abs(w - 1).sum(), np.sign(w - 1)
    >>> result = minorant.minimize(risk, np.zeros(2), lam=0.5, convex=True, tol=1e-9)
    >>> result.x.round(6)
    array([1., 1.])
    >>> round(result.fun, 6), result.status
    (0.5, 'converged')
    """
    given = {name: kept for name, kept in locals().items() if name in table(None)}
    x0 = _vector("x0", x0)
    if x0.size == 0:
        raise ValueError("x0 must have at least one number")
    options = {
        "lam": not_negative("lam", lam),
        "method": method,
        "center": None if center is None else _vector("center", center),
        "weights": None if weights is None else _vector("weights", weights),
        "given": given,
    }
    calls = itertools.count(1)

    def evaluate(w):
        call = next(calls)
        answer = fun(w)
        try:
            return _checked(answer, x0.size)
        except EvaluationError as error:
            raise EvaluationError(f"at evaluation {call} {error}") from None

    def steepest(w, p):
        return np.ascontiguousarray(argsup(w, p), dtype=np.float64)

    oracle = None if argsup is None else steepest
    watch = None if callback is None else _watcher(callback)
    found, trouble, raised = _core.minimize(evaluate, oracle, x0, bool(convex), options, watch)
    result = None if found is None else _result(found, trouble)
    if raised is None and trouble is not None:
        raised = EvaluationError(trouble)
    if isinstance(raised, EvaluationError):
        raised.best = result
    if raised is not None:
        raise raised
    return result


minimize.__doc__ = complete([minimize.__doc__], parameters_of(minimize), table(None))


def _watcher(callback):
    def watch(record, x):
        try:
            return bool(callback(MinimizeResult(x=x, fun=record["best_objective"], **record)))
        except StopIteration:
            return True

    return watch


def _checked(answer, size):
    """Value and subgradient as the library takes them."""
    try:
        value, gradient = answer
    except (TypeError, ValueError):
        kind = type(answer).__name__
        raise EvaluationError(f"fun must return a value and a subgradient, not {kind}") from None
    try:
        value = float(value)
        gradient = np.ascontiguousarray(gradient, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise EvaluationError(f"fun must return numbers: {error}") from None
    if gradient.shape != (size,):
        raise EvaluationError(
            f"fun must return a subgradient of shape ({size},), not {gradient.shape}"
        )
    return value, gradient


def _result(found, trouble):
    del found["method"]
    found["success"] = found["status"] == "converged"
    found["message"] = trouble or _MESSAGES.get(found["status"], found["status"])
    found["trace"] = Trace(found["trace"])
    return MinimizeResult(found)


def _vector(name, values):
    values = np.ascontiguousarray(values, dtype=np.float64)
    if values.ndim != 1 or not np.isfinite(values).all():
        raise ValueError(f"{name} must be a vector of finite numbers")
    return values
