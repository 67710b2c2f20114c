"""What all estimators share: parameters kept as they are given, the options of a run, its progress
bar, model files, and the certificate in notebooks. What is trained, and on what, the others know.
"""

import functools
import inspect
import warnings
from numbers import Integral, Real

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from ._docstrings import complete, merged
from ._labels import classes_of
from ._parameters import positive, seed
from ._progress import ProgressBar
from ._results import Certificate, Trace, html_table, number


def estimator(cls):
    """An estimator with its parameters: the constructors of the class and of its bases are mere
    signatures, and become one that keeps every argument as an attribute of its name, as
    scikit-learn wants it. The docstring gets the entries that the bases have."""
    bases = [base for base in cls.__mro__ if base.__module__.startswith(__package__)]
    given = [vars(base)["__init__"] for base in bases if "__init__" in vars(base)]
    parameters = merged(dict(list(_parameters(each).items())[1:]) for each in given)
    signature = inspect.Signature([_parameters(given[0])["self"], *parameters.values()])

    @functools.wraps(given[0])
    def keep(self, *args, **kwargs):
        bound = signature.bind(self, *args, **kwargs)
        bound.apply_defaults()
        for name, value in list(bound.arguments.items())[1:]:
            setattr(self, name, value)

    keep.__signature__ = signature
    cls.__init__ = keep
    cls.__doc__ = complete([vars(base).get("__doc__") for base in bases])
    return cls


def _parameters(constructor):
    return inspect.signature(constructor).parameters


class CertifiedEstimator(BaseEstimator):
    """Base of all estimators; not for use by itself.

    Parameters
    ----------
    tol : float, default=1e-3
        The relative gap that is certified.
    method : str, default='auto'
        The method, one of :func:`minorant.methods`.
    max_evals : int, default=None
        Most passes over the data.
    max_seconds : float, default=None
        Most seconds of optimisation.
    random_state : int, RandomState instance or None, default=None
        Seed of methods that draw random numbers; None is one fixed seed, so that a fit can be
        repeated to the last bit.
    verbose : int, default=0
        Whether to show a progress bar.

    Attributes
    ----------
    certificate_ : Certificate
        ``objective``, ``lower_bound``, ``gap``, ``relative_gap`` and ``certified``.
    trace_ : Trace
        One row for each iteration.
    n_iter_, n_evaluations_ : int
        Iterations, and passes over the data.
    method_, status_ : str
        The method that ran, and how it ended.
    """

    def __init__(
        self,
        *,
        tol=1e-3,
        method="auto",
        max_evals=None,
        max_seconds=None,
        random_state=None,
        verbose=0,
    ): ...

    def _run_options(self):
        """The options that every run has, checked."""
        if not isinstance(self.tol, Real) or not 0 <= self.tol < np.inf:
            raise ValueError(f"tol must be a number of 0 or more, got {self.tol!r}")
        return {
            "method": self.method,
            "seed": seed(self.random_state),
            "tol": float(self.tol),
            "max_evals": positive("max_evals", self.max_evals, Integral),
            "max_seconds": positive("max_seconds", self.max_seconds),
            "threads": effective_n_jobs(getattr(self, "n_jobs", None)),
        }

    def _watched(self, train):
        """What ``train`` returns, which is handed a watcher for the progress bar."""
        if not self.verbose:
            return train(None)
        bar = ProgressBar(type(self).__name__, self.tol)
        try:
            return train(lambda record, _weights: bar(record))
        finally:
            bar.close()

    # Notebooks

    def _certificate_html(self):
        return html_table(
            {
                "method": self.method_,
                "status": self.status_,
                "objective": number(self.certificate_.objective),
                **self.certificate_._proven(),
                **self._facts(),
            }
        )

    def _facts(self):
        """Further lines of the table in notebooks."""
        return {"lambda": number(self.lam_)}

    def _repr_html_inner(self):
        page = super()._repr_html_inner()
        return page + self._certificate_html() if hasattr(self, "certificate_") else page


class StrengthMixin:
    """The strength of the regularizer, said in one of two ways; not for use by itself.

    Parameters
    ----------
    C : float, default=None
        Strength of the data term, as in scikit-learn: λ = 1/(C Σ sample_weight). 1 if neither
        ``C`` nor ``lam`` is given.
    lam : float, default=None
        λ itself, instead of ``C``.

    Attributes
    ----------
    lam_ : float
        λ.
    """

    def __init__(self, *, C=None, lam=None): ...

    def _strength(self):
        """λ or C, whichever was given."""
        lam, c = positive("lam", self.lam), positive("C", self.C)
        if lam is not None and c is not None:
            raise ValueError("lam and C say the same in two ways: give one of them")
        return {"lam": lam, "c": c}


class NoTableMixin:
    """Examples that are sequences or whatever a structure takes: not rows of one table, which
    scikit-learn is told."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.target_tags.required = True
        return tags


class ModelEstimator(CertifiedEstimator):
    """Base of the estimators that a model file can hold; not for use by itself.

    Parameters
    ----------
    n_jobs : int, default=None
        Threads; None means 1, -1 all processors. The result has the same bits for any number.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes in order.
    n_features_in_ : int
        Number of features.
    """

    def __init__(self, *, n_jobs=None): ...

    #: The library's name of the model, and the compiled class that files are read with.
    _model_name: str
    _compiled: type

    def _trained(self, classes, train):
        """Trains, and takes over what the run leaves."""
        model, report, trace, raised = self._watched(train)
        if raised is not None:
            raise raised
        self.classes_ = classes
        self._take(model)
        self.trace_ = Trace(trace)
        self.n_iter_ = int(report["iterations"])
        self.n_evaluations_ = int(report["evaluations"])

    def _take(self, model):
        """Takes over what a trained model has, from a run or from a file."""
        self._model = model
        facts = model.facts
        self.method_ = facts.method
        self.status_ = facts.status
        if facts.lam is not None:
            self.lam_ = facts.lam
        # Where there is a bound, nobody needs to know what holds nearby.
        gap = facts.local_gap if facts.lower_bound is None else None
        self.certificate_ = Certificate(facts.objective, facts.lower_bound, facts.tol, gap)

    # Files

    def save(self, path):
        """Saves the fitted model in the format of the command ``minorant``.

        Parameters
        ----------
        path : str or path-like
            The file to write. It appears whole or not at all. A kernel that is a function is not
            in it: the model is then one with a precomputed kernel.
        """
        check_is_fitted(self)
        self._model.save(path)

    @classmethod
    def load(cls, path):
        """Loads a model that :meth:`save` or the command ``minorant`` wrote.

        Parameters
        ----------
        path : str or path-like
            The file.

        Returns
        -------
        estimator : object
            A fitted estimator. The file holds no trace, and labels come back as integers, floats
            or strings.
        """
        model = cls._compiled.load(path)
        cls._check_file(path, model)
        estimator = cls(**cls._parameters_of(model))
        estimator.classes_ = cls._classes_of(model)
        estimator.n_features_in_ = model.features
        estimator._take(model)
        estimator.trace_ = Trace()
        return estimator

    @classmethod
    def _can_take(cls, model):
        """Whether a model of a file is one of this estimator's."""
        return model.name == cls._model_name

    @classmethod
    def _check_file(cls, path, model):
        """Refuses what this estimator cannot take."""
        if not cls._can_take(model):
            raise ValueError(f"{path} holds another model than {cls.__name__}")

    @classmethod
    def _classes_of(cls, model):
        """The classes of a model of a file."""
        return classes_of(model.classes)

    @classmethod
    def _parameters_of(cls, model):
        """The parameters that a model of a file was trained with."""
        return {"lam": model.facts.lam, "tol": model.facts.tol}


def warn_unless_certified(estimator, stacklevel):
    """Warns of a run that ended before it had what was asked of it."""
    name, status = type(estimator).__name__, estimator.status_
    tol, certificate = estimator.tol, estimator.certificate_
    if certificate.local_gap is not None:
        is_near = certificate.local_gap <= tol * abs(certificate.objective)
        if status in ("converged", "stalled") or is_near:
            return
        text = f"{name} stopped ({status}) at a local gap of {certificate.local_gap:.2e}."
    elif certificate.certified or (status == "converged" and certificate.lower_bound is not None):
        # Where the objective is zero to rounding, only the absolute gap can be small.
        return
    else:
        gap = certificate.relative_gap
        found = "no bound was proven" if gap is None else f"the gap is {gap:.2e}"
        text = (
            f"{name} stopped ({status}) before it could certify a relative gap of {tol:g}: {found}."
        )
    warnings.warn(text, ConvergenceWarning, stacklevel=stacklevel)
