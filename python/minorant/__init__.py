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

from ._core import methods, version as _version
from ._files import load
from ._linear_svc import LinearSVC
from ._logistic_regression import LogisticRegression
from ._minimize import EvaluationError, MinimizeResult, minimize
from ._multilabel_svc import MultilabelSVC
from ._plot import plot_convergence
from ._results import Certificate, Trace

__version__ = _version()

__all__ = [
    "Certificate",
    "EvaluationError",
    "LinearSVC",
    "LogisticRegression",
    "MinimizeResult",
    "MultilabelSVC",
    "Trace",
    "load",
    "methods",
    "minimize",
    "plot_convergence",
]
