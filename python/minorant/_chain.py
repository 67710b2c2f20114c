"""What the estimators of chains share: sequences in, sequences of labels out."""

from numbers import Integral, Real

import numpy as np
from joblib import effective_n_jobs
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from . import _core
from ._features import hand_over
from ._linear import warn_unless_certified
from ._parameters import positive, seed
from ._progress import ProgressBar
from ._results import Certificate, Trace, html_table, number
from ._sequences import labels_of, tokens_of


class ChainEstimator(BaseEstimator):
    """Base of the chains; not for use by itself."""

    #: The library's name of the model.
    _model_name = "chain-svm"

    def fit(self, X, y):
        """Trains.

        Parameters
        ----------
        X : list of sequences
            For each sequence an array or a sparse matrix with a row for each token, or a list with
            the attributes of each token: dicts, or lists of strings.
        y : list of sequences
            The labels of the tokens of each sequence.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        settings = self._settings()
        least = positive("min_count", self.min_count, Integral) or 0
        tokens = tokens_of(X, min_count=least)
        classes, numbers = labels_of(y, tokens)
        bar = ProgressBar(type(self).__name__, self.tol) if self.verbose else None
        watch = None if bar is None else lambda record, weights: bar(record)
        try:
            model, report, trace, raised = self._run(tokens, classes, numbers, settings, watch)
        finally:
            if bar is not None:
                bar.close()
        if raised is not None:
            raise raised
        self.classes_ = classes
        self._take(model)
        self.trace_ = Trace(trace)
        self.n_iter_ = int(report["iterations"])
        self.n_evaluations_ = int(report["evaluations"])
        warn_unless_certified(self, stacklevel=3)
        return self

    def _run(self, tokens, classes, numbers, settings, watch):
        """Hands everything over to the library."""
        return _core.train_chain(
            self._model_name,
            hand_over(tokens.features),
            tokens.starts,
            tokens.names,
            [str(c) for c in classes.tolist()],
            numbers,
            {**settings, "label_loss": self._costs(classes)},
            watch,
        )

    def _common_settings(self):
        """The settings that all models of sequences have, checked."""
        lam, c = positive("lam", self.lam), positive("C", self.C)
        if lam is not None and c is not None:
            raise ValueError("lam and C say the same in two ways: give one of them")
        if not isinstance(self.tol, Real) or not 0 <= self.tol < np.inf:
            raise ValueError(f"tol must be a number of 0 or more, got {self.tol!r}")
        if self.per not in ("sequence", "token"):
            raise ValueError(f"per must be 'sequence' or 'token', got {self.per!r}")
        return {
            "boundary": bool(self.boundary),
            "per": self.per,
            "lam": lam,
            "c": c,
            "method": self.method,
            "memory": None,
            "seed": seed(self.random_state),
            "tol": float(self.tol),
            "max_evals": positive("max_evals", self.max_evals, Integral),
            "max_seconds": positive("max_seconds", self.max_seconds),
            "threads": effective_n_jobs(self.n_jobs),
        }

    def _settings(self):
        settings = self._common_settings()
        if self.pairs not in ("all", "observed"):
            raise ValueError(f"pairs must be 'all' or 'observed', got {self.pairs!r}")
        if self.bias is not None and (
            not isinstance(self.bias, Real) or not np.isfinite(self.bias)
        ):
            raise ValueError(f"bias must be a finite number or None, got {self.bias!r}")
        return {
            **settings,
            "penalty": "l2",
            "observed_pairs": self.pairs == "observed",
            "bias": None if self.bias is None else float(self.bias),
        }

    def _costs(self, classes):
        """What wrong labels cost, row by row; None for 1 each."""
        return None

    def _take(self, model):
        """Takes weights and certificate over from a trained model."""
        self._model = model
        self.feature_names_ = model.attributes
        self.n_features_in_ = model.features
        self.lam_ = model.lam
        self.method_ = model.method
        self.status_ = model.status
        self.certificate_ = Certificate(model.objective, model.lower_bound, model.tol)
        self.coef_, self.transitions_, self.intercept_, ends = _unpack(model)
        self.start_, self.end_ = ends

    # Prediction

    def _tokens(self, X):
        check_is_fitted(self)
        names = self.feature_names_
        return tokens_of(X, names=names, width=None if names is not None else self.n_features_in_)

    def predict(self, X):
        """Labels of sequences.

        Parameters
        ----------
        X : list of sequences
            As for :meth:`fit`. Attributes that the training data did not have are ignored.

        Returns
        -------
        labels : list of ndarray
            The labels of the tokens of each sequence.
        """
        check_is_fitted(self)
        if not len(X):
            return []
        tokens = self._tokens(X)
        threads = effective_n_jobs(self.n_jobs)
        found = self._model.predict(hand_over(tokens.features), tokens.starts, threads)
        return tokens.split(self.classes_[found])

    def score(self, X, y):
        """The share of tokens whose label is right.

        Parameters
        ----------
        X : list of sequences
            The sequences.
        y : list of sequences
            Their labels.

        Returns
        -------
        score : float
            The share.
        """
        predicted = self.predict(X)
        right = [np.asarray(p) == np.asarray(t) for p, t in zip(predicted, y, strict=True)]
        return float(np.concatenate(right).mean())

    # Files

    def save(self, path):
        """Saves the fitted model in the format of the command ``minorant``.

        Parameters
        ----------
        path : str or path-like
            The file to write. It appears whole or not at all.
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
            A fitted estimator. The file holds no trace, and labels come back as integers or
            strings.
        """
        model = cls._load_model(path)
        if model.name != cls._model_name:
            raise ValueError(f"{path} holds another model than {cls.__name__}")
        if model.is_hashed:
            raise ValueError(f"the attributes of {path} are hashed: only the command can use it")
        estimator = cls(**cls._parameters_of(model))
        estimator.classes_ = _classes(model.classes)
        estimator._take(model)
        estimator.trace_ = Trace()
        return estimator

    @classmethod
    def _load_model(cls, path):
        return _core.Chain.load(path)

    @classmethod
    def _parameters_of(cls, model):
        return {
            "lam": model.lam,
            "tol": model.tol,
            "pairs": "all" if model.pairs() is None else "observed",
            "boundary": model.boundary,
            "bias": model.bias,
            "per": model.per,
        }

    def _repr_html_inner(self):
        page = super()._repr_html_inner()
        if not hasattr(self, "certificate_"):
            return page
        return page + html_table(
            {
                "method": self.method_,
                "status": self.status_,
                "objective": number(self.certificate_.objective),
                **self.certificate_._proven(),
                "lambda": number(self.lam_),
            }
        )


def _unpack(model):
    """Weights of attributes, of label pairs, of the constant and of the ends."""
    weights, pairs = model.weights(), model.pairs()
    attributes, labels = model.features, len(model.classes)
    if pairs is None:
        at = attributes * labels
        coef = weights[:at].reshape(attributes, labels).T
    else:
        starts, rows, _ = pairs
        at = len(rows)
        shape = (labels, attributes)
        coef = sparse.csc_array((weights[:at], np.array(rows, dtype=np.int64), starts), shape=shape)
    intercept = np.zeros(labels)
    if model.bias is not None:
        intercept = model.bias * weights[at : at + labels]
        at += labels
    transitions = np.zeros(labels * labels)
    listed = slice(None) if pairs is None else np.array(pairs[2], dtype=np.int64)
    count = labels * labels if pairs is None else len(pairs[2])
    transitions[listed] = weights[at : at + count]
    at += count
    ends = (np.zeros(labels), np.zeros(labels))
    if model.boundary:
        ends = (weights[at : at + labels], weights[at + labels : at + 2 * labels])
    return coef, transitions.reshape(labels, labels), intercept, ends


def _classes(names):
    try:
        return np.array([int(name) for name in names])
    except ValueError:
        return np.array(names)
