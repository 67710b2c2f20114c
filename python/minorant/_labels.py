"""Labels on their way between the user's arrays and the library."""

from numbers import Real

import numpy as np
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.validation import _check_sample_weight


def class_numbers(y):
    """The classes in order, and for each row the number of its class."""
    classes, rows = np.unique(y, return_inverse=True)
    if classes.size < 2:
        raise ValueError(
            "This solver needs samples of at least 2 classes in the data, but the data contains "
            f"only one class: {classes[0]!r}"
        )
    return classes, rows.astype(np.uint32)


def class_weights(class_weight, classes, y, sample_weight):
    """Pairs of a class and its weight, for those that are not 1."""
    if class_weight is None:
        return []
    if class_weight == "balanced" and sample_weight is not None:
        weights = _check_sample_weight(sample_weight, y, dtype=np.float64)
        counts = np.array([weights[y == c].sum() for c in classes])
        of_class = weights.sum() / (len(classes) * np.where(counts > 0, counts, np.inf))
    else:
        of_class = compute_class_weight(class_weight, classes=classes, y=y)
    pairs = zip(classes.tolist(), of_class.tolist(), strict=True)
    return [(label(c), float(w)) for c, w in pairs if w != 1.0]


def label(value):
    """A class as the library knows it: a number where it is one, else a text."""
    if isinstance(value, Real) and float(value) == value:
        return float(value)
    return str(value)


def labels(classes):
    """Classes as the library knows them."""
    return [label(c) for c in classes.tolist()]


def classes_of(names):
    """Labels of a file as an array: integers or floats where they are such, else strings."""
    if not all(isinstance(name, float) for name in names):
        return np.array([str(name) for name in names])
    values = np.array(names)
    integers = values.astype(np.int64)
    return integers if np.array_equal(integers, values) else values


def classes_of_texts(names):
    """The same where a file has numbers as texts."""
    try:
        values = [float(name) for name in names]
    except ValueError:
        return classes_of(names)
    return classes_of(values if np.isfinite(values).all() else names)
