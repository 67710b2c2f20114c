"""Regularised risk minimisation with certified optimality gaps.

Estimators follow scikit-learn; every fitted one carries a certificate: its objective, a lower
bound that no weights can go below, and the gap between the two.

>>> from sklearn.datasets import load_breast_cancer
>>> from sklearn.preprocessing import scale
>>> import minorant
>>> X, y = load_breast_cancer(return_X_y=True)
>>> model = minorant.LinearSVC().fit(scale(X), y)
>>> model.certificate_.certified
True
"""

from ._cache import Cache, cache, open
from ._chain_crf import ChainCRF
from ._chain_svm import ChainSVM
from ._core import methods, version as _version
from ._cross_validated import (
    HuberRegressorCV,
    LinearSVCCV,
    LinearSVRCV,
    LogisticRegressionCV,
    QuantileRegressorCV,
)
from ._estimator import load
from ._huber_regressor import HuberRegressor
from ._large_margin_hmm import LargeMarginHMM
from ._latent_svc import LatentSVC
from ._linear_svc import LinearSVC
from ._linear_svr import LinearSVR
from ._logistic_regression import LogisticRegression
from ._minimize import EvaluationError, MinimizeResult, minimize
from ._multilabel_svc import MultilabelSVC
from ._neuro_crf import NeuroCRF
from ._path import Between, Path, path
from ._plot import plot_convergence, plot_path
from ._quantile_regressor import QuantileRegressor
from ._ramp_svc import RampSVC
from ._results import Certificate, Trace
from ._robust_svc import RobustSVC
from ._s3vc import S3VC
from ._structured_svm import StructuredSVM
from ._transductive_chain_svm import TransductiveChainSVM
from ._transductive_svc import TransductiveSVC

__version__ = _version()

__all__ = [
    "Between",
    "Cache",
    "Certificate",
    "ChainCRF",
    "ChainSVM",
    "EvaluationError",
    "HuberRegressor",
    "HuberRegressorCV",
    "LargeMarginHMM",
    "LatentSVC",
    "LinearSVC",
    "LinearSVCCV",
    "LinearSVR",
    "LinearSVRCV",
    "LogisticRegression",
    "LogisticRegressionCV",
    "MinimizeResult",
    "MultilabelSVC",
    "NeuroCRF",
    "Path",
    "QuantileRegressor",
    "QuantileRegressorCV",
    "RampSVC",
    "RobustSVC",
    "S3VC",
    "StructuredSVM",
    "Trace",
    "TransductiveChainSVM",
    "TransductiveSVC",
    "cache",
    "load",
    "methods",
    "minimize",
    "open",
    "path",
    "plot_convergence",
    "plot_path",
]
