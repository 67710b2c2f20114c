"""Structured support vector machines for a user's own structure."""

import pickle
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any, Literal, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from . import _core
from ._declared import fitted
from ._estimator import CertifiedEstimator, NoTableMixin, StrengthMixin
from ._parameters import MOST_EVALS, positive, seed
from ._results import Certificate, Trace


class StructuredModel(Protocol):
    """What :class:`StructuredSVM` asks of a structure; its methods are described there."""

    def joint_feature(self, x: Any, y: Any) -> Any: ...
    def loss(self, y_true: Any, y: Any) -> float: ...
    def loss_augmented_inference(self, x: Any, y_true: Any, w: NDArray[np.float64]) -> Any: ...
    def predict(self, x: Any, w: NDArray[np.float64]) -> Any: ...


class StructuredSVM(NoTableMixin, StrengthMixin, CertifiedEstimator):
    """A structured support vector machine for whatever outputs have an argmax.

    Minimises λ/2 ‖w‖² plus the mean over examples of the largest of: the loss of an output, plus
    its score, less the score of the true output; the score is w · joint_feature(x, y). What the
    outputs are, the model says; it has no optimiser in it.

    Parameters
    ----------
    model : object
        The structure, with four methods:

        - ``joint_feature(x, y)`` returns the features of an input with an output: an array of
          numbers, or a SciPy sparse array with one row;
        - ``loss(y_true, y)`` returns what an output costs: 0 for the true one, never negative;
        - ``loss_augmented_inference(x, y_true, w)`` returns the output with the largest loss plus
          score. It must be exact: the certificate rests on it, and has no bound where it was seen
          not to be;
        - ``predict(x, w)`` returns the output with the largest score.

        If it also has ``loss_augmented_inference_batch(X, Y, w)``, which returns a list with an
        output for each example, that is called with as many examples at once as possible.
    rescaling : {'margin', 'slack'}, default='margin'
        What the loss of an output scales: the margin as above, or the slack. With 'slack' an
        example costs the largest loss · (1 + score − score of the true output), and the model has
        ``slack_rescaled_inference(x, y_true, w)``, which returns the output where that is
        largest, instead of ``loss_augmented_inference``.

    Attributes
    ----------
    coef_ : ndarray of shape (n_joint_features,)
        The weights.
    n_outputs_ : int
        How many different outputs the oracle has named, all examples together.

    Notes
    -----
    The model's methods are called on the calling thread, and their exceptions come through
    unchanged. Features and losses of outputs are kept, so that each output is looked at once.

    Examples
    --------
    A multiclass support vector machine, written as a structure:

    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from minorant import StructuredSVM
    >>> class Classes:
    ...     def joint_feature(self, x, y):
    ...         features = np.zeros((3, len(x)))
    ...         features[y] = x
    ...         return features.ravel()
    ...     def loss(self, y_true, y):
    ...         return float(y_true != y)
    ...     def loss_augmented_inference(self, x, y_true, w):
    ...         return int(np.argmax(w.reshape(3, -1) @ x + (np.arange(3) != y_true)))
    ...     def predict(self, x, w):
    ...         return int(np.argmax(w.reshape(3, -1) @ x))
    >>> X, y = load_iris(return_X_y=True)
    >>> svm = StructuredSVM(Classes(), lam=0.01).fit(X, y.tolist())
    >>> svm.certificate_.certified
    True
    >>> svm.predict(X[:2])
    [0, 0]
    """

    model: StructuredModel = field(kw_only=False)
    rescaling: Literal["margin", "slack"] = "margin"

    coef_: NDArray[np.float64] = fitted()
    n_outputs_: int = fitted()

    def fit(
        self, X: Sequence[Any], y: Sequence[Any], sample_weight: ArrayLike | None = None
    ) -> Self:
        """Trains.

        Parameters
        ----------
        X : list
            The inputs, whatever the model takes.
        y : list
            Their true outputs.
        sample_weight : array-like of shape (n_examples,), default=None
            Weights of the examples, 1 each if not given; a weight is the same as so many
            repetitions.
        """
        X, y = list(X), list(y)
        if len(X) != len(y):
            raise ValueError(f"expected an output for each of {len(X)} inputs, got {len(y)}")
        if not X:
            raise ValueError("expected at least one example, got none")
        weights = _sample_weights(sample_weight, len(X))
        options = self._options(len(X) if weights is None else float(np.sum(weights)))
        if self.rescaling not in ("margin", "slack"):
            raise ValueError(f"rescaling must be 'margin' or 'slack', not {self.rescaling!r}")
        oracle = _Oracle(self.model, X, y, self.rescaling == "slack")
        with self._watching() as watch:
            (found, trouble, raised), is_exact = _core.train_structured(
                oracle, oracle.dim, oracle.truths, weights, oracle.has_batches, options, watch
            )
        if raised is not None or trouble is not None:
            raise ValueError(trouble) if raised is None else raised
        bound = found["lower_bound"] if is_exact else None
        self.coef_, self.lam_ = found["x"], options["lam"]
        self.certificate_ = Certificate(found["fun"], bound, float(self.tol))
        self.trace_ = Trace(found["trace"])
        self.n_iter_, self.n_evaluations_ = found["nit"], found["nfev"]
        self.n_outputs_ = sum(oracle.counts)
        self.method_, self.status_ = found["method"], found["status"]
        if not is_exact:
            warnings.warn(
                "the inference has returned an output although a better one was known: it is not "
                "exact, and nothing is proven.",
                UserWarning,
                stacklevel=2,
            )
        else:
            self._warn_unless_certified()
        return self

    def _options(self, total):
        lam, c = positive("lam", self.lam), positive("C", self.C)
        if lam is not None and c is not None:
            raise ValueError("lam and C say the same in two ways: give one of them")
        return {
            "lam": 1.0 / ((c or 1.0) * total) if lam is None else lam,
            "method": self.method,
            "given": {
                "tol": self.tol,
                "max_evals": MOST_EVALS if self.max_evals is None else self.max_evals,
                "max_seconds": self.max_seconds,
                "seed": seed(self.random_state),
            },
        }

    def predict(self, X: Sequence[Any]) -> list[Any]:
        """The outputs with the largest scores.

        Returns
        -------
        outputs : list
            What the model's ``predict`` returns for each.
        """
        check_is_fitted(self)
        return [self.model.predict(x, self.coef_) for x in X]

    def score(self, X: Sequence[Any], y: Sequence[Any]) -> float:
        """Minus the mean loss of the predictions.

        Returns
        -------
        score : float
            At most 0, which is perfect.
        """
        found, y = self.predict(X), list(y)
        if len(found) != len(y):
            raise ValueError(f"expected an output for each of {len(found)} inputs, got {len(y)}")
        if not y:
            raise ValueError("expected at least one example to score, got none")
        pairs = zip(y, found, strict=True)
        return -float(np.mean([self.model.loss(truth, guess) for truth, guess in pairs]))


class _Oracle:
    """Names outputs by numbers: 0 is an example's truth, others are counted as they come."""

    def __init__(self, model, X, y, is_rescaled=False):
        self._model, self._X, self._y = model, X, y
        self._argmax = "slack_rescaled_inference" if is_rescaled else "loss_augmented_inference"
        if not hasattr(model, self._argmax):
            raise ValueError(f"the model has no method {self._argmax}, which finds its outputs")
        self.has_batches = hasattr(model, f"{self._argmax}_batch")
        self.dim = _length(model.joint_feature(X[0], y[0]))
        self.truths = [self._features(i, output) for i, output in enumerate(y)]
        self._plain = self.truths if is_rescaled else None
        if is_rescaled:
            nothing = np.zeros(0, dtype=np.uint32), np.zeros(0)
            self.truths = [nothing] * len(y)
        self.counts = [1] * len(y)
        self._known = []
        for i, (truth, features) in enumerate(zip(y, self.truths, strict=True)):
            if self._loss(i, truth) != 0:
                raise ValueError(f"loss must be 0 for the true output, but is not for example {i}")
            self._known.append({_key(truth): 0, _feature_key(0.0, features): 0})

    def ask(self, examples, w):
        """For each example the number of its worst output, and its loss and features if it is new."""
        inputs, truths = [self._X[i] for i in examples], [self._y[i] for i in examples]
        if self.has_batches:
            found = list(getattr(self._model, f"{self._argmax}_batch")(inputs, truths, w))
        else:
            ask = getattr(self._model, self._argmax)
            found = [ask(x, y, w) for x, y in zip(inputs, truths, strict=True)]
        if len(found) != len(examples):
            raise ValueError(
                f"{self._argmax}_batch must return {len(examples)} outputs, "
                f"not {len(found)}"
            )
        return [self._number(i, output) for i, output in zip(examples, found, strict=True)]

    def _number(self, i, output):
        known, key, news = self._known[i], _key(output), None
        if key not in known:
            loss, features = self._loss(i, output), self._features(i, output)
            if self._plain is not None:
                features = self._rescaled(loss, features, self._plain[i])
            # Outputs with the same loss and features are the same to the optimiser.
            same = _feature_key(loss, features)
            if same not in known:
                known[same], news = self.counts[i], (loss, features)
                self.counts[i] += 1
            known[key] = known[same]
        return known[key], news

    def _rescaled(self, loss, features, truth):
        """Slack rescaling is margin rescaling with the differences to the truth, times the loss."""
        values = np.zeros(self.dim)
        values[features[0]] = features[1]
        values[truth[0]] -= truth[1]
        values *= loss
        at = np.flatnonzero(values)
        return at.astype(np.uint32), values[at]

    def _loss(self, i, output):
        loss = float(self._model.loss(self._y[i], output))
        if not 0 <= loss < np.inf:
            raise ValueError(f"loss must be a number of 0 or more, but is {loss} for example {i}")
        return loss

    def _features(self, i, output):
        features = self._model.joint_feature(self._X[i], output)
        if _length(features) != self.dim:
            raise ValueError(
                f"joint_feature must return {self.dim} numbers as for the first example, not "
                f"{_length(features)} for example {i}"
            )
        if sparse.issparse(features):
            row = sparse.coo_array(features)
            row.sum_duplicates()
            at, values = row.coords[-1], row.data
        else:
            dense = np.asarray(features).ravel()
            at = np.flatnonzero(dense)
            values = dense[at]
        values = np.ascontiguousarray(values, dtype=np.float64)
        if not np.isfinite(values).all():
            raise ValueError(f"joint_feature returned a number that is not finite for example {i}")
        return np.ascontiguousarray(at, dtype=np.uint32), values


def _sample_weights(values, examples):
    """One weight of 0 or more for each example, or None for None."""
    if values is None:
        return None
    weights = np.asarray(values, dtype=np.float64)
    is_fine = weights.shape == (examples,) and np.isfinite(weights).all()
    if not is_fine or (weights < 0).any() or not weights.any():
        raise ValueError(
            f"expected {examples} sample weights of 0 or more, one for each example, and some above 0"
        )
    return weights.tolist()


def _length(features):
    if sparse.issparse(features):
        if len(features.shape) == 2 and features.shape[0] != 1:
            raise ValueError(
                f"joint_feature must return one row of features, not {features.shape[0]}"
            )
        return features.shape[-1]
    return np.asarray(features).size


def _feature_key(loss, features):
    return loss, features[0].tobytes(), features[1].tobytes()


def _key(output):
    """An output as a key; equal outputs have equal keys."""
    if isinstance(output, np.ndarray) and output.dtype != object:
        return output.shape, output.dtype.str, output.tobytes()
    if isinstance(output, list | tuple):
        return type(output), tuple(_key(item) for item in output)
    if isinstance(output, Mapping):
        return frozenset((k, _key(v)) for k, v in output.items())
    try:
        hash(output)
    except TypeError:
        return pickle.dumps(output)
    return "output", output
