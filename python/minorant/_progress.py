"""A progress bar: how much of the way from the first gap to the one asked for is done."""

import math
import sys
import time

_WIDTH = 30
_EVERY = 0.1


class ProgressBar:
    """Shows a run on a terminal or in a notebook; call it with the records of the run."""

    def __init__(self, title, tol):
        self._title = title
        self._tol = max(tol, 1e-16)
        self._first = None
        self._next = 0.0
        self._last = None
        self._show = _notebook_line() or _terminal_line()

    def __call__(self, record):
        self._last = record
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + _EVERY
            self._show(self._line(record), False)

    def close(self):
        """Leaves the last line standing."""
        if self._last is not None:
            self._show(self._line(self._last), True)

    def _line(self, record):
        relative = _relative_gap(record)
        done = self._done(relative)
        bar = "#" * round(done * _WIDTH)
        gap = "no bound yet" if relative is None else f"gap {relative:.2e}"
        return (
            f"{self._title} |{bar:-<{_WIDTH}}| {record['evaluations']} evaluations, "
            f"objective {record['best_objective']:.6g}, {gap}, {record['seconds']:.1f} s"
        )

    def _done(self, relative):
        if relative is None:
            return 0.0
        if relative <= self._tol:
            return 1.0
        if self._first is None:
            self._first = max(relative, 2 * self._tol)
        way = math.log(self._first / self._tol)
        return min(max(math.log(self._first / relative) / way, 0.0), 1.0)


def _relative_gap(record):
    gap, objective = record["gap"], abs(record["best_objective"])
    if gap is None:
        return None
    return gap / objective if objective else 0.0


def _terminal_line():
    lengths = [0]

    def show(line, is_last):
        padded = line.ljust(lengths[0])
        lengths[0] = len(line)
        sys.stderr.write("\r" + padded + ("\n" if is_last else ""))
        sys.stderr.flush()

    return show


def _notebook_line():
    """A line that is replaced in a notebook's output; None elsewhere."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if shell is None or not hasattr(shell, "kernel"):
        return None
    from IPython.display import display

    handle = display({"text/plain": ""}, raw=True, display_id=True)

    def show(line, is_last):
        handle.update({"text/plain": line}, raw=True)

    return show
