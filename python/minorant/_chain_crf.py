"""Conditional random fields for chains."""

from typing import Literal

from ._sequence_estimator import ChainEstimator, MarginalsMixin


class ChainCRF(MarginalsMixin, ChainEstimator):
    """Labels for sequences, by a conditional random field.

    Minimises the penalty plus the mean over sequences of −log p(labels | sequence).

    Examples
    --------
    >>> from minorant import ChainCRF
    >>> X = [[{"word": "the"}, {"word": "dog"}], [{"word": "a"}, {"word": "dog"}, {"word": "runs"}]]
    >>> y = [["D", "N"], ["D", "N", "V"]]
    >>> model = ChainCRF(C=10.0).fit(X, y)
    >>> [labels.tolist() for labels in model.predict([[{"word": "a"}, {"word": "cat"}]])]
    [['D', 'N']]
    >>> model.predict_marginals(X)[0].sum(axis=1).round(6)
    array([1., 1.])
    """

    penalty: Literal["l2", "l1"] = "l2"

    _model_name = "chain-crf"
