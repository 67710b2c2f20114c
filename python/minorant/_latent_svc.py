"""Latent support vector classification: a positive row belongs to one of several components."""

from numbers import Integral

from ._estimator import estimator
from ._kernel import TwoClassEstimator
from ._labels import labels
from ._parameters import positive


@estimator
class LatentSVC(TwoClassEstimator):
    """Two classes, of which the second has several hidden components.

    Minimises ½ Σ_k ‖w_k‖² + C_neg Σ over negatives Σ_k hinge(−h_k) + C_pos Σ over positives
    min_k hinge(h_k): a positive row needs one component that finds it, a negative one none. A row
    is positive where the largest h_k is.

    Parameters
    ----------
    n_components : int, default=2
        Number of components.
    C_pos : float, default=1.0
        What the loss of a positive row counts.
    C_neg : float, default=1.0
        What the loss of a negative row counts, for each component.
    method : str, default='auto'
        'pdm' (which 'auto' is), 'gd', 'cccp', 'ao' or 'lcs'.

    Examples
    --------
    >>> import numpy as np
    >>> from minorant import LatentSVC
    >>> X = np.array([[-3.0], [-2.5], [-0.5], [0.0], [0.5], [2.5], [3.0]])
    >>> y = [1, 1, 0, 0, 0, 1, 1]
    >>> model = LatentSVC(n_components=2, kernel="linear", C_pos=10.0, C_neg=10.0).fit(X, y)
    >>> model.predict(X)
    array([1, 1, 0, 0, 0, 1, 1])
    """

    _model_name = "latent-svm"

    def __init__(self, *, n_components=2, C_pos=1.0, C_neg=1.0): ...

    def fit(self, X, y):
        """Trains.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The examples; with a precomputed kernel, their kernel matrix.
        y : array-like of shape (n_samples,)
            Their labels, of two classes; the second one in order has the components.

        Returns
        -------
        self : LatentSVC
            The fitted estimator.
        """
        X, classes, rows = self._two_classes(X, y)
        values = {"C_pos": self.C_pos, "C_neg": self.C_neg}
        for name, value in values.items():
            if positive(name, value) is None:
                raise ValueError(f"{name} must be a positive number, got None")
        if positive("n_components", self.n_components, Integral) is None:
            raise ValueError("n_components must be a positive integer, got None")
        return self._train(
            X,
            classes,
            labels(classes),
            rows,
            components=int(self.n_components),
            c_pos=float(self.C_pos),
            c_neg=float(self.C_neg),
        )

    @classmethod
    def _parameters_of(cls, model):
        losses = dict(model.losses)
        found = super()._parameters_of(model)
        found["n_components"] = len(model.coefficients())
        for name, key in (("C_pos", "c_pos"), ("C_neg", "c_neg")):
            found[name] = losses.get(key, losses.get(key.replace("_", "-"), 1.0))
        return found
