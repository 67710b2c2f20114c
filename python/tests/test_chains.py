"""Chains: sequences of every kind, against brute force and against each other."""

import itertools
import os
import pickle
import subprocess

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import minorant
from minorant import ChainCRF, ChainSVM

COMMAND = os.environ.get("MINORANT_COMMAND")


def words(count=30, seed=0):
    """Sequences of noisy one-hot rows whose labels tend to go on by one."""
    rng = np.random.default_rng(seed)
    X, y = [], []
    for _ in range(count):
        length = int(rng.integers(1, 6))
        labels = (rng.integers(3) + np.arange(length)) % 3
        X.append(np.eye(4)[labels] + 0.5 * rng.standard_normal((length, 4)))
        y.append(labels)
    return X, y


def score(model, x, labels):
    total = (x @ model.coef_.T + model.intercept_)[np.arange(len(labels)), labels].sum()
    total += model.transitions_[labels[:-1], labels[1:]].sum()
    return total + model.start_[labels[0]] + model.end_[labels[-1]]


def outputs(length):
    return [np.array(labels) for labels in itertools.product(range(3), repeat=length)]


@pytest.mark.parametrize("per", ["sequence", "token"])
@pytest.mark.parametrize("estimator", [ChainSVM(tol=1e-9), ChainCRF(tol=1e-9)])
def test_weights_equal_repetition(estimator, per):
    X, y = words()
    times = np.arange(len(X)) % 4
    repeated = [[s for s, n in zip(seq, times, strict=True) for _ in range(n)] for seq in (X, y)]
    weighted = clone(estimator).set_params(per=per).fit(X, y, sample_weight=times)
    often = clone(estimator).set_params(per=per).fit(*repeated)
    assert weighted.lam_ == pytest.approx(often.lam_, rel=1e-14)
    objective = weighted.certificate_.objective
    assert objective == pytest.approx(often.certificate_.objective, rel=2e-9)


@pytest.mark.parametrize(
    ("weights", "words_of_it"),
    [
        (np.ones(29), "expected 30 example weights, one a sequence, found 29"),
        (np.full(30, -1.0), "found -1 for sequence 1"),
        (np.full(30, np.nan), "found NaN for sequence 1"),
        (np.zeros(30), "some example weight above 0"),
    ],
)
def test_weights_that_are_none(weights, words_of_it):
    X, y = words()
    with pytest.raises(ValueError, match=words_of_it):
        ChainCRF().fit(X, y, sample_weight=weights)


@pytest.mark.parametrize("changes", [{}, {"boundary": True, "bias": 2.0}, {"pairs": "observed"}])
def test_svm_against_brute_force(changes):
    X, y = words()
    model = ChainSVM(lam=0.1, tol=1e-4, **changes).fit(X, y)
    losses = [
        max((o != t).sum() + score(model, x, o) for o in outputs(len(t))) - score(model, x, t)
        for x, t in zip(X, y, strict=True)
    ]
    weights = model._model.arrays["weights"]
    expected = 0.05 * weights @ weights + np.mean(losses)
    assert model.certificate_.objective == pytest.approx(expected, rel=1e-9)
    assert model.certificate_.certified and model.certificate_.relative_gap <= 1e-4
    for x, found in zip(X, model.predict(X), strict=True):
        best = max(outputs(len(x)), key=lambda o: score(model, x, o))
        assert np.array_equal(found, best)
    assert model.score(X, y) > 0.7 and model.trace_.rows > 1 and model.n_evaluations_ > 1


@pytest.mark.parametrize("changes", [{}, {"boundary": True, "bias": 0.5}])
def test_crf_against_brute_force(changes):
    X, y = words()
    model = ChainCRF(lam=0.1, tol=1e-6, **changes).fit(X, y)
    losses = []
    for x, truth, found in zip(X, y, model.predict_marginals(X), strict=True):
        scores = np.array([score(model, x, o) for o in outputs(len(x))])
        total = np.logaddexp.reduce(scores)
        losses.append(total - score(model, x, truth))
        marginals = np.zeros((len(x), 3))
        for o, s in zip(outputs(len(x)), scores, strict=True):
            marginals[np.arange(len(x)), o] += np.exp(s - total)
        np.testing.assert_allclose(found, marginals, atol=1e-10)
    weights = model._model.arrays["weights"]
    expected = 0.05 * weights @ weights + np.mean(losses)
    assert model.certificate_.objective == pytest.approx(expected, rel=1e-9)
    assert model.certificate_.certified


def test_l1_makes_sparse_weights():
    X, y = words()
    model = ChainCRF(lam=0.1, penalty="l1").fit(X, y)
    assert (model._model.arrays["weights"] == 0).sum() > 5


def test_all_kinds_of_sequences_agree():
    X, y = words()
    X = [x.astype(np.float32) for x in X]
    expected = ChainCRF(lam=0.1, tol=1e-9).fit([x.astype(float) for x in X], y)
    dicts = [[{f"f{j}": value for j, value in enumerate(row)} for row in x.tolist()] for x in X]
    for kind in (X, [sparse.csr_array(x) for x in X], [x.tolist() for x in X], dicts):
        model = ChainCRF(lam=0.1, tol=1e-9).fit(kind, y)
        np.testing.assert_allclose(model.coef_, expected.coef_, atol=1e-5)
        for a, b in zip(model.predict(kind), expected.predict(X), strict=True):
            assert np.array_equal(a, b)
    assert ChainCRF().fit(dicts, y).feature_names_ == ["f0", "f1", "f2", "f3"]


def rows_of(tokens):
    """The rows of tokens, as they were handed over."""
    columns, starts, indices, values = tokens.features
    shape = len(starts) - 1, columns
    return sparse.csr_array((values, indices.astype(int), starts.astype(int)), shape).toarray()


def test_attributes_as_crfsuite_takes_them():
    tokens = minorant._sequences.tokens_of(
        [
            [
                {"word": "dog", "upper": True, "lower": False, "length": 3, "in": {"a": "b"}},
                {"tags": ["x", "y"], "again": {"deep": {"er": 0.5}}},
            ],
            [],
            [["plain", "plain", "other"]],
        ]
    )
    rows = [
        {"word:dog": 1, "upper": 1, "length": 3, "in:a:b": 1},
        {"tags:x": 1, "tags:y": 1, "again:deep:er": 0.5},
        {"plain": 2, "other": 1},
    ]
    assert tokens.starts.tolist() == [0, 2, 2, 3]
    for row, expected in zip(rows_of(tokens), rows, strict=True):
        assert {tokens.names[j]: row[j] for j in np.flatnonzero(row)} == expected
    few = minorant._sequences.tokens_of([[["a", "b"], ["a"]], [["a", "c"]]], min_count=2)
    assert few.names == ["a"] and rows_of(few).tolist() == [[1], [1], [1]]


def test_labels_come_out_as_they_went_in(tmp_path):
    X, y = words()
    for names in (np.array(["B-X", "I-X", "O"]), np.array([10, 20, 5])):
        labels = [names[t].tolist() for t in y]
        model = ChainSVM(lam=0.1).fit(X, labels)
        assert set(np.concatenate(model.predict(X))) <= set(names.tolist())
        model.save(tmp_path / "model")
        for again in (minorant.load(tmp_path / "model"), pickle.loads(pickle.dumps(model))):
            assert type(again) is ChainSVM and again.lam_ == model.lam_
            assert again.certificate_ == model.certificate_
            for a, b in zip(again.predict(X), model.predict(X), strict=True):
                assert np.array_equal(a, b)
    with pytest.raises(ValueError, match="another model"):
        ChainCRF.load(tmp_path / "model")
    assert clone(model).get_params() == model.get_params()
    assert "certified" in model._repr_html_()


def test_unseen_attributes_empty_sequences_one_label():
    X = [[{"a": 1.0}], [{"b": 1.0}, {"a": 1.0}], []]
    y = [["N"], ["V", "N"], []]
    model = ChainCRF(C=10.0).fit(X, y)
    found = model.predict([[{"zzz": 1.0}, {"b": True}], [], [{"a": 1.0}]])
    assert [labels.tolist() for labels in found] == [["V", "V"], [], ["N"]] or len(found) == 3
    assert [len(labels) for labels in found] == [2, 0, 1]
    assert [m.shape for m in model.predict_marginals([[{}], []])] == [(1, 2), (0, 2)]
    assert model.predict([]) == []
    one = ChainCRF().fit([np.ones((2, 1))], [["x", "x"]])
    assert one.predict([np.ones((3, 1))])[0].tolist() == ["x", "x", "x"]


def test_threads_give_the_same_bits():
    X, y = words(200)
    for estimator in (ChainSVM(lam=0.01), ChainCRF(lam=0.01)):
        found = [
            estimator.set_params(n_jobs=n).fit(X, y)._model.arrays["weights"].tobytes()
            for n in (1, 2, 4)
        ]
        assert found[0] == found[1] == found[2]


def test_label_loss_and_per_token():
    X, y = words()
    costs = [[0, 1, 2], [1, 0, 1], [3, 1, 0]]
    model = ChainSVM(lam=0.1, label_loss=costs, per="token").fit(X, y)
    costs = np.array(costs)
    losses = [
        max(costs[t, o].sum() + score(model, x, o) for o in outputs(len(t))) - score(model, x, t)
        for x, t in zip(X, y, strict=True)
    ]
    weights = model._model.arrays["weights"]
    expected = 0.05 * weights @ weights + np.sum(losses) / sum(len(t) for t in y)
    assert model.certificate_.objective == pytest.approx(expected, rel=1e-9)


def test_a_run_that_stops_early_warns():
    X, y = words()
    with pytest.warns(ConvergenceWarning, match="max-evals"):
        ChainSVM(lam=1e-4, max_evals=3).fit(X, y)


@pytest.mark.parametrize(
    ("X", "y", "words"),
    [
        ([np.ones((2, 2))], [["a"]], "expected 2 labels in sequence 0, got 1"),
        ([np.ones((2, 2))], [["a", "b"], ["a"]], "1 sequences, got 2"),
        ([np.ones((2, 2)), np.ones((1, 3))], [["a", "b"], ["a"]], "3 features, expected 2"),
        ([np.full((1, 1), np.nan)], [["a"]], "NaN"),
        ([[{"x": object()}]], [["a"]], "must be a number"),
        ([["text"]], [["a"]], "expected a dict"),
        ([[{"a\nb": 1}]], [["a"]], "line break"),
        (np.ones(3), [["a"]], "array of numbers"),
        ({"text": 1}, [["a"]], "list of sequences"),
        ([], [], "at least one token"),
    ],
)
def test_bad_sequences(X, y, words):
    with pytest.raises(ValueError, match=words):
        ChainCRF().fit(X, y)


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"C": 1.0, "lam": 1.0}, "C does not go together with lam"),
        ({"pairs": "some"}, "pairs must be"),
        ({"per": "word"}, "per must be"),
        ({"bias": "x"}, "bias must be"),
        ({"method": "newton"}, "method 'newton' does not exist for chain-crf"),
        ({"penalty": "l3"}, "penalty must be"),
        ({"min_count": 0.5}, "min_count must be"),
    ],
)
def test_bad_parameters(parameters, words):
    with pytest.raises(ValueError, match=words):
        ChainCRF(**parameters).fit([np.ones((2, 1))], [["a", "b"]])


@pytest.mark.skipif(COMMAND is None, reason="MINORANT_COMMAND does not name the command")
def test_the_command_shares_files(tmp_path):
    X, y = words()
    names = ["A", "B", "C"]
    text = "\n".join(
        "".join(
            f"{names[label]}\t" + "\t".join(f"f{j}:{v:.3f}" for j, v in enumerate(row)) + "\n"
            for row, label in zip(x, t, strict=True)
        )
        for x, t in zip(X, y, strict=True)
    )
    (tmp_path / "data.txt").write_text(text)
    data, file = str(tmp_path / "data.txt"), str(tmp_path / "model")
    dicts = [[{f"f{j}": float(f"{v:.3f}") for j, v in enumerate(row)} for row in x] for x in X]

    def run(*arguments):
        done = subprocess.run([COMMAND, *arguments], check=True, capture_output=True, text=True)
        return done.stdout

    ours = ChainSVM(lam=0.1).fit(dicts, [[names[label] for label in t] for t in y])
    ours.save(file)
    predicted = run("predict", file, data, "--format", "crfsuite").split()
    assert predicted == np.concatenate(ours.predict(dicts)).tolist()
    assert "holds" in run("audit", file, data, "--format", "crfsuite")
    arguments = ("chain-crf", data, "--format", "crfsuite", "--lambda", "0.1", "--out", file)
    run("train", *arguments)
    theirs = minorant.load(file)
    predicted = run("predict", file, data, "--format", "crfsuite").split()
    assert predicted == np.concatenate(theirs.predict(dicts)).tolist()


def test_scores_need_tokens_and_labels():
    X, y = [np.eye(2)] * 3, [["a", "b"]] * 3
    model = minorant.ChainSVM().fit(X, y)
    for inputs, labels, why in (
        ([], [], "at least one token to score"),
        ([np.zeros((0, 2))], [[]], "at least one token to score"),
        (X, y[:1], "labels for 3 sequences, got 1"),
        (X, [["a"]] * 3, "expected 2 labels in sequence 0, got 1"),
    ):
        with pytest.raises(ValueError, match=why):
            model.score(inputs, labels)


def test_sequences_without_labels():
    X, y = words(60)
    some = [labels if at % 3 == 0 else None for at, labels in enumerate(y)]
    model = minorant.TransductiveChainSVM(lam=0.05, gamma=0.3).fit(X, some)
    assert not model.certificate_.certified and model.certificate_.lower_bound is None
    assert model.certificate_.local_gap is not None
    assert model.classes_.tolist() == [0, 1, 2]
    assert model.score(X, y) > 0.6
    # Without weight for the others it is the machine of the sequences with labels.
    own = ChainSVM(lam=0.05).fit(X[::3], y[::3]).certificate_.objective
    zero = minorant.TransductiveChainSVM(lam=0.05, gamma=0.0).fit(X, some)
    assert zero.certificate_.objective == pytest.approx(own, rel=5e-3)
    assert minorant.TransductiveChainSVM(lam=0.05).fit(X, y).certificate_.certified
    with pytest.raises(ValueError, match="None for all"):
        minorant.TransductiveChainSVM().fit(X, [None] * len(X))
    with pytest.raises(ValueError, match="expected labels for 60 sequences"):
        minorant.TransductiveChainSVM().fit(X, some[:-1])


def test_sequences_without_labels_come_back(tmp_path):
    X, y = words(24)
    some = [labels if at % 2 == 0 else None for at, labels in enumerate(y)]
    model = minorant.TransductiveChainSVM(lam=0.1, gamma=0.2).fit(X, some)
    model.save(tmp_path / "model")
    again = minorant.load(tmp_path / "model")
    assert type(again) is minorant.TransductiveChainSVM and again.gamma == 0.2
    for one, other in zip(model.predict(X), again.predict(X), strict=True):
        assert np.array_equal(one, other)
