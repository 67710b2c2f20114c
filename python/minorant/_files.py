"""Models by their files."""

from typing import Any

from ._core import Model
from ._estimator import ModelEstimator
from ._examples import FileName


def load(path: FileName) -> Any:
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
    for estimator in ModelEstimator._known:
        if estimator._can_take(model.header):
            return estimator._of_model(path, model)
    raise ValueError(
        f"{path} holds a {model.header['model']}, for which there is no estimator: use the command minorant"
    )
