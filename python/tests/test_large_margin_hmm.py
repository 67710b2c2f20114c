"""Large-margin hidden Markov models in Python."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError

import minorant
from minorant import LargeMarginHMM


def words(n=60, seed=0):
    """Sequences whose classes differ in where their frames go."""
    rng = np.random.default_rng(seed)
    X, y = [], []
    for k in range(n):
        label, length = k % 3, rng.integers(5, 10)
        way = np.linspace(0.0, 2.0, length)[:, None] * [1.0, -1.0] * (label - 1)
        X.append(way + 1.2 * rng.normal(size=(length, 2)))
        y.append(["down", "flat", "up"][label])
    return X, np.array(y)


def phones(n=30, seed=0):
    """Sequences of labelled frames."""
    rng = np.random.default_rng(seed)
    X, y = [], []
    for _ in range(n):
        labels = np.repeat(rng.integers(0, 3, size=5), rng.integers(2, 6))
        X.append(labels[:, None] + rng.normal(size=(len(labels), 2)))
        y.append(labels)
    return X, y


def test_weights_equal_repetition():
    X, y = words()
    times = np.arange(len(X)) % 4
    repeated = [x for x, n in zip(X, times, strict=True) for _ in range(n)]
    model = LargeMarginHMM(n_states=2, max_evals=1)
    with pytest.warns(ConvergenceWarning):
        weighted = model.fit(X, y, sample_weight=times)
        lam, objective = weighted.lam_, weighted.certificate_.objective
        often = model.fit(repeated, y.repeat(times))
    assert lam == pytest.approx(1 / times.sum()) and often.lam_ == pytest.approx(lam)
    assert objective == pytest.approx(often.certificate_.objective, rel=1e-9)


def test_classes_of_sequences(tmp_path):
    X, y = words()
    model = LargeMarginHMM(lam=0.1, n_mixtures=2, tol=0.05).fit(X, y)
    assert model.classes_.tolist() == ["down", "flat", "up"]
    assert model.score(X, y) >= max(0.9, model.score_at_start(X, y))
    assert model.certificate_.lower_bound is None
    assert not model.certificate_.certified
    assert model.certificate_.local_gap >= 0
    assert model.trace_["objective"][0] > model.certificate_.objective
    assert model.method_ == "nrbm-ls"
    scores = model.decision_function(X)
    assert scores.shape == (60, 3)
    assert np.array_equal(model.classes_[scores.argmax(axis=1)], model.predict(X))
    path = tmp_path / "model.safetensors"
    model.save(path)
    again = LargeMarginHMM.load(path)
    assert np.array_equal(again.predict(X), model.predict(X))
    assert (again.n_states, again.n_mixtures, again.lam) == (3, 2, 0.1)
    assert isinstance(minorant.load(path), LargeMarginHMM)
    pickled = pickle.loads(pickle.dumps(model))
    assert np.array_equal(pickled.decision_function(X), scores)
    assert clone(model).get_params() == model.get_params()


def test_labels_of_frames():
    X, y = phones()
    model = LargeMarginHMM(task="label", n_states=1, lam=0.05, tol=0.05).fit(X, y)
    predicted = model.predict(X)
    assert [len(z) for z in predicted] == [len(z) for z in y]
    assert model.score(X, y) > model.score_at_start(X, y)
    with pytest.raises(ValueError, match="no scores of classes"):
        model.decision_function(X)


def test_the_same_for_any_number_of_threads():
    X, y = words()
    one = LargeMarginHMM(lam=0.1, tol=0.1, n_jobs=1).fit(X, y)
    two = LargeMarginHMM(lam=0.1, tol=0.1, n_jobs=2).fit(X, y)
    assert one.certificate_ == two.certificate_
    assert np.array_equal(one.decision_function(X), two.decision_function(X))


def test_a_share_is_held_out():
    X, y = words(90)
    model = LargeMarginHMM(lam=1e-3, validation_fraction=0.2, max_evals=15).fit(X, y)
    assert 0 <= model.validation_error_ < 0.6
    with pytest.warns(ConvergenceWarning, match="max-evals"):
        LargeMarginHMM(lam=1e-3, max_evals=2).fit(X, y)


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"task": "guess"}, "task"),
        ({"topology": "ring"}, "topology"),
        ({"n_states": 0}, "n_states must be at least 1, not 0"),
        ({"n_mixtures": 1.5}, "n_mixtures must be a whole number, not 1.5"),
        ({"n_states": 50}, "fewer than the 50 states"),
        ({"lam": -1.0}, "lam must be a positive number"),
        ({"lam": 1.0, "C": 1.0}, "C does not go together with lam"),
        ({"group_weights": {"colours": 1.0}}, "group"),
        ({"group_weights": {"means": 0.0}}, "group_weights of means must be a positive number"),
        ({"validation_fraction": 1.5}, "validation_fraction must be a number from 0 to below 1"),
        ({"method": "bmrm"}, "method 'bmrm' does not exist for hmm"),
    ],
)
def test_bad_parameters_are_refused(parameters, sentence):
    X, y = words(12)
    with pytest.raises(ValueError, match=sentence):
        LargeMarginHMM(**parameters).fit(X, y)


def test_bad_data_is_refused():
    X, y = words(12)
    with pytest.raises(NotFittedError):
        LargeMarginHMM().predict(X)
    with pytest.raises(ValueError, match="one array of two dimensions"):
        LargeMarginHMM().fit(X[0], y)
    with pytest.raises(ValueError, match="one label for each sequence"):
        LargeMarginHMM().fit(X, y[:-1])
    with pytest.raises(ValueError, match="NaN"):
        LargeMarginHMM().fit([*X[:-1], X[-1] * np.nan], y)
    with pytest.raises(ValueError, match="sequence 1 has 3 features"):
        LargeMarginHMM().fit([X[0], np.zeros((5, 3)), *X[2:]], y)
    with pytest.raises(ValueError, match="only one class"):
        LargeMarginHMM().fit(X, ["a"] * 12)
    with pytest.raises(ValueError, match="labels in sequence 0"):
        LargeMarginHMM(task="label").fit(X, [[0]] * 12)
