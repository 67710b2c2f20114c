"""What the estimators of sequences share: sequences in, sequences of labels out."""

from numbers import Integral

import numpy as np
from joblib import effective_n_jobs
from sklearn.utils.validation import check_is_fitted

from ._estimator import ModelEstimator, NoTableMixin, StrengthMixin, warn_unless_certified
from ._features import hand_over
from ._labels import classes_of_texts
from ._parameters import positive, sample_weights
from ._sequences import labels_of, tokens_of


class SequenceEstimator(NoTableMixin, StrengthMixin, ModelEstimator):
    """Base of the estimators of sequences; not for use by itself.

    Parameters
    ----------
    boundary : bool, default=False
        Whether labels at the beginning and at the end of a sequence have weights of their own.
    per : {'sequence', 'token'}, default='sequence'
        What the mean loss is taken over.
    min_count : int, default=None
        Named attributes that occur less often are left out.
    C : float, default=None
        Strength of the data term: λ = 1/(C Σ sample_weight), over sequences (or tokens, see
        ``per``). 1 if neither ``C`` nor ``lam`` is given.
    max_evals : int, default=None
        Most passes over all sequences.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels in order.
    transitions_ : ndarray of shape (n_classes, n_classes)
        Weights of label pairs, from row to column.
    feature_names_ : list of str or None
        The names of the attributes, where they have some.
    n_features_in_ : int
        Number of attributes.
    """

    def __init__(self, *, boundary=False, per="sequence", min_count=None): ...

    def fit(self, X, y, sample_weight=None):
        """Trains.

        Parameters
        ----------
        X : list of sequences
            For each sequence an array or a sparse matrix with a row for each token, or a list with
            the attributes of each token: dicts, or lists of strings.
        y : list of sequences
            The labels of the tokens of each sequence.
        sample_weight : array-like of shape (n_sequences,), default=None
            Weights of the sequences, 1 each if not given; a weight is the same as so many
            repetitions.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        settings = self._settings()
        least = positive("min_count", self.min_count, Integral) or 0
        tokens = tokens_of(X, min_count=least)
        classes, numbers = labels_of(y, tokens)
        settings["sample_weight"] = sample_weights(sample_weight, len(tokens.starts) - 1)
        self._trained(
            classes, lambda watch: self._run(tokens, classes, numbers, settings, watch)
        )
        warn_unless_certified(self, stacklevel=3)
        return self

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

    def _take(self, model):
        """Takes weights and certificate over from a trained model."""
        super()._take(model)
        self.feature_names_ = model.attributes
        self.n_features_in_ = model.features
        self._take_weights(model)

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
        return {**super()._parameters_of(model), "boundary": model.boundary, "per": model.per}


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
