"""Models by their files."""

from ._core import Model
from ._linear_svc import LinearSVC
from ._logistic_regression import LogisticRegression
from ._multilabel_svc import MultilabelSVC

_ESTIMATORS = (LinearSVC, LogisticRegression, MultilabelSVC)


def load(path):
    """Loads a model file, whichever estimator it belongs to.

    Parameters
    ----------
    path : str or path-like
        A file that an estimator's ``save`` or the command ``minorant`` wrote.

    Returns
    -------
    estimator : object
        A fitted estimator.

    Examples
    --------
    >>> import tempfile, pathlib, minorant
    >>> model = minorant.LinearSVC().fit([[0.0], [1.0]], ["no", "yes"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "model.safetensors"
    ...     model.save(path)
    ...     minorant.load(path).predict([[2.0]])
    array(['yes'], dtype='<U3')
    """
    model = Model.load(path)
    for estimator in _ESTIMATORS:
        if estimator._can_take(model):
            return estimator.load(path)
    raise ValueError(f"{path} holds a model that this package has no estimator for: {model.name}")
