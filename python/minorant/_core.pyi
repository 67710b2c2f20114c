"""The compiled half of the package; use what ``minorant`` itself exports."""

from collections.abc import Callable, Sequence
from os import PathLike
from typing import Any, final

from numpy import float64, uint32, uint64
from numpy.typing import NDArray

from ._examples import Examples

_Callback = Callable[[dict[str, Any], NDArray[float64] | None], object]
_Path = str | PathLike[str]
#: The best point of a run, what went wrong, and what was raised.
_Solved = tuple[dict[str, Any] | None, str | None, BaseException | None]
#: Iterations and evaluations.
_Counts = tuple[int, int]

__all__ = [
    "CacheWriter",
    "Model",
    "OptionError",
    "Rows",
    "Tokens",
    "bytes_of",
    "holds_sequences",
    "methods",
    "minimize",
    "options",
    "path",
    "scores",
    "train",
    "train_structured",
    "version",
    "weights_of",
]

class OptionError(ValueError): ...

def methods() -> list[str]: ...
def version() -> str: ...
def options(model_name: str | None) -> dict[str, dict[str, str | None]]: ...
def train(
    model: str,
    examples: Examples,
    options: dict[str, Any],
    *,
    start: NDArray[float64] | None = None,
    small: bool = False,
    callback: _Callback | None = None,
) -> tuple[Model, _Counts, dict[str, list[Any]], BaseException | None]: ...
def path(
    model: str,
    examples: Examples,
    options: dict[str, Any],
    lams: Sequence[float],
    *,
    validation: Examples | None = None,
    fill: bool = True,
) -> tuple[
    list[tuple[Model, _Counts, float, float | None]],
    list[tuple[float, float, float | None]],
    bool,
]: ...
def scores(features: Any, weights: NDArray[float64], threads: int) -> NDArray[float64]: ...
def minimize(
    function: Callable[[NDArray[float64]], tuple[float, NDArray[float64]]],
    argsup: Callable[[NDArray[float64], NDArray[float64]], NDArray[float64]] | None,
    x0: NDArray[float64],
    convex: bool,
    options: dict[str, Any],
    callback: _Callback | None,
) -> _Solved: ...
def train_structured(
    oracle: Any,
    dim: int,
    truths: list[tuple[NDArray[Any], NDArray[float64]]],
    weights: list[float] | None,
    has_batches: bool,
    options: dict[str, Any],
    callback: _Callback | None,
) -> tuple[_Solved, bool]: ...
def bytes_of(text: str) -> int: ...
def holds_sequences(path: _Path) -> bool: ...
def weights_of(path: _Path) -> NDArray[float64] | None: ...
@final
class CacheWriter:
    def __new__(cls, path: _Path, names: list[str] | None = None) -> CacheWriter: ...
    def push(self, examples: Examples, weights: NDArray[float64] | None = None) -> None: ...
    def finish(self) -> None: ...

@final
class Rows:
    def __new__(cls, path: _Path, as_targets: bool, max_memory: int | None) -> Rows: ...
    def select(self, numbers: NDArray[uint64]) -> Rows: ...
    @property
    def facts(self) -> tuple[tuple[int, int], int, int]: ...
    @property
    def traffic(self) -> tuple[int, int] | None: ...
    def labels(self) -> tuple[Any, ...] | None: ...

@final
class Tokens:
    def __new__(
        cls,
        path: _Path,
        names: list[str] | None = None,
        width: int | None = None,
        min_count: int | None = None,
        max_memory: int | None = None,
    ) -> Tokens: ...
    @property
    def facts(self) -> tuple[tuple[int, int], int, int]: ...
    @property
    def traffic(self) -> tuple[int, int] | None: ...
    def starts(self) -> NDArray[uint64]: ...
    def names(self) -> list[str] | None: ...
    def labels(self) -> tuple[list[str], NDArray[uint32]] | None: ...

@final
class Model:
    @property
    def header(self) -> dict[str, Any]: ...
    @property
    def arrays(self) -> dict[str, NDArray[Any]]: ...
    def predict(self, examples: Examples, threads: int) -> NDArray[uint32]: ...
    def scores(
        self, examples: Examples, threads: int, *, marginals: bool = False
    ) -> NDArray[float64]: ...
    def at_start(self) -> Model: ...
    def noted(self, notes: str | None) -> Model: ...
    def save(self, path: _Path) -> bool: ...
    def to_bytes(self) -> bytes: ...
    @staticmethod
    def load(path: _Path) -> Model: ...
    @staticmethod
    def from_bytes(bytes: bytes) -> Model: ...
