"""What the chains share: which pairs have weights, and how weights lie."""

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ._sequence_estimator import SequenceEstimator


class ChainEstimator(SequenceEstimator):
    """Base of the chains; not for use by itself.

    Parameters
    ----------
    pairs : {'all', 'observed'}, default='all'
        Which (attribute, label) and (label, label) pairs have a weight: all, or only those that
        the training data has.
    bias : float, default=None
        The value of a constant attribute of every token; none if not given.

    Attributes
    ----------
    coef_ : ndarray or sparse array of shape (n_classes, n_features)
        Weights of the attributes; sparse where only observed pairs have some.
    intercept_, start_, end_ : ndarray of shape (n_classes,)
        Weights of the constant, and of labels at the beginning and at the end; zeros where there
        are none.
    """

    pairs: Literal["all", "observed"]
    bias: float | None

    coef_: Any
    intercept_: NDArray[np.float64]
    start_: NDArray[np.float64]
    end_: NDArray[np.float64]

    def _take_weights(self, header, arrays):
        super()._take_weights(header, arrays)
        attributes, labels, weights = header["columns"], len(header["labels"]), arrays["weights"]
        listed = slice(None)
        counts = [attributes * labels, 0, labels * labels, 0, 0]
        if header["observed_pairs"]:
            rows, listed = arrays["pairs.labels"], arrays["pairs.transitions"].astype(np.intp)
            counts = [len(rows), 0, len(listed), 0, 0]
        if header["bias"] is not None:
            counts[1] = labels
        if header["boundary"]:
            counts[3:] = [labels, labels]
        coef, bias, pairs, start, end = np.split(weights, np.cumsum(counts)[:-1])
        if header["observed_pairs"]:
            indices, starts = rows.astype(np.int64), arrays["pairs.starts"].astype(np.int64)
            self.coef_ = sparse.csc_array((coef, indices, starts), shape=(labels, attributes))
        else:
            self.coef_ = coef.reshape(attributes, labels).T
        zeros = np.zeros(labels)
        self.intercept_ = header["bias"] * bias if bias.size else zeros
        transitions = np.zeros(labels * labels)
        transitions[listed] = pairs
        self.transitions_ = transitions.reshape(labels, labels)
        self.start_, self.end_ = (start, end) if start.size else (zeros, zeros.copy())
