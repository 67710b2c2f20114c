"""What the chains share: which pairs have weights, and how weights lie."""

from numbers import Real

import numpy as np
from scipy import sparse

from . import _core
from ._features import hand_over
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

    _compiled = _core.Chain

    def __init__(self, *, pairs="all", bias=None): ...

    def _run(self, tokens, classes, numbers, settings, watch):
        """Hands everything over to the library."""
        return _core.train_chain(
            self._model_name,
            hand_over(tokens.features),
            tokens.starts,
            tokens.names,
            [str(c) for c in classes.tolist()],
            numbers,
            {**settings, "label_loss": self._costs(classes)},
            watch,
        )

    def _settings(self):
        settings = self._common_settings()
        if self.pairs not in ("all", "observed"):
            raise ValueError(f"pairs must be 'all' or 'observed', got {self.pairs!r}")
        if self.bias is not None and (
            not isinstance(self.bias, Real) or not np.isfinite(self.bias)
        ):
            raise ValueError(f"bias must be a finite number or None, got {self.bias!r}")
        return {
            **settings,
            "penalty": "l2",
            "observed_pairs": self.pairs == "observed",
            "bias": None if self.bias is None else float(self.bias),
        }

    def _costs(self, classes):
        """What wrong labels cost, row by row; None for 1 each."""
        return None

    def _take_weights(self, model):
        self.coef_, self.transitions_, self.intercept_, ends = _unpack(model)
        self.start_, self.end_ = ends

    @classmethod
    def _parameters_of(cls, model):
        pairs = "all" if model.pairs() is None else "observed"
        return {**super()._parameters_of(model), "pairs": pairs, "bias": model.bias}


def _unpack(model):
    """Weights of attributes, of label pairs, of the constant and of the ends."""
    weights, pairs = model.weights(), model.pairs()
    attributes, labels = model.features, len(model.classes)
    if pairs is None:
        at = attributes * labels
        coef = weights[:at].reshape(attributes, labels).T
    else:
        starts, rows, _ = pairs
        at = len(rows)
        shape = (labels, attributes)
        coef = sparse.csc_array((weights[:at], np.array(rows, dtype=np.int64), starts), shape=shape)
    intercept = np.zeros(labels)
    if model.bias is not None:
        intercept = model.bias * weights[at : at + labels]
        at += labels
    transitions = np.zeros(labels * labels)
    listed = slice(None) if pairs is None else np.array(pairs[2], dtype=np.int64)
    count = labels * labels if pairs is None else len(pairs[2])
    transitions[listed] = weights[at : at + count]
    at += count
    ends = (np.zeros(labels), np.zeros(labels))
    if model.boundary:
        ends = (weights[at : at + labels], weights[at + labels : at + 2 * labels])
    return coef, transitions.reshape(labels, labels), intercept, ends
