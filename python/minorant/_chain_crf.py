"""Conditional random fields for chains."""

from ._chain import ChainEstimator
from ._estimator import estimator
from ._sequence_estimator import MarginalsMixin


@estimator
class ChainCRF(MarginalsMixin, ChainEstimator):
    """Labels for sequences, by a conditional random field.

    Minimises the penalty plus the mean over sequences of −log p(labels | sequence).

    Parameters
    ----------
    penalty : {'l2', 'l1'}, default='l2'
        λ/2 ‖w‖², or λ ‖w‖₁, which makes many weights zero.

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

    _model_name = "chain-crf"

    def __init__(self, *, penalty="l2"): ...

    def _settings(self):
        if self.penalty not in ("l2", "l1"):
            raise ValueError(f"penalty must be 'l2' or 'l1', got {self.penalty!r}")
        return {**super()._settings(), "penalty": self.penalty}

    @classmethod
    def _parameters_of(cls, model):
        return {**super()._parameters_of(model), "penalty": model.penalty}
