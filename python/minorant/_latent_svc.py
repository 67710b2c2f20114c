"""Latent support vector classification: a positive row belongs to one of several components."""

from ._kernel import KernelEstimator


class LatentSVC(KernelEstimator):
    """Two classes, of which the second has several hidden components.

    Minimises ½ Σ_k ‖w_k‖² + C_neg Σ over negatives Σ_k hinge(−h_k) + C_pos Σ over positives
    min_k hinge(h_k): a positive row needs one component that finds it, a negative one none. A row
    is positive where the largest h_k is.

    Parameters
    ----------
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

    n_components: int = 2
    C_pos: float = 1.0
    C_neg: float = 1.0

    _model_name = "latent-svm"
