"""Caches: files with rows of features and their labels, which estimators read without loading more of them
than fits memory. The command ``minorant cache`` writes them from files of other formats.
"""

import sys
from collections.abc import Iterable, Sequence
from copy import copy
from os import PathLike, fspath
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import _check_sample_weight, check_array, column_or_1d

from . import _core
from ._examples import LAYOUT, Examples, FileName, hand_over
from ._labels import class_numbers, classes_of, label_sets, labels


class Cache:
    """The rows or sequences of a cache, as :func:`minorant.open` finds them; estimators take one wherever they
    take such.

    Attributes
    ----------
    path : str
        The file.
    shape : tuple of int
        Rows and columns; of sequences, tokens and attributes.
    dtype : dtype
        The type of the values in memory.
    size : int
        Stored entries.
    holds_sequences : bool
        Whether there are sequences of tokens, and not rows.
    """

    def __init__(self, path: FileName, max_memory: int | str | None = None):
        self.path = fspath(path)
        text = isinstance(max_memory, str)
        self.max_memory = _core.bytes_of(max_memory) if text else max_memory
        # Which rows of the file these are, if not all.
        self._numbers: NDArray[np.uint64] | None = None
        self._open: dict[bool, _core.Rows] = {}
        self.holds_sequences = _core.holds_sequences(self.path)
        self._opened_tokens: dict[Any, _core.Tokens] = {}
        rows = self._tokens() if self.holds_sequences else self._rows(as_targets=False)
        self.shape, self.size, width = rows.facts
        self.dtype = np.dtype(f"f{width}")

    def __repr__(self) -> str:
        rows, columns = self.shape
        if self.holds_sequences:
            return f"<Cache of {len(self)} sequences of {rows} tokens with {columns} attributes at {self.path!r}>"
        return f"<Cache of {rows} rows with {columns} columns at {self.path!r}>"

    def __len__(self) -> int:
        return len(self._tokens().starts()) - 1 if self.holds_sequences else self.shape[0]

    def _tokens(self, names=None, width=None, min_count=None, *, at_hand=False):
        """The tokens of sequences, with the attributes that a model knows or that are not too rare."""
        key = (None if names is None else tuple(names), width, min_count, at_hand)
        if key not in self._opened_tokens:
            # Of those opened for models, the last is kept.
            self._opened_tokens = {k: v for k, v in self._opened_tokens.items() if not any(k)}
            # No limit makes it all stay in memory.
            limit = sys.maxsize if at_hand else self.max_memory
            tokens = _core.Tokens(self.path, names, width, min_count, limit)
            self._opened_tokens[key] = tokens
        return self._opened_tokens[key]

    def tokens(self, **known):
        """The sequences as the compiled half takes them."""
        found = self._tokens(**known)
        classes, numbers = found.labels() or ((), None)
        return Examples(found, found.starts(), found.names(), classes, numbers)

    def _rows(self, as_targets=None):
        """The rows with their labels as classes or as targets; either where it does not matter."""
        if as_targets is None:
            as_targets = True in self._open and False not in self._open
        if as_targets not in self._open:
            self._open[as_targets] = _core.Rows(self.path, as_targets, self.max_memory)
        return self._open[as_targets]

    def _select(self, numbers):
        """Some of the rows, under their numbers, which ascend."""
        part = copy(self)
        numbers = np.asarray(numbers, dtype=np.uint64)
        part._open = {kind: rows.select(numbers) for kind, rows in self._open.items()}
        part._numbers = numbers
        part.shape, part.size, _ = part._rows().facts
        return part

    @property
    def weights(self) -> NDArray[np.float64] | None:
        """The weights of the rows, which estimators take where none are given; None where there are none."""
        found = _core.weights_of(self.path)
        return found if found is None or self._numbers is None else found[self._numbers]

    @property
    def traffic(self) -> tuple[int, int] | None:
        """Bytes that were read from disk so far, and those of rows that stay in memory; None where all
        rows are in memory."""
        if self.holds_sequences:
            return next(reversed(self._opened_tokens.values())).traffic
        return self._rows().traffic

    def labels(self, as_targets: bool = False) -> Any:
        """The labels of the rows.

        Parameters
        ----------
        as_targets : bool, default=False
            Whether they are numbers to be met, and not classes.

        Returns
        -------
        y : ndarray of shape (n_samples,), (n_samples, n_targets), sparse array (n_samples, n_classes), or list
            A label for each row; of sets of labels an indicator; for each sequence an array of the labels of
            its tokens.
        """
        if self.holds_sequences:
            tokens = self.tokens()
            if tokens.labels is None:
                raise ValueError(f"{self.path} has sequences without labels: give y")
            return tokens.split(np.array(tokens.classes)[tokens.labels])
        found = self._rows(as_targets).labels()
        if found is None:
            raise ValueError(f"{self.path} has rows without labels: give y")
        if as_targets:
            width, values = found
            return values if width == 1 else values.reshape(-1, width)
        names, *numbers = found
        if len(numbers) == 1:
            return classes_of(names)[numbers[0]]
        starts, items = numbers
        ones = np.ones(len(items), dtype=np.int8)
        return sparse.csr_array((ones, items, starts), shape=(self.shape[0], len(names)))


def is_stored(X: Any) -> bool:
    """Whether rows are in a file."""
    return isinstance(X, str | PathLike | Cache)


def opened(X: Any) -> Cache:
    """The cache that this is, or that a path names."""
    return X if isinstance(X, Cache) else Cache(X)


def checked(estimator, X, y=None, *, reset=True, as_targets=False):
    """What ``validate_data`` is for arrays: the cache, and the labels that were given or that it has."""
    cache = opened(X)
    if cache.holds_sequences:
        raise ValueError(f"expected rows of features, found a cache of sequences: {cache.path}")
    if reset:
        estimator.n_features_in_ = cache.shape[1]
        vars(estimator).pop("feature_names_in_", None)
    elif cache.shape[1] != estimator.n_features_in_:
        expected, name = estimator.n_features_in_, type(estimator).__name__
        raise ValueError(
            f"X has {cache.shape[1]} features, but {name} is expecting {expected} features as input"
        )
    if not reset:
        return cache, y
    if y is None:
        return cache, cache.labels(as_targets)
    if not sparse.issparse(y):
        y = np.asarray(y)
        y = column_or_1d(y) if y.ndim < 2 else y
    if y.shape[0] != cache.shape[0]:
        raise ValueError(f"expected {cache.shape[0]} labels for the rows, found {y.shape[0]}")
    return cache, y


def open(path: FileName, *, max_memory: int | str | None = None) -> Cache:
    """Opens a cache.

    Parameters
    ----------
    path : str or path-like
        A file that :func:`minorant.cache` or the command ``minorant cache`` wrote.
    max_memory : int or str, default=None
        Bytes that a run on the rows may use, such as ``"4G"``; half of the machine's memory if not
        given. Rows that do not fit stay on disk, and are read at every pass.

    Returns
    -------
    cache : Cache
        A handle that estimators take wherever they take rows.
    """
    return Cache(path, max_memory)


def cache(
    path: FileName, batches: Iterable[Any], *, feature_names: Sequence[str] | None = None
) -> Cache:
    """Writes rows to a cache, one batch after the other.

    Parameters
    ----------
    path : str or path-like
        The file to write. It appears whole or not at all.
    batches : iterable
        Of pairs ``(X, y)``, of ``(X, y, sample_weight)``, or of ``X`` alone where rows have no labels. ``X`` is an array, a SciPy
        sparse matrix, a frame of pandas or polars, or a table or batch of Arrow; all have the same
        columns. ``y`` are classes or targets, or an indicator of sets of labels.
    feature_names : sequence of str, default=None
        Names of the columns; those of the first frame if not given.

    Returns
    -------
    cache : Cache
        The rows, open.

    Examples
    --------
    >>> import tempfile, pathlib, minorant
    >>> import numpy as np
    >>> random = np.random.default_rng(0)
    >>> def batches():
    ...     for _ in range(3):
    ...         X = random.standard_normal((100, 5))
    ...         yield X, X[:, 0] > 0
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     rows = minorant.cache(pathlib.Path(folder) / "rows.mnt", batches())
    ...     model = minorant.LinearSVC().fit(rows)
    >>> rows.shape
    (300, 5)
    """
    writer = None
    for batch in batches:
        X, y, *weights = batch if isinstance(batch, tuple) else (batch, None)
        if len(weights) > 1:
            raise ValueError(f"expected (X, y) or (X, y, sample_weight), got {len(weights) + 2} things")
        X, names = _table(X)
        if writer is None:
            writer = _core.CacheWriter(path, list(feature_names or names or []))
        X = check_array(X, **LAYOUT)
        writer.push(_batch(X, y), *(_check_sample_weight(w, X, dtype=np.float64) for w in weights))
    if writer is None:
        raise ValueError("expected at least one batch of rows, found none")
    writer.finish()
    return Cache(path)


def _table(X):
    """Rows as arrays, and the names of their columns if they have some."""
    if hasattr(X, "column_names"):
        # Tables and batches of Arrow, column by column.
        columns = [np.asarray(column) for column in X.columns]
        return np.column_stack(columns), X.column_names
    names = getattr(X, "columns", None)
    return (X, None) if names is None else (X.to_numpy(), [str(name) for name in names])


def _batch(X, y):
    if y is None:
        return Examples(hand_over(X))
    if sparse.issparse(y) or np.ndim(y) == 2:
        _, names, numbers = label_sets(y)
    else:
        y = np.asarray(y)
        if y.dtype.kind in "biuf":
            # Numbers serve as targets and as classes.
            numbers, names = y.astype(np.float64), []
        else:
            classes, numbers = class_numbers(y, least=1)
            names = labels(classes)
    count = len(numbers[0]) - 1 if isinstance(numbers, tuple) else len(numbers)
    if count != X.shape[0]:
        raise ValueError(f"expected {X.shape[0]} labels for the rows of a batch, found {count}")
    return Examples(hand_over(X), classes=names, labels=numbers)
