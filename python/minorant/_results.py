"""What a run leaves behind besides weights: its certificate and its trace."""

from __future__ import annotations

import html
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np


class Certificate(NamedTuple):
    """How close an answer provably is to the best one.

    Attributes
    ----------
    objective : float
        The objective at the weights returned.
    lower_bound : float or None
        A number that no weights can go below, if one is proven.
    tol : float
        The relative gap that was asked for.
    local_gap : float or None
        The gap of the last local model, where the risk is not convex. It says that the weights are
        nearly stationary and proves nothing about other weights: there is no bound then.

    Examples
    --------
    >>> from minorant import Certificate
    >>> certificate = Certificate(objective=2.0, lower_bound=1.5, tol=0.1)
    >>> certificate.gap, certificate.relative_gap, certificate.certified
    (0.5, 0.25, False)
    """

    objective: float
    lower_bound: float | None
    tol: float
    local_gap: float | None = None

    @property
    def gap(self) -> float | None:
        """Objective less lower bound; None without a bound."""
        if self.lower_bound is None:
            return None
        return 0.0 if self.objective <= self.lower_bound else self.objective - self.lower_bound

    @property
    def relative_gap(self) -> float | None:
        """The gap relative to the objective's magnitude; None without a bound."""
        gap = self.gap
        if gap is None or gap == 0.0:
            return gap
        return gap / abs(self.objective) if self.objective else float("inf")

    @property
    def certified(self) -> bool:
        """Whether the bound proves a relative gap of at most ``tol``."""
        relative = self.relative_gap
        return relative is not None and relative <= self.tol

    def _repr_html_(self) -> str:
        return html_table({"objective": number(self.objective), **self._proven()})

    def _proven(self) -> dict[str, str]:
        """What is known about the objective, for people."""
        if self.lower_bound is None and self.local_gap is not None:
            return {"local gap": number(self.local_gap), "certified": "no: the risk is not convex"}
        return {
            "lower bound": number(self.lower_bound),
            "relative gap": number(self.relative_gap),
            "certified": "yes" if self.certified else "no",
        }


class Trace(Mapping[str, Any]):
    """One row for each iteration, column by column.

    A mapping from names to arrays: ``iteration``, ``evaluations``, ``seconds``, ``objective``,
    ``best_objective``, ``lower_bound``, ``gap``, ``step``, ``step_length``, ``locality``, ``accuracy``,
    ``planes`` and ``master_seconds``. What is not known is NaN. ``pandas.DataFrame(trace)`` makes a
    frame of it.

    Examples
    --------
    >>> from minorant import Trace
    >>> trace = Trace({"iteration": [0, 1], "objective": [1.0, 0.5]})
    >>> trace["objective"].tolist(), trace.rows
    ([1.0, 0.5], 2)
    """

    def __init__(self, columns: Mapping[str, Any] | None = None) -> None:
        self._columns = {name: _column(values) for name, values in (columns or {}).items()}

    def __getitem__(self, name: str) -> Any:
        return self._columns[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    @property
    def rows(self) -> int:
        """Number of iterations, the start point included."""
        return min((len(column) for column in self._columns.values()), default=0)

    def __repr__(self) -> str:
        return f"Trace({self.rows} rows: {', '.join(self)})"

    def _repr_html_(self) -> str:
        shown = ["iteration", "evaluations", "best_objective", "lower_bound", "gap", "step"]
        shown = [name for name in shown if name in self]
        head = "".join(f"<th>{html.escape(name)}</th>" for name in shown)
        rows = list(range(self.rows))
        body = []
        for at in rows if len(rows) <= 12 else [*rows[:6], None, *rows[-6:]]:
            cells = ["…"] * len(shown) if at is None else [_cell(self[name][at]) for name in shown]
            body.append("<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>")
        return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table>"


def _column(values: Any) -> Any:
    if any(value is None for value in values):
        return np.array([np.nan if value is None else value for value in values], dtype=float)
    return np.asarray(values)


def _cell(value: Any) -> str:
    return number(float(value)) if isinstance(value, np.floating) else html.escape(str(value))


def number(value: float | None) -> str:
    """A number for people."""
    return "unknown" if value is None or value != value else f"{value:.6g}"


def html_table(facts: Mapping[str, str]) -> str:
    """Names and values as an HTML table."""
    rows = (
        f"<tr><th style='text-align:left'>{html.escape(name)}</th><td>{html.escape(value)}</td></tr>"
        for name, value in facts.items()
    )
    return f"<table><tbody>{''.join(rows)}</tbody></table>"
