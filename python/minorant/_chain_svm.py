"""Structured support vector machines for chains."""

import numpy as np

from ._chain import ChainEstimator
from ._estimator import estimator


@estimator
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

    _model_name = "chain-svm"

    def __init__(self, *, label_loss=None): ...

    def _costs(self, classes):
        if self.label_loss is None:
            return None
        costs = np.asarray(self.label_loss, dtype=np.float64)
        if costs.shape != (len(classes), len(classes)):
            shape = (len(classes), len(classes))
            raise ValueError(f"label_loss must have the shape {shape}, got {costs.shape}")
        return costs.ravel().tolist()

    @classmethod
    def _parameters_of(cls, model):
        shared, costs = super()._parameters_of(model), model.label_loss
        if costs is not None:
            costs = np.array(costs).reshape(len(model.classes), -1)
        return {**shared, "label_loss": costs}
