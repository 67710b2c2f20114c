"""What the estimators of sequences share: sequences in, sequences of labels out."""

from collections.abc import Sequence
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from ._estimator import ModelEstimator, NoTableMixin, StrengthMixin
from ._labels import classes_of_texts
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

    boundary: bool
    per: Literal["sequence", "token"]
    min_count: int | None

    transitions_: NDArray[np.float64]
    feature_names_: list[str] | None

    def fit(
        self, X: Sequence[Any], y: Sequence[Any], sample_weight: ArrayLike | None = None
    ) -> Self:
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
        tokens = tokens_of(X, min_count=self.min_count)
        classes, numbers = labels_of(y, tokens)
        options = self._options()
        if sample_weight is not None:
            options["weights"] = np.ascontiguousarray(sample_weight, dtype=np.float64)
        examples = tokens.examples([str(c) for c in classes.tolist()], numbers)
        self._train(examples, classes, options)
        return self

    def _take_weights(self, header, arrays):
        self.feature_names_ = None
        if header["attributes"] == "named":
            text = arrays["attributes"].tobytes()[: header["attribute_bytes"]].decode()
            self.feature_names_ = text.split("\n") if header["columns"] else []
        self.n_features_in_ = header["columns"]

    # Prediction

    def _tokens(self, X):
        check_is_fitted(self)
        names = self.feature_names_
        return tokens_of(X, names=names, width=None if names is not None else self.n_features_in_)

    def predict(self, X: Sequence[Any]) -> list[NDArray[Any]]:
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
        found = self._model.predict(tokens.examples(), self._threads())
        return tokens.split(self.classes_[found])

    def score(self, X: Sequence[Any], y: Sequence[Any]) -> float:
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
    def _of_model(cls, path, model):
        if model.header["attributes"] == "hashed":
            raise ValueError(f"the attributes of {path} are hashed: only the command can use it")
        return super()._of_model(path, model)

    @classmethod
    def _classes_of(cls, header):
        return classes_of_texts(header["labels"])


class MarginalsMixin:
    """Probabilities of labels, for the chains that have them."""

    def predict_marginals(self, X: Sequence[Any]) -> list[NDArray[np.float64]]:
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
        found = self._model.scores(tokens.examples(), self._threads(), marginals=True)
        return tokens.split(found)
