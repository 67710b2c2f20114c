"""Networks under a conditional random field."""

from numbers import Integral

import numpy as np

from . import _core
from ._estimator import estimator
from ._features import hand_over
from ._sequence_estimator import MarginalsMixin, SequenceEstimator


@estimator
class NeuroCRF(MarginalsMixin, SequenceEstimator):
    """Labels for sequences, by a network under a conditional random field.

    A feed-forward network turns the attributes of each token into features, and a chain labels the
    sequence by these; both are trained together. Minimises λ/2 ‖w − w₀‖² plus the mean over
    sequences of −log p(labels | sequence), with w₀ the weights that training starts from. The
    objective is not convex: the answer is a local one, and there is no lower bound.

    Parameters
    ----------
    hidden : sequence of int, default=(300, 300)
        Units of each hidden layer, from the inputs on.
    activation : {'sigmoid', 'tanh', 'relu'}, default='sigmoid'
        What hidden units do.
    pretrain : {'rbm', 'none'}, default='rbm'
        Where w₀ comes from: restricted Boltzmann machines, which need no labels, or random numbers.
    tol : float, default=1e-3
        The relative gap of the local model that ends the run.
    random_state : int, RandomState instance or None, default=None
        Seed of w₀, and of methods that draw random numbers.

    Attributes
    ----------
    coefs_ : list of ndarray
        The weights of each layer, the last being the chain's, with a row for each input.
    intercepts_ : list of ndarray
        The biases of each layer.
    start_, end_ : ndarray of shape (n_classes,)
        Weights of labels at the beginning and at the end; zeros where there are none.
    certificate_ : Certificate
        ``objective`` and ``local_gap``; ``lower_bound`` is None.

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

    _model_name = "neuro-crf"
    _compiled = _core.Neuro

    def __init__(self, hidden=(300, 300), *, activation="sigmoid", pretrain="rbm"): ...

    def _settings(self):
        widths = [self.hidden] if isinstance(self.hidden, Integral) else list(self.hidden)
        if not widths or not all(isinstance(n, Integral) and n > 0 for n in widths):
            raise ValueError(f"hidden must be whole numbers above 0, got {self.hidden!r}")
        for name, values in (
            ("activation", ("sigmoid", "tanh", "relu")),
            ("pretrain", ("rbm", "none")),
        ):
            if getattr(self, name) not in values:
                listed = ", ".join(repr(value) for value in values)
                raise ValueError(f"{name} must be one of {listed}, got {getattr(self, name)!r}")
        return {
            **self._common_settings(),
            "hidden": [int(n) for n in widths],
            "activation": self.activation,
            "pretrain": self.pretrain,
        }

    def _run(self, tokens, classes, numbers, settings, watch):
        return _core.train_neuro(
            hand_over(tokens.features),
            tokens.starts,
            tokens.names,
            [str(c) for c in classes.tolist()],
            numbers,
            settings,
            watch,
        )

    def _take_weights(self, model):
        weights, labels = model.weights(), len(model.classes)
        self.coefs_, self.intercepts_, at, inputs = [], [], 0, model.features
        for units in [*model.hidden, labels]:
            self.coefs_.append(weights[at : at + inputs * units].reshape(inputs, units))
            at += inputs * units
            self.intercepts_.append(weights[at : at + units])
            at, inputs = at + units, units
        self.transitions_ = weights[at : at + labels * labels].reshape(labels, labels)
        at += labels * labels
        ends = weights[at:] if model.boundary else np.zeros(2 * labels)
        self.start_, self.end_ = ends[:labels], ends[labels:]

    @classmethod
    def _parameters_of(cls, model):
        return {
            **super()._parameters_of(model),
            "hidden": tuple(model.hidden),
            "activation": model.activation,
            "pretrain": model.pretrain,
        }
