"""What the estimators of sequences share: sequences in, sequences of labels out."""

from collections.abc import Sequence
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from ._cache import is_stored, opened
from ._declared import fitted
from ._estimator import ModelEstimator, NoTableMixin, StrengthMixin
from ._sequences import labels_of, share_right, tokens_of


class SequenceEstimator(NoTableMixin, StrengthMixin, ModelEstimator, is_base=True):
    """Base of the estimators of sequences; not for use by itself.

    Parameters
    ----------
    min_count : int, default=None
        Named attributes that occur less often are left out.
    C : float, default=None
        Strength of the data term: λ = 1/(C Σ sample_weight), over sequences (or tokens, see
        ``per``). 1 if neither ``C`` nor ``lam`` is given.

    Attributes
    ----------
    transitions_ : ndarray of shape (n_classes, n_classes)
        Weights of label pairs, from row to column.
    feature_names_ : list of str or None
        The names of the attributes, where they have some.
    n_features_in_ : int
        Number of attributes.
    """

    boundary: bool = False
    per: Literal["sequence", "token"] = "sequence"
    min_count: int | None = None

    transitions_: NDArray[np.float64] = fitted()
    feature_names_: list[str] | None = fitted()

    _classes_key, _has_texts = "labels", True

    #: Whether sequences are gone through in an order of its own, so that none may stay on disk.
    _needs_all = False

    def fit(
        self,
        X: Any,
        y: Sequence[Any] | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Trains.

        Parameters
        ----------
        X : list of sequences, or a cache or its path
            For each sequence an array or a sparse matrix with a row for each token, or a list with
            the attributes of each token: dicts, or lists of strings.
        y : list of sequences, default=None
            The labels of the tokens of each sequence; those of the cache if not given.
        sample_weight : array-like of shape (n_sequences,), default=None
            Weights of the sequences, 1 each if not given; a weight is the same as so many
            repetitions.
        """
        tokens = tokens_of(X, min_count=self.min_count, at_hand=self._needs_all)
        if y is not None or not is_stored(X):
            classes, numbers = labels_of(y, tokens.starts)
        elif tokens.labels is None:
            raise ValueError("the cache has sequences without labels: give y")
        else:
            classes, numbers = np.array(tokens.classes), tokens.labels
        options = self._options()
        if sample_weight is not None:
            options["weights"] = np.ascontiguousarray(sample_weight, dtype=np.float64)
        names = [str(c) for c in classes.tolist()]
        self._train(tokens._replace(classes=names, labels=numbers), classes, options)
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
        width = None if names is not None else self.n_features_in_
        return tokens_of(X, names=names, width=width, at_hand=self._needs_all)

    def predict(self, X: Any) -> list[NDArray[Any]]:
        """Labels of sequences. Attributes that the training data did not have are ignored.

        Returns
        -------
        labels : list of ndarray
            The labels of the tokens of each sequence.
        """
        check_is_fitted(self)
        if not is_stored(X) and not len(X):
            return []
        tokens = self._tokens(X)
        return tokens.split(self.classes_[self._model.predict(tokens, self._threads())])

    def score(self, X: Any, y: Sequence[Any] | None = None) -> float:
        """The share of tokens whose label is right; labels are those of the cache if not given.

        Returns
        -------
        score : float
            The share.
        """
        if y is None and is_stored(X):
            y = opened(X).labels()
        return share_right(self.predict(X), y)

    # Files

    @classmethod
    def _of_model(cls, path, model):
        if model.header["attributes"] == "hashed":
            raise ValueError(f"the attributes of {path} are hashed: only the command can use it")
        return super()._of_model(path, model)


class ChainEstimator(SequenceEstimator, is_base=True):
    """Base of the chains; not for use by itself.

    Parameters
    ----------
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

    pairs: Literal["all", "observed"] = "all"
    bias: float | None = None

    coef_: Any = fitted()
    intercept_: NDArray[np.float64] = fitted()
    start_: NDArray[np.float64] = fitted()
    end_: NDArray[np.float64] = fitted()

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
        return tokens.split(self._model.scores(tokens, self._threads(), marginals=True))
