"""What all estimators share: parameters that become options of the library, the run with its
progress bar, model files, and the certificate in notebooks. Which model an estimator trains, and on
which data, is said in the estimator's own file.
"""

import json
import math
import sys
import warnings
from contextlib import contextmanager
from typing import Any, ClassVar, Self

import numpy as np
from joblib import effective_n_jobs
from numpy.random import RandomState
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from . import _core
from ._declared import BaseEstimator, Declared, fitted, is_own
from ._docstrings import complete, parameters_of
from ._examples import FileName
from ._labels import (
    classes_of,
    classes_of_note,
    classes_of_texts,
    note_of_classes,
    same_classes,
)
from ._names import option_of, sentence
from ._parameters import MOST_EVALS, seed, table
from ._progress import ProgressBar
from ._results import Certificate, Trace, html_table, number


class CertifiedEstimator(Declared, BaseEstimator):
    """Base of all estimators; not for use by itself.

    Parameters
    ----------
    tol : float, default=1e-3
        The relative gap that is certified, or the local one where the objective is not convex.
    method : str, default='auto'
        The method, one of :func:`minorant.methods`.
    max_evals : int, default=None
        Most passes over the data; 10 000 if not given (for each class where every class is
        trained against the rest).
    random_state : int, RandomState instance or None, default=None
        Seed of starts and methods that draw random numbers; None is one fixed seed, so that a fit can
        be repeated to the last bit.
    verbose : int, default=0
        Whether to show a progress bar.

    Attributes
    ----------
    certificate_ : Certificate
        ``objective``, ``lower_bound``, ``gap``, ``relative_gap`` and ``certified``. Where the objective
        is not convex there is no lower bound, and a ``local_gap`` instead; where held-out examples
        chose earlier weights than the run's best, there is neither.
    trace_ : Trace
        One row for each iteration.
    n_iter_, n_evaluations_ : int
        Iterations, and evaluations: passes over the data, with kernels inner optimisations.
    method_, status_ : str
        The method that ran, and how it ended.
    """

    tol: float = 1e-3
    method: str = "auto"
    max_evals: int | None = None
    max_seconds: float | None = None
    random_state: int | RandomState | None = None
    verbose: int = 0

    certificate_: Certificate = fitted()
    trace_: Trace = fitted()
    n_iter_: int = fitted()
    n_evaluations_: int = fitted()
    method_: str = fitted()
    status_: str = fitted()

    def __init_subclass__(cls, is_base=False, **kwargs):
        """Completes the docstring of an estimator."""
        super().__init_subclass__(**kwargs)
        if is_base or not is_own(cls):
            return
        options = table(getattr(cls, "_model_name", None))
        docstrings = [vars(base)["__doc__"] for base in cls.__mro__ if is_own(base)]
        cls.__doc__ = complete(docstrings, parameters_of(cls), options)

    @contextmanager
    def _watching(self, observe=None):
        """Gives a callback for a run, which moves the progress bar and asks ``observe``. An error of the
        library about an option becomes one about the parameter that the option is."""
        bar = ProgressBar(type(self).__name__, self.tol) if self.verbose else None

        def watch(record, weights):
            bar(record)
            return observe is not None and observe(record, weights)

        try:
            yield observe if bar is None else watch
        except _core.OptionError as error:
            raise ValueError(sentence(*error.args, self._get_param_names())) from None
        finally:
            if bar is not None:
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

    def _warn_unless_certified(self):
        """Warns of a run that ended before its gap was as small as ``tol`` asks."""
        if getattr(self, "validation_fraction", 0):
            # The held-out examples chose the weights; the gap belongs to other weights.
            return
        name, status, certificate = type(self).__name__, self.status_, self.certificate_
        if certificate.local_gap is not None:
            is_near = certificate.local_gap <= self.tol * abs(certificate.objective)
            if status in ("converged", "stalled") or is_near:
                return
            text = f"{name} stopped ({status}) at a local gap of {certificate.local_gap:.2e}."
        elif certificate.certified:
            return
        elif status == "converged" and certificate.lower_bound is not None:
            # Where the objective is zero to rounding, only the absolute gap can be small.
            return
        elif status == "stalled" and self.tol == 0 and certificate.lower_bound is not None:
            # Rounding is what was asked for.
            return
        else:
            gap = certificate.relative_gap
            found = "no bound was proven" if gap is None else f"the gap is {gap:.2e}"
            text = (
                f"{name} stopped ({status}) before it could certify a relative gap of "
                f"{self.tol:g}: {found}."
            )
        warnings.warn(text, ConvergenceWarning, stacklevel=_users_level())


def _users_level():
    """How many frames above the caller's the user's own code is."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back and frame.f_globals.get("__name__", "").startswith(
        ("minorant.", "sklearn.")
    ):
        level, frame = level + 1, frame.f_back
    return level


class StrengthMixin(Declared):
    """The strength of the regularizer, said in one of two ways; not for use by itself.

    Parameters
    ----------
    C : float, default=None
        Strength of the data term: λ = 1/(C Σ sample_weight). 1 if neither ``C`` nor ``lam`` is given.
    lam : float, default=None
        λ itself, instead of ``C``.

    Attributes
    ----------
    lam_ : float
        λ.
    """

    C: float | None = None
    lam: float | None = None

    lam_: float = fitted()


class NoTableMixin:
    """Tells scikit-learn that examples are not rows of one table, but sequences or whatever a
    structure takes."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.target_tags.required = True
        return tags


class ModelEstimator(CertifiedEstimator, is_base=True):
    """Base of the estimators that a model file can hold; not for use by itself.

    Parameters
    ----------
    n_jobs : int, default=None
        Threads; None means 1, -1 all processors. The result has the same bits for any number.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes or labels in order.
    n_features_in_ : int
        Number of features.
    """

    n_jobs: int | None = None

    classes_: NDArray[Any] = fitted()
    n_features_in_: int = fitted()

    #: The library's name of the model.
    _model_name: ClassVar[str]
    #: All estimators that name their model, for files to be loaded by.
    _known: ClassVar[list[Any]] = []
    #: Whether examples have classes.
    _has_classes: ClassVar[bool] = True
    #: Where files have the classes, and whether numbers are texts there.
    _classes_key, _has_texts = "classes", False
    #: Evaluations after which a run ends where ``max_evals`` does not say; None for no limit.
    _most_evals: ClassVar[int | None] = MOST_EVALS

    def __init_subclass__(cls, is_base=False, **kwargs):
        super().__init_subclass__(is_base, **kwargs)
        if "_model_name" in vars(cls):
            cls._known.append(cls)

    def __sklearn_is_fitted__(self):
        # Callbacks are shown estimators that have weights, but no model yet.
        return hasattr(self, "_model") or hasattr(self, "coef_")

    # Training

    def _options(self, model=None):
        """The parameters that are options of the library's model, by their names there. Their
        values are checked by the library."""
        known = table(model or self._model_name)
        given = {option_of(name): kept for name, kept in self.get_params(deep=False).items()}
        options = {name: value for name, value in given.items() if name in known}
        options["threads"] = self._threads()
        if "seed" in options:
            options["seed"] = seed(self.random_state)
        return options

    def _threads(self):
        return effective_n_jobs(self.n_jobs)

    def _train(self, examples, classes, options, *, model=None, observe=None, keep=False, **how):
        """Trains, and takes over what the run leaves. Where an exception ended the run, its results
        are taken over only if ``keep`` is set."""
        if options.get("max_evals") is None and self._most_evals is not None:
            # Some methods never prove that they have arrived.
            problems = len(classes) if getattr(self, "multi_class", "joint") == "ovr" else 1
            options = {**options, "max_evals": self._most_evals * problems}
        with self._watching(observe) as callback:
            found, counts, trace, raised = _core.train(
                model or self._model_name, examples, options, callback=callback, **how
            )
        if raised is not None and not keep:
            raise raised
        if self._has_classes:
            self.classes_ = classes
        self._finish(found, counts, Trace(trace))
        if raised is not None:
            raise raised
        self._warn_unless_certified()

    def _finish(self, model, counts, trace):
        """Takes over what a run has left."""
        self._take(model)
        self.trace_ = trace
        self.n_iter_, self.n_evaluations_ = counts

    def _take(self, model):
        """Takes over what a trained model has, from a run or from a file."""
        self._model = model
        header = model.header
        self.method_, self.status_ = header["solver"], header["status"]
        if header["lambda"] is not None:
            self.lam_ = header["lambda"]
        objective, bound = header["objective"], header["lower_bound"]
        # A local gap says nothing more where a bound is known.
        local_gap = header["local_gap"] if bound is None else None
        objective = math.inf if objective is None else objective
        self.certificate_ = Certificate(objective, bound, header["tol"], local_gap)
        self._take_weights(header, model.arrays)

    # Files

    def save(self, path: FileName) -> None:
        """Saves the fitted model in the format of the command ``minorant``.

        Parameters
        ----------
        path : str or path-like
            The file to write. It appears whole or not at all. A kernel that is a function is not
            in it: the model is then one with a precomputed kernel.
        """
        check_is_fitted(self)
        notes = self._notes()
        text = json.dumps(notes, sort_keys=True) if notes else None
        self._model.noted(text).save(path)

    def _notes(self):
        """What a file has to keep besides the model for the estimator to come back as it is."""
        notes = {}
        if self._has_classes and not same_classes(self._classes_of_names(self._model.header), self.classes_):
            notes["classes"] = note_of_classes(self.classes_)
        if hasattr(self, "feature_names_in_"):
            notes["feature_names"] = [str(name) for name in self.feature_names_in_]
        return notes

    def __getstate__(self):
        state = super().__getstate__()
        if "_model" in state:
            # As the bytes of a file, which every way to keep objects can keep.
            state = {**state, "_model": state["_model"].to_bytes()}
        return state

    def __setstate__(self, state):
        if isinstance(state.get("_model"), bytes):
            state = {**state, "_model": _core.Model.from_bytes(state["_model"])}
        super().__setstate__(state)

    @classmethod
    def load(cls, path: FileName) -> Self:
        """Loads a model that :meth:`save` or the command ``minorant`` wrote.

        Parameters
        ----------
        path : str or path-like
            The file.

        Returns
        -------
        estimator : object
            A fitted estimator. The file holds no trace. Labels come back as :meth:`save` found
            them; those that the command wrote are integers or floats where they look like such,
            else strings.
        """
        model = _core.Model.load(path)
        if not cls._can_take(model.header):
            raise ValueError(
                f"{path} holds another model than {cls.__name__}: {model.header['model']}"
            )
        return cls._of_model(path, model)

    @classmethod
    def _of_model(cls, path, model):
        """The estimator that holds the model of a file."""
        header = model.header
        estimator = cls(**cls._parameters_of(header, model.arrays))
        if cls._has_classes:
            estimator.classes_ = cls._classes_of(header)
        estimator.n_features_in_ = header.get("features")
        names = _noted(header).get("feature_names")
        if names is not None:
            estimator.feature_names_in_ = np.array(names, dtype=object)
        estimator._take(model)
        estimator.trace_ = Trace()
        # Files of earlier versions do not have the counts.
        if header.get("iterations") is not None:
            estimator.n_iter_ = header["iterations"]
            estimator.n_evaluations_ = header["evaluations"]
        return estimator

    @classmethod
    def _can_take(cls, header):
        """Whether a model of a file is one of this estimator's."""
        return header["model"] == cls._model_name

    @classmethod
    def _classes_of(cls, header):
        """The classes of a model of a file."""
        found, note = cls._classes_of_names(header), _noted(header).get("classes")
        if note is None:
            return found
        noted = classes_of_note(note)
        if len(noted) != len(found):
            raise ValueError(f"the file notes {len(noted)} classes, but its model has {len(found)}")
        return noted

    @classmethod
    def _classes_of_names(cls, header):
        """The classes as the library's own names tell them."""
        return (classes_of_texts if cls._has_texts else classes_of)(header[cls._classes_key])

    @classmethod
    def _parameters_of(cls, header, arrays):
        """The parameters that a model of a file was trained with, as far as the file keeps them."""
        known = table(cls._model_name)
        found = {"tol": header["tol"]}
        if header["lambda"] is not None:
            found["lam"] = header["lambda"]
        for name in cls._get_param_names():
            key = known.get(option_of(name), {}).get("stored")
            if header.get(key) is not None:
                found[name] = header[key]
        return found


def _noted(header):
    """What :meth:`ModelEstimator.save` has noted in a header."""
    notes = header.get("python")
    return notes if isinstance(notes, dict) else {}


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
    model = _core.Model.load(path)
    for estimator in ModelEstimator._known:
        if estimator._can_take(model.header):
            return estimator._of_model(path, model)
    raise ValueError(
        f"{path} holds a {model.header['model']}, for which there is no estimator: use the command minorant"
    )
