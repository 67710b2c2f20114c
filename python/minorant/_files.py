"""Models by their files."""

from typing import Any

from ._chain_crf import ChainCRF
from ._chain_svm import ChainSVM
from ._core import Model
from ._examples import FileName
from ._large_margin_hmm import LargeMarginHMM
from ._latent_svc import LatentSVC
from ._linear_svc import LinearSVC
from ._logistic_regression import LogisticRegression
from ._multilabel_svc import MultilabelSVC
from ._neuro_crf import NeuroCRF
from ._ramp_svc import RampSVC
from ._robust_svc import RobustSVC
from ._s3vc import S3VC
from ._transductive_svc import TransductiveSVC

_ESTIMATORS = (
    *(LinearSVC, LogisticRegression, MultilabelSVC, RampSVC, TransductiveSVC),
    *(LatentSVC, RobustSVC, S3VC, ChainCRF, ChainSVM, NeuroCRF, LargeMarginHMM),
)


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
    for estimator in _ESTIMATORS:
        if estimator._can_take(model.header):
            return estimator._of_model(path, model)
    raise ValueError(
        f"{path} holds a {model.name}, for which there is no estimator: use the command minorant"
    )
