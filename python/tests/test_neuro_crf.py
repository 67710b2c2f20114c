"""Networks under a chain: against a plain recomputation, in files, and what is refused."""

import itertools
import warnings
import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import minorant
from minorant import NeuroCRF


def words(count=40, seed=0, dtype=float):
    """Sequences whose labels are an exclusive or of the first two columns."""
    rng = np.random.default_rng(seed)
    X = [rng.integers(0, 2, (int(rng.integers(1, 5)), 3)).astype(dtype) for _ in range(count)]
    return X, [(x[:, 0] != x[:, 1]).astype(int) for x in X]


def scores(model, x):
    squash = {
        "sigmoid": lambda z: 1 / (1 + np.exp(-z)),
        "tanh": np.tanh,
        "relu": lambda z: np.maximum(z, 0),
    }[model.activation]
    *layers, (top, bias) = zip(model.coefs_, model.intercepts_, strict=True)
    for weights, biases in layers:
        x = squash(x @ weights + biases)
    return x @ top + bias


def score(model, nodes, labels):
    labels = np.asarray(labels)
    pairs = model.transitions_[labels[:-1], labels[1:]].sum()
    ends = model.start_[labels[0]] + model.end_[labels[-1]]
    return nodes[np.arange(len(labels)), labels].sum() + pairs + ends


@pytest.mark.parametrize(
    ("activation", "pretrain", "boundary"),
    [("sigmoid", "rbm", False), ("tanh", "none", True), ("relu", "none", False)],
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_objective_and_predictions_against_brute_force(activation, pretrain, boundary, dtype):
    X, y = words(dtype=dtype)
    model = NeuroCRF(
        (5, 4), activation=activation, pretrain=pretrain, boundary=boundary, lam=1e-3, max_evals=60
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, y)
    losses = []
    for x, labels, found, marginals in zip(
        X, y, model.predict(X), model.predict_marginals(X), strict=True
    ):
        nodes = scores(model, x.astype(float))
        every = list(itertools.product(range(2), repeat=len(x)))
        values = np.array([score(model, nodes, o) for o in every])
        losses.append(np.logaddexp.reduce(values) - score(model, nodes, labels))
        assert np.array_equal(found, every[int(values.argmax())])
        shares = np.exp(values - np.logaddexp.reduce(values))
        first = sum(share for share, o in zip(shares, every, strict=True) if o[0] == 1)
        assert marginals[0, 1] == pytest.approx(first, abs=1e-9)
    away = model._model.arrays["weights"] - model._model.arrays["start"]
    expected = 0.5e-3 * away @ away + np.mean(losses)
    assert model.certificate_.objective == pytest.approx(expected, rel=1e-9)
    assert model.certificate_.lower_bound is None and model.certificate_.local_gap >= 0
    assert model.trace_.rows > 1 and model.n_evaluations_ <= 60


def test_weights_equal_repetition():
    X, y = words()
    times = np.arange(len(X)) % 4
    model = NeuroCRF((4,), pretrain="none", max_evals=3, random_state=0)
    repeated = [[s for s, n in zip(seq, times, strict=True) for _ in range(n)] for seq in (X, y)]
    with pytest.warns(ConvergenceWarning):
        weighted = model.fit(X, y, sample_weight=times).certificate_.objective
        often = model.fit(*repeated).certificate_.objective
    assert weighted == pytest.approx(often, rel=1e-9)


def test_it_learns_is_repeatable_and_survives_files(tmp_path):
    X, y = words(80)
    model = NeuroCRF((8,), activation="tanh", pretrain="none", lam=1e-4, random_state=1)
    model.fit(X, y)
    assert model.score(X, y) == 1.0
    again = clone(model).set_params(n_jobs=2).fit(X, y)
    assert np.array_equal(model._model.arrays["weights"], again._model.arrays["weights"])
    model.save(tmp_path / "model")
    for other in (minorant.load(tmp_path / "model"), pickle.loads(pickle.dumps(model))):
        assert isinstance(other, NeuroCRF) and other.hidden == (8,)
        assert other.certificate_ == model.certificate_
        assert all(map(np.array_equal, other.predict(X), model.predict(X)))
    with pytest.raises(ValueError, match="another model"):
        minorant.ChainCRF.load(tmp_path / "model")


def test_a_share_is_held_out(tmp_path):
    X, y = words(80)
    model = NeuroCRF((4,), pretrain="none", lam=1e-4, max_evals=20, validation_fraction=0.25)
    model.fit(X, y)
    assert 0 <= model.validation_error_ < 0.6
    model.save(tmp_path / "model")
    again = minorant.load(tmp_path / "model")
    assert again.validation_fraction == 0.25
    assert again.validation_error_ == model.validation_error_
    assert NeuroCRF((4,), pretrain="none", max_evals=200).fit(X, y).validation_error_ is None


@pytest.mark.parametrize(
    ("changes", "words_of_it"),
    [
        ({"hidden": ()}, "hidden"),
        ({"hidden": (3, 0)}, "hidden"),
        ({"activation": "step"}, "activation"),
        ({"pretrain": "dbn"}, "pretrain"),
        ({"per": "letter"}, "per"),
        ({"lam": -1.0}, "lam"),
        ({"validation_fraction": 1.0}, "validation_fraction must be a number from 0 to below 1"),
    ],
)
def test_what_is_refused(changes, words_of_it):
    with pytest.raises(ValueError, match=words_of_it):
        NeuroCRF(**{"hidden": (3,), **changes}).fit(*words(4))


@pytest.mark.parametrize("hidden", [2.5, (2.5,), (), (0,), -1, True, "x", (3, "a"), np.array([2.5])])
def test_hidden_layers_are_whole_numbers(hidden):
    with pytest.raises(ValueError, match="hidden must be a whole number of 1 or more, or"):
        minorant.NeuroCRF(hidden=hidden).fit([np.eye(2)], [["a", "b"]])
