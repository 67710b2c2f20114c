"""Pictures of runs; matplotlib is imported when the first one is drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ._path import Path


def plot_convergence(
    *runs: Any,
    ax: Axes | None = None,
    x: Literal["evaluations", "seconds", "iteration"] = "evaluations",
    labels: list[str] | None = None,
) -> Axes:
    """Draws how the gap between objective and lower bound closed.

    Without a bound, the objective itself is drawn.

    Parameters
    ----------
    *runs : MinimizeResult, fitted estimator or Trace
        What to draw.
    ax : matplotlib.axes.Axes, default=None
        Where to draw; a new figure if not given.
    x : {'evaluations', 'seconds', 'iteration'}, default='evaluations'
        The horizontal axis.
    labels : list of str, default=None
        Names for the legend.

    Returns
    -------
    ax : matplotlib.axes.Axes
        The axes with the curves.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> from sklearn.datasets import load_iris
    >>> import minorant
    >>> model = minorant.LinearSVC().fit(*load_iris(return_X_y=True))
    >>> minorant.plot_convergence(model).get_xlabel()
    'evaluations'
    """
    if not runs:
        raise ValueError("there is nothing to plot: give a result or a fitted estimator")
    ax = _axes(ax)
    labels = [_name(run) for run in runs] if labels is None else labels
    if len(labels) != len(runs):
        raise ValueError(f"expected {len(runs)} labels, got {len(labels)}")
    traces = [_trace(run) for run in runs]
    # Gaps of local models prove nothing, and are not drawn as if they did.
    has_gaps = all(np.isfinite(trace["lower_bound"].astype(float)).any() for trace in traces)
    for trace, label in zip(traces, labels, strict=True):
        best = trace["best_objective"].astype(float)
        curve = trace["gap"].astype(float) / np.abs(best) if has_gaps else best
        drawn = np.isfinite(curve) & (curve > 0 if has_gaps else True)
        ax.plot(trace[x][drawn], curve[drawn], label=label, drawstyle="steps-post")
    if has_gaps:
        ax.set_yscale("log")
    ax.set_xlabel(x)
    ax.set_ylabel("relative gap" if has_gaps else "objective")
    ax.legend()
    return ax


def plot_path(path: Path[Any], *, ax: Axes | None = None) -> Axes:
    """Draws the errors of a path over λ.

    Parameters
    ----------
    path : Path
        What :func:`minorant.path` returned.
    ax : matplotlib.axes.Axes, default=None
        Where to draw; a new figure if not given.

    Returns
    -------
    ax : matplotlib.axes.Axes
        The axes with the curves.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> from sklearn.datasets import load_iris
    >>> import minorant
    >>> path = minorant.LinearSVC().path(*load_iris(return_X_y=True), [1.0, 0.1, 0.01])
    >>> minorant.plot_path(path).get_xlabel()
    'lambda'
    """
    ax = _axes(ax)
    ax.plot(path.lams, path.train_errors, marker=".", label="training data")
    if path.validation_errors is not None:
        ax.plot(path.lams, path.validation_errors, marker=".", label="validation data")
    ax.set_xscale("log")
    ax.set_xlabel("lambda")
    ax.set_ylabel("error")
    ax.legend()
    return ax


def _axes(ax):
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ImportError("pictures need matplotlib: pip install minorant[plot]") from None
    return plt.subplots()[1] if ax is None else ax


def _trace(run):
    for name in ("trace_", "trace"):
        if hasattr(run, name):
            run = getattr(run, name)
            break
    if "best_objective" not in run or run.rows == 0:
        raise ValueError("this run has no trace to plot")
    return run


def _name(run):
    return getattr(run, "method_", None) or type(run).__name__
