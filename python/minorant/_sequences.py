"""Sequences on their way to the compiled half: one matrix with a row for each token, and the places
where sequences start. Every estimator of sequences takes the same kinds of input.
"""

from collections.abc import Mapping
from numbers import Real

import numpy as np
from scipy import sparse

from ._cache import is_stored, opened
from ._examples import Examples, hand_over, starts_of

#: Labels are 16-bit numbers.
MOST_LABELS = 1 << 16


def tokens_of(X, names=None, width=None, min_count=None, at_hand=False):
    """The tokens of sequences as the compiled half takes them.

    ``X`` holds one entry for each sequence: an array or a sparse matrix with a row for each token,
    or a list with the attributes of each token. A token's attributes are a mapping or a collection
    of strings, as CRFsuite's Python packages take them. In a mapping, a number is the attribute's
    value, True and False are 1 and 0, a text is appended to the name, a collection of texts stands
    for several attributes, and a mapping inside for attributes with the name in front.

    Where ``names`` (or the ``width`` of arrays) are given, attributes that are not among them are
    left out; otherwise those that occur at least ``min_count`` times get a column each. Sequences of a
    cache come with their labels; ``at_hand`` are all of them in memory.
    """
    if is_stored(X):
        return opened(X).tokens(names=names, width=width, min_count=min_count, at_hand=at_hand)
    X = _as_list(X)
    if names is not None or (width is None and _has_attributes(X)):
        return _from_attributes(X, names, min_count)
    return _from_arrays(X, width)


def labels_of(y, starts):
    """The classes in order, and the class number of each token."""
    y = _as_list(y)
    check_lengths(y, np.diff(starts.astype(np.int64)))
    flat = [label for labels in y for label in labels]
    if not flat:
        raise ValueError("expected at least one token, got none")
    flat = np.asarray(flat)
    if flat.ndim != 1 or flat.dtype.kind not in "biufUO":
        raise ValueError("labels must be numbers or strings")
    if flat.dtype.kind == "f" and not np.isfinite(flat).all():
        raise ValueError("labels must be finite numbers or strings")
    classes, numbers = np.unique(flat, return_inverse=True)
    if len(classes) > MOST_LABELS:
        raise ValueError(f"expected at most {MOST_LABELS} labels, got {len(classes)}")
    return classes, numbers.astype(np.uint32)


def share_right(predicted, y):
    """The share of tokens whose predicted label is the true one."""
    y = _as_list(y)
    lengths = [len(labels) for labels in predicted]
    check_lengths(y, lengths)
    if not sum(lengths):
        raise ValueError("expected at least one token to score, got none")
    right = [np.asarray(p) == np.asarray(t) for p, t in zip(predicted, y, strict=True)]
    return float(np.concatenate(right).mean())


def check_lengths(y, lengths):
    """Refuses labels that are not one for each token or frame of each sequence."""
    if len(y) != len(lengths):
        raise ValueError(f"expected labels for {len(lengths)} sequences, got {len(y)}")
    for at, (labels, length) in enumerate(zip(y, lengths, strict=True)):
        if len(labels) != length:
            raise ValueError(f"expected {length} labels in sequence {at}, got {len(labels)}")


def _as_list(X):
    if isinstance(X, str | Mapping) or not hasattr(X, "__len__") or not hasattr(X, "__iter__"):
        raise ValueError(f"expected a list of sequences, got {type(X).__name__}")
    if sparse.issparse(X):
        raise ValueError("expected a list of sequences, got one matrix: put it into a list")
    return list(X)


def _has_attributes(X):
    """Whether tokens have attributes by name, as the first of them says."""
    for sequence in X:
        is_matrix = sparse.issparse(sequence) or isinstance(sequence, np.ndarray)
        if is_matrix or not hasattr(sequence, "__iter__"):
            return False
        for token in sequence:
            if isinstance(token, Mapping | str | set | frozenset):
                return True
            return isinstance(token, list | tuple) and any(isinstance(x, str) for x in token)
    return False


def _from_arrays(X, width):
    parts = []
    for at, sequence in enumerate(X):
        part = sequence.tocsr() if sparse.issparse(sequence) else np.asarray(sequence)
        if part.ndim == 1 and part.size == 0:
            continue
        if part.ndim != 2 or part.dtype.kind not in "biuf":
            raise ValueError(
                f"sequence {at} must be an array of numbers with a row for each token, or a list "
                "with the attributes of each token"
            )
        wanted = width if width is not None else (parts[0].shape[1] if parts else part.shape[1])
        if part.shape[1] != wanted:
            raise ValueError(f"sequence {at} has {part.shape[1]} features, expected {wanted}")
        parts.append(part)
    lengths = [s.shape[0] if hasattr(s, "shape") else len(s) for s in X]
    if not parts:
        features = np.zeros((0, width or 0))
    elif any(sparse.issparse(part) for part in parts):
        features = sparse.csr_array(sparse.vstack(parts, format="csr"))
    else:
        features = np.concatenate(parts)
    kind = features.dtype if features.dtype in (np.float32, np.float64) else np.float64
    features = features.astype(kind, copy=False)
    _check_finite(features.data if sparse.issparse(features) else features)
    return Examples(hand_over(features), starts_of(lengths))


def _check_finite(values):
    if not np.isfinite(values).all():
        raise ValueError("Input X contains NaN or infinity.")


def _from_attributes(X, names, min_count):
    is_open = names is None
    known = {name: at for at, name in enumerate(names or ())}
    columns, values, ends = [], [], [0]
    for at, sequence in enumerate(X):
        for token in sequence:
            for name, value in _attributes(token, at):
                column = known.get(name)
                if column is None:
                    if not is_open:
                        continue
                    if "\n" in name:
                        raise ValueError(f"the name of an attribute has a line break: {name!r}")
                    column = known[name] = len(known)
                columns.append(column)
                values.append(value)
            ends.append(len(columns))
    columns, ends = np.array(columns, dtype=np.int64), np.array(ends, dtype=np.int64)
    values = np.array(values, dtype=np.float64)
    _check_finite(values)
    features = sparse.csr_array((values, columns, ends), shape=(len(ends) - 1, len(known)))
    features.sum_duplicates()
    names = list(known)
    if is_open and min_count is not None:
        counts = np.bincount(columns, minlength=len(names))
        kept = np.flatnonzero(counts >= min_count)
        features, names = features[:, kept], [names[column] for column in kept]
    return Examples(hand_over(features), starts_of(len(sequence) for sequence in X), names)


def _attributes(token, at):
    """Names and values of a token's attributes."""
    if isinstance(token, Mapping):
        yield from _from_mapping(token, "", at)
    elif isinstance(token, str):
        raise ValueError(f"a token of sequence {at} is a text: expected a dict or a list of texts")
    else:
        for name in token:
            if not isinstance(name, str):
                raise ValueError(f"an attribute of sequence {at} is no text: {name!r}")
            yield name, 1.0


def _from_mapping(token, prefix, at):
    for name, value in token.items():
        name = f"{prefix}{name}"
        if isinstance(value, str):
            yield f"{name}:{value}", 1.0
        elif isinstance(value, Real | np.bool_):
            value = float(value)
            if value != 0.0:
                yield name, value
        elif isinstance(value, Mapping):
            yield from _from_mapping(value, f"{name}:", at)
        elif isinstance(value, list | tuple | set | frozenset):
            for item in value:
                yield f"{name}:{item}", 1.0
        else:
            kind = type(value).__name__
            raise ValueError(
                f"attribute {name!r} of sequence {at} must be a number, a text, a collection of "
                f"texts or a dict, not {kind}"
            )
