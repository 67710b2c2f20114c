"""Structured support vector machines for chains."""

import numpy as np
from numpy.typing import ArrayLike

from ._sequence_estimator import ChainEstimator


class ChainSVM(ChainEstimator):
    """Labels for sequences, by a structured support vector machine (a max-margin Markov network).

    Minimises λ/2 ‖w‖² plus the mean over sequences of the largest of: how many labels another
    labelling has wrong, plus its score, less the score of the true one.

    Parameters
    ----------
    label_loss : array-like of shape (n_classes, n_classes), default=None
        What a label (column) costs where another (row) is true, in the order of the classes; 1 for
        each wrong one if not given.

    Examples
    --------
    >>> from minorant import ChainSVM
    >>> X = [[{"word": "the"}, {"word": "dog"}], [{"word": "a"}, {"word": "dog"}, {"word": "runs"}]]
    >>> y = [["D", "N"], ["D", "N", "V"]]
    >>> model = ChainSVM(C=10.0).fit(X, y)
    >>> [labels.tolist() for labels in model.predict([[{"word": "a"}, {"word": "cat"}]])]
    [['D', 'N']]
    >>> model.certificate_.certified
    True
    """

    label_loss: ArrayLike | None = None

    _model_name = "chain-svm"

    def _options(self, model=None):
        options = super()._options(model)
        if self.label_loss is not None:
            options["label_loss"] = np.asarray(self.label_loss, dtype=np.float64).ravel()
        return options

    @classmethod
    def _parameters_of(cls, header, arrays):
        found, costs = super()._parameters_of(header, arrays), arrays.get("label_loss")
        if costs is not None:
            found["label_loss"] = costs.reshape(len(header["labels"]), -1)
        return found
