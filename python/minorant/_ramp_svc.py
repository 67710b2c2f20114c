"""Support vector classification with the ramp loss, for data with outliers."""

from ._linear import LinearClassifier


class RampSVC(LinearClassifier):
    """Linear support vector classification that outliers cannot bend.

    The loss of an example is min(1 − ramp, hinge): beyond a margin of ``ramp`` on the wrong side
    an example costs no more, however far out it lies. The objective has many local minima; one is
    found from zero on.

    Parameters
    ----------
    method : str, default='auto'
        The method, one of :func:`minorant.methods`; 'auto' is 'cccp' here.

    Notes
    -----
    More than two classes are trained together, with Crammer and Singer's margin in the hinge.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_blobs
    >>> from minorant import LinearSVC, RampSVC
    >>> X, y = make_blobs(100, centers=[[-2, 0], [2, 0]], random_state=0)
    >>> outliers = np.where(y == 0, 1.0, -1.0)[:10, None] * [10.0, 0.0]
    >>> X_train, y_train = np.vstack([X, outliers]), np.hstack([y, y[:10]])
    >>> LinearSVC().fit(X_train, y_train).score(X, y)
    0.99
    >>> model = RampSVC().fit(X_train, y_train)
    >>> model.score(X, y)
    1.0
    >>> model.certificate_.lower_bound is None, model.certificate_.local_gap < 1e-3
    (True, True)
    """

    ramp: float = -1.0

    _model_name = "ramp-svm"

    def _options(self, X, sample_weight, model):
        options = super()._options(X, sample_weight, model)
        # It goes further down than the methods that know nothing of the loss's concave part.
        return {**options, "solver": "cccp" if self.method == "auto" else self.method}
