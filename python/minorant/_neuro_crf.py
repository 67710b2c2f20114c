"""Networks under a conditional random field."""

from collections.abc import Sequence
from dataclasses import field
from numbers import Integral, Number
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ._declared import fitted
from ._sequence_estimator import MarginalsMixin, SequenceEstimator


class NeuroCRF(MarginalsMixin, SequenceEstimator):
    """Labels for sequences, by a network under a conditional random field.

    A feed-forward network turns the attributes of each token into features, and a chain labels the
    sequence by these; both are trained together. Minimises λ/2 ‖w − w₀‖² plus the mean over
    sequences of −log p(labels | sequence), with w₀ the weights that training starts from. The
    objective is not convex: the answer is a local one, and there is no lower bound.

    Attributes
    ----------
    coefs_ : list of ndarray
        The weights of each layer, the last being the chain's, with a row for each input.
    intercepts_ : list of ndarray
        The biases of each layer.
    start_, end_ : ndarray of shape (n_classes,)
        Weights of labels at the beginning and at the end; zeros where there are none.
    validation_error_ : float or None
        The share of wrong labels on what was held out.

    Notes
    -----
    Products are done in single precision where the arrays are float32, and in double precision
    elsewhere; the objective reported is always that of double precision.

    Examples
    --------
    >>> import numpy as np
    >>> from minorant import NeuroCRF
    >>> X = [np.array([[0.0, 1.0], [1.0, 1.0]]), np.array([[1.0, 0.0], [0.0, 0.0], [0.0, 1.0]])] * 10
    >>> y = [["odd", "even"], ["odd", "even", "odd"]] * 10
    >>> model = NeuroCRF(hidden=(8,), activation="tanh", pretrain="none", C=100.0, random_state=0)
    >>> model.fit(X, y).score(X, y)
    1.0
    >>> model.predict_marginals(X)[0].sum(axis=1).round(6)
    array([1., 1.])
    """

    hidden: int | Sequence[int] = field(default=(300, 300), kw_only=False)
    activation: Literal["sigmoid", "tanh", "relu"] = "sigmoid"
    pretrain: Literal["rbm", "none"] = "rbm"
    validation_fraction: float = 0.0

    coefs_: list[NDArray[np.float64]] = fitted()
    intercepts_: list[NDArray[np.float64]] = fitted()
    start_: NDArray[np.float64] = fitted()
    end_: NDArray[np.float64] = fitted()
    validation_error_: float | None = fitted()

    _model_name = "neuro-crf"
    _needs_all = True

    def _options(self, model=None):
        hidden = (300, 300) if self.hidden is None else self.hidden
        units = [hidden] if isinstance(hidden, Number) else hidden
        try:
            is_fine = all(isinstance(n, Integral) and n >= 1 for n in units) and len(units) > 0
        except TypeError:
            is_fine = False
        if not is_fine or isinstance(hidden, bool):
            raise ValueError(
                "hidden must be a whole number of 1 or more, or a sequence of such, one for each "
                f"layer, not {hidden!r}"
            )
        return {**super()._options(model), "hidden": [int(n) for n in units]}

    def _take_weights(self, header, arrays):
        super()._take_weights(header, arrays)
        self.validation_error_ = header["validation_error"]
        weights, labels, inputs = arrays["weights"], len(header["labels"]), header["columns"]
        self.coefs_, self.intercepts_, at = [], [], 0
        for units in [*header["hidden"], labels]:
            self.coefs_.append(weights[at : at + inputs * units].reshape(inputs, units))
            at += inputs * units
            self.intercepts_.append(weights[at : at + units])
            at, inputs = at + units, units
        self.transitions_ = weights[at : at + labels * labels].reshape(labels, labels)
        at += labels * labels
        ends = weights[at:] if header["boundary"] else np.zeros(2 * labels)
        self.start_, self.end_ = ends[:labels], ends[labels:]

    @classmethod
    def _parameters_of(cls, header, arrays):
        found = super()._parameters_of(header, arrays)
        return {**found, "hidden": tuple(header["hidden"])}
