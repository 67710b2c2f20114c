"""Labels on their way between the user's arrays and the library."""

from numbers import Real

import numpy as np
from scipy import sparse
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight


def class_numbers(y, least=2):
    """The classes in order, at least so many, and for each row the number of its class."""
    classes, rows = np.unique(y, return_inverse=True)
    if classes.size < least:
        raise ValueError(
            "This solver needs samples of at least 2 classes in the data, but the data contains "
            f"only one class: {classes[0]!r}"
        )
    return classes, rows.astype(np.uint32)


def class_weights(class_weight, classes, names, y, sample_weight):
    """Pairs of a class, by the library's name, and its weight, for those that are not 1."""
    if class_weight is None:
        return []
    if isinstance(class_weight, str) and class_weight == "balanced" and sample_weight is not None:
        weights = _check_sample_weight(sample_weight, y, dtype=np.float64)
        counts = np.array([weights[y == c].sum() for c in classes])
        of_class = weights.sum() / (len(classes) * np.where(counts > 0, counts, np.inf))
    else:
        of_class = compute_class_weight(class_weight, classes=classes, y=y)
    return [(name, w) for name, w in zip(names, of_class.tolist(), strict=True) if w != 1.0]


def labels(classes):
    """Classes as the library knows them: numbers where they are such, else texts."""
    return [float(c) if isinstance(c, Real) and float(c) == c else str(c) for c in classes.tolist()]


def label_sets(indicator):
    """The classes of an indicator, which are its columns, their names in the library, and the sets of rows."""
    sets = sparse.csr_array(indicator)
    sets.eliminate_zeros()
    sets.sort_indices()
    classes = np.arange(sets.shape[1])
    return classes, labels(classes), (sets.indptr.astype(np.uint64), sets.indices.astype(np.uint32))


def classes_of(names):
    """Labels of a file as an array: integers or floats where they are such, else strings."""
    if not all(isinstance(name, Real) for name in names):
        return np.array([str(name) for name in names])
    values = np.array(names, dtype=np.float64)
    with np.errstate(invalid="ignore"):
        integers = values.astype(np.int64)
    return integers if np.array_equal(integers, values) else values


def classes_of_texts(names):
    """Labels of a file as an array, where the file has numbers as texts. Texts that a number would not
    be written as ('01') stay what they are."""
    for kind in (int, float):
        try:
            values = [kind(name) for name in names]
        except ValueError:
            continue
        if all(str(value) == str(name) for value, name in zip(values, names, strict=True)):
            return classes_of(values if np.isfinite(values).all() else names)
    return classes_of(names)


def same_classes(one, other):
    """Whether two arrays of classes are the same in type and value."""
    return one.dtype == other.dtype and one.tolist() == other.tolist()


def note_of_classes(classes):
    """Classes in JSON, where the library's names do not tell what they were."""
    values = classes.tolist()
    if classes.dtype.kind == "S":
        values = [value.decode("latin-1") for value in values]
    elif classes.dtype.kind not in "biufUO":
        values = [str(value) for value in values]
    return {"dtype": classes.dtype.str, "values": values}


def classes_of_note(note):
    """The classes that :func:`note_of_classes` has noted."""
    dtype, values = np.dtype(note["dtype"]), note["values"]
    if dtype.kind == "S":
        values = [value.encode("latin-1") for value in values]
    return np.array(values, dtype=dtype)


# Rows of which some have no label.


def has_label(y):
    """Tells for each row whether its label is another than -1."""
    if y.dtype.kind in "biuf":
        return y != -1
    return np.array([str(value) != "-1" for value in y.tolist()], dtype=bool)


def labelled_classes(y):
    """The classes in order, their names in the library after 0, the name of rows without a label, and
    for each row the number of its name."""
    labelled = has_label(y)
    found = y[labelled]
    if found.dtype.kind == "O":
        kinds = {type(value) for value in found.tolist()}
        found = found.astype(str) if str in kinds else np.array(found.tolist())
    if not found.size:
        raise ValueError("expected some rows with a label, but all are -1, which means none")
    check_classification_targets(found)
    if y.dtype.kind in "biuf" and not labelled.all() and (found == 1).all():
        raise ValueError(
            "-1 means that a row has no label, so that labels of -1 and 1 leave one class only: "
            "recode the classes first, for instance with np.where(y == -1, 0, y), and then mark "
            "rows without a label with -1"
        )
    classes, numbers = class_numbers(found)
    names = labels(classes)
    if 0.0 in names:
        names = [str(c) for c in classes.tolist()]
    rows = np.zeros(len(y), dtype=np.uint32)
    rows[labelled] = numbers + 1
    return classes, [0.0, *names], rows
