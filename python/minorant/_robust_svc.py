"""Support vector classification with kernels that outliers cannot pull at."""

from ._kernel import KernelEstimator


class RobustSVC(KernelEstimator):
    """Two classes by the ramp loss, with kernels: a row costs only so much, however wrong it is.

    Minimises ½ ‖w‖² + C Σ min(1 − ramp, hinge), with an intercept that is not regularised. A search
    over which rows count finds minima that local methods miss. Without a kernel, and for more than
    two classes, there is RampSVC.

    Parameters
    ----------
    method : str, default='auto'
        'pdm' (which 'auto' is), 'ao' or 'da'.

    Examples
    --------
    >>> import numpy as np
    >>> from minorant import RobustSVC
    >>> X = np.array([[-2.0], [-1.0], [1.0], [2.0], [-3.0]])
    >>> y = [0, 0, 1, 1, 1]
    >>> model = RobustSVC(kernel="linear", C=10.0).fit(X, y)
    >>> model.predict(X)
    array([0, 0, 1, 1, 0])
    """

    C: float = 1.0
    ramp: float = -1.0

    _model_name = "robust-svm"
