"""Examples on their way to the compiled half: borrowed wherever the library reads them as they are.

Dense arrays and the values of sparse ones are never copied here. The library's column indices are
unsigned 32-bit numbers and its row starts 64-bit ones: 32-bit column indices and 64-bit row starts
are handed over as they lie in memory, the other widths are converted.
"""

from collections.abc import Sequence
from os import PathLike
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

#: An array, a frame or a SciPy sparse matrix; and the name of a file.
MatrixLike = Any
FileName = str | PathLike[str]

#: What ``validate_data`` is asked for: the storage that the library reads.
LAYOUT = {
    "accept_sparse": "csr",
    "accept_large_sparse": True,
    "dtype": [np.float64, np.float32],
    "order": "C",
}


class Examples(NamedTuple):
    """What the compiled half takes: rows, sequences of tokens or recordings.

    ``features`` has a row for each row, token or frame; sequence i has the rows
    ``starts[i]:starts[i + 1]``; ``names`` are those of the columns, where they have some; and
    ``labels`` are numbers of ``classes``, or where the numbers of each row start and the numbers.
    """

    features: Any
    starts: Any = None
    names: list[str] | None = None
    classes: Sequence[float | str] = ()
    labels: Any = None

    def split(self, values):
        """Values of tokens or frames, sequence by sequence."""
        return np.split(values, self.starts[1:-1].astype(np.intp))


def starts_of(lengths):
    """Where sequences of these lengths start, and where the last one ends."""
    return np.cumsum([0, *lengths], dtype=np.uint64)


def entries(X):
    """Number of stored entries."""
    return X.nnz if sparse.issparse(X) else X.size


def hand_over(X):
    """A validated matrix, or a cache, as the compiled half takes it."""
    if not sparse.issparse(X):
        return X._rows() if hasattr(X, "_rows") else X
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    starts = X.indptr
    starts = starts.view(np.uint64) if starts.dtype == np.int64 else starts.astype(np.uint64)
    columns = X.indices
    if columns.dtype == np.int32:
        # A negative index becomes one beyond the last column, and is refused as that.
        columns = columns.view(np.uint32)
    else:
        if columns.size and (columns.min() < 0 or columns.max() >= X.shape[1]):
            raise ValueError("the column indices of the sparse matrix lie outside of its shape")
        columns = columns.astype(np.uint32)
    return X.shape[1], starts, columns, X.data
