"""Structured support vector machines for chains of which some have no labels."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from ._examples import starts_of
from ._sequence_estimator import ChainEstimator
from ._sequences import labels_of, tokens_of


class TransductiveChainSVM(ChainEstimator):
    """Labels for sequences, learned from sequences of which only some have labels.

    Minimises λ/2 ‖w‖² plus the mean loss of :class:`ChainSVM` over the sequences with labels, plus
    ``gamma`` times the mean over the others of the sum over tokens of max(0, 1 − m), where m is by how
    much the best labelling beats the best one with another label at that token. The objective has many
    local minima; the run starts at the machine of the sequences with labels.

    Parameters
    ----------
    gamma : float, default=1.0
        Weight of the sequences without labels.

    Notes
    -----
    λ = 1/(C Σ sample_weight) is summed over the sequences with labels (or their tokens, see ``per``).
    No label may be called ``"?"``. Where every sequence has labels this is :class:`ChainSVM`, with its
    certificate.

    Examples
    --------
    >>> from minorant import TransductiveChainSVM
    >>> words = [["the", "dog"], ["a", "cat"], ["the", "cat"]]
    >>> X = [[{"word": word} for word in sentence] for sentence in words]
    >>> y = [["D", "N"], ["D", "N"], None]
    >>> model = TransductiveChainSVM(gamma=0.5).fit(X, y)
    >>> [labels.tolist() for labels in model.predict(X[2:])]
    [['D', 'N']]
    >>> model.certificate_.certified
    False
    """

    gamma: float = 1.0

    _model_name = "chain-tsvm"

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
            The labels of the tokens of each sequence; None where they are not known.
        sample_weight : array-like of shape (n_sequences,), default=None
            Weights of the sequences, 1 each if not given; a weight is the same as so many
            repetitions.
        """
        tokens = tokens_of(X, min_count=self.min_count)
        lengths = np.diff(tokens.starts.astype(np.int64))
        if len(y) != len(lengths):
            raise ValueError(f"expected labels for {len(lengths)} sequences, got {len(y)}")
        known = [at for at, labels in enumerate(y) if labels is not None]
        if not known:
            raise ValueError("expected labels for some of the sequences, got None for all")
        classes, own = labels_of([y[at] for at in known], starts_of(lengths[known].tolist()))
        is_known = np.isin(np.arange(len(lengths)), known)
        numbers = np.full(lengths.sum(), len(classes), dtype=own.dtype)
        numbers[np.repeat(is_known, lengths)] = own
        # Where all have labels it is the same objective, and the library insists on some without.
        model = "chain-svm" if is_known.all() else self._model_name
        options = self._options(model)
        if sample_weight is not None:
            options["weights"] = np.ascontiguousarray(sample_weight, dtype=np.float64)
        names = [str(c) for c in classes.tolist()] + ([] if is_known.all() else ["?"])
        examples = tokens._replace(classes=names, labels=numbers)
        self._train(examples, classes, options, model=model)
        return self
