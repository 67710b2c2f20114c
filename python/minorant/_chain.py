"""What the estimators of chains share: sequences in, sequences of labels out."""

from numbers import Integral, Real

import numpy as np
from joblib import effective_n_jobs
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from . import _core
from ._estimator import ModelEstimator, warn_unless_certified
from ._features import hand_over
from ._labels import classes_of_texts
from ._parameters import positive
from ._sequences import labels_of, tokens_of


class ChainEstimator(ModelEstimator):
    """Base of the chains; not for use by itself."""

    _compiled = _core.Chain

    def fit(self, X, y):
        """Trains.

        Parameters
        ----------
        X : list of sequences
            For each sequence an array or a sparse matrix with a row for each token, or a list with
            the attributes of each token: dicts, or lists of strings.
        y : list of sequences
            The labels of the tokens of each sequence.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        settings = self._settings()
        least = positive("min_count", self.min_count, Integral) or 0
        tokens = tokens_of(X, min_count=least)
        classes, numbers = labels_of(y, tokens)
        self._trained(
            classes, lambda watch: self._run(tokens, classes, numbers, settings, watch)
        )
        warn_unless_certified(self, stacklevel=3)
        return self

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

    def _common_settings(self):
        """The settings that all models of sequences have, checked."""
        if self.per not in ("sequence", "token"):
            raise ValueError(f"per must be 'sequence' or 'token', got {self.per!r}")
        return {
            "boundary": bool(self.boundary),
            "per": self.per,
            "memory": None,
            **self._strength(),
            **self._run_options(),
        }

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

    def _take(self, model):
        """Takes weights and certificate over from a trained model."""
        super()._take(model)
        self.feature_names_ = model.attributes
        self.n_features_in_ = model.features
        self._take_weights(model)

    def _take_weights(self, model):
        self.coef_, self.transitions_, self.intercept_, ends = _unpack(model)
        self.start_, self.end_ = ends

    # Prediction

    def _tokens(self, X):
        check_is_fitted(self)
        names = self.feature_names_
        return tokens_of(X, names=names, width=None if names is not None else self.n_features_in_)

    def predict(self, X):
        """Labels of sequences.

        Parameters
        ----------
        X : list of sequences
            As for :meth:`fit`. Attributes that the training data did not have are ignored.

        Returns
        -------
        labels : list of ndarray
            The labels of the tokens of each sequence.
        """
        check_is_fitted(self)
        if not len(X):
            return []
        tokens = self._tokens(X)
        threads = effective_n_jobs(self.n_jobs)
        found = self._model.predict(hand_over(tokens.features), tokens.starts, threads)
        return tokens.split(self.classes_[found])

    def score(self, X, y):
        """The share of tokens whose label is right.

        Parameters
        ----------
        X : list of sequences
            The sequences.
        y : list of sequences
            Their labels.

        Returns
        -------
        score : float
            The share.
        """
        predicted = self.predict(X)
        right = [np.asarray(p) == np.asarray(t) for p, t in zip(predicted, y, strict=True)]
        return float(np.concatenate(right).mean())

    # Files

    @classmethod
    def _check_file(cls, path, model):
        super()._check_file(path, model)
        if model.is_hashed:
            raise ValueError(f"the attributes of {path} are hashed: only the command can use it")

    @classmethod
    def _classes_of(cls, model):
        return classes_of_texts(model.classes)

    @classmethod
    def _parameters_of(cls, model):
        return {
            **super()._parameters_of(model),
            "pairs": "all" if model.pairs() is None else "observed",
            "boundary": model.boundary,
            "bias": model.bias,
            "per": model.per,
        }



class MarginalsMixin:
    """Probabilities of labels, for the chains that have them."""

    def predict_marginals(self, X):
        """The probability of each label at each token.

        Parameters
        ----------
        X : list of sequences
            As for :meth:`fit`.

        Returns
        -------
        marginals : list of ndarray of shape (n_tokens, n_classes)
            For each sequence a row for each token, with a column for each class.
        """
        tokens = self._tokens(X)
        threads = effective_n_jobs(self.n_jobs)
        found = self._model.marginals(hand_over(tokens.features), tokens.starts, threads)
        return tokens.split(found.reshape(-1, len(self.classes_)))


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
