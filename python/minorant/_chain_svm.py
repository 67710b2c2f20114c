"""Structured support vector machines for chains."""

import numpy as np

from ._chain import ChainEstimator
from ._estimator import keeps_parameters


class ChainSVM(ChainEstimator):
    """Labels for sequences, by a structured support vector machine (a max-margin Markov network).

    Minimises λ/2 ‖w‖² plus the mean over sequences of the largest of: how many labels another
    labelling has wrong, plus its score, less the score of the true one.

    Parameters
    ----------
    C : float, default=None
        Strength of the data term: λ = 1/(C n), with n sequences (or tokens, see ``per``). 1 if
        neither ``C`` nor ``lam`` is given.
    lam : float, default=None
        λ itself, instead of ``C``.
    tol : float, default=1e-3
        The relative gap that is certified.
    method : str, default='auto'
        The method, one of :func:`minorant.methods`.
    max_evals : int, default=None
        Most passes of the oracle over all sequences.
    max_seconds : float, default=None
        Most seconds of optimisation.
    pairs : {'all', 'observed'}, default='all'
        Which (attribute, label) and (label, label) pairs have a weight: all, or only those that
        the training data has.
    boundary : bool, default=False
        Whether labels at the beginning and at the end of a sequence have weights of their own.
    bias : float, default=None
        The value of a constant attribute of every token; none if not given.
    per : {'sequence', 'token'}, default='sequence'
        What the mean loss is taken over.
    min_count : int, default=None
        Named attributes that occur less often are left out.
    label_loss : array-like of shape (n_classes, n_classes), default=None
        What a label (column) costs where another (row) is true, in the order of the classes; 1 for
        each wrong one if not given.
    random_state : int, RandomState instance or None, default=None
        Seed of methods that draw random numbers; None is one fixed seed, so that a fit can be
        repeated to the last bit.
    n_jobs : int, default=None
        Threads; None means 1, -1 all processors. The result has the same bits for any number.
    verbose : int, default=0
        Whether to show a progress bar.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels in order.
    coef_ : ndarray or sparse array of shape (n_classes, n_features)
        Weights of the attributes; sparse where only observed pairs have some.
    transitions_ : ndarray of shape (n_classes, n_classes)
        Weights of label pairs, from row to column.
    intercept_, start_, end_ : ndarray of shape (n_classes,)
        Weights of the constant, and of labels at the beginning and at the end; zeros where there
        are none.
    feature_names_ : list of str or None
        The names of the attributes, where they have some.
    certificate_ : Certificate
        ``objective``, ``lower_bound``, ``gap``, ``relative_gap`` and ``certified``.
    trace_ : Trace
        One row for each iteration.
    n_features_in_ : int
        Number of attributes.
    n_iter_, n_evaluations_ : int
        Iterations, and passes over the data.
    lam_ : float
        λ.
    method_, status_ : str
        The method that ran, and how it ended.

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

    @keeps_parameters
    def __init__(
        self,
        *,
        C=None,
        lam=None,
        tol=1e-3,
        method="auto",
        max_evals=None,
        max_seconds=None,
        pairs="all",
        boundary=False,
        bias=None,
        per="sequence",
        min_count=None,
        label_loss=None,
        random_state=None,
        n_jobs=None,
        verbose=0,
    ): ...

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
