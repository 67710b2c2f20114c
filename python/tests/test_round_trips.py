"""Every estimator with every kind of label: what is saved, pickled or kept by skops comes back."""

import copy
import pickle

import numpy as np
import pytest
from sklearn.base import clone

import minorant

ROWS = [
    minorant.LinearSVC(),
    minorant.LinearSVC(multi_class="ovr", class_weight="balanced"),
    minorant.LogisticRegression(),
    minorant.MultilabelSVC(),
    minorant.RampSVC(max_evals=200),
    minorant.TransductiveSVC(max_evals=200),
    minorant.S3VC(kernel="linear"),
    minorant.LatentSVC(kernel="linear", max_evals=20),
    minorant.RobustSVC(kernel="linear"),
]
SEQUENCES = [
    minorant.ChainSVM(),
    minorant.ChainCRF(),
    minorant.NeuroCRF(hidden=(3,), pretrain="none", max_evals=20),
    minorant.LargeMarginHMM(n_states=1, max_evals=20),
    minorant.LargeMarginHMM(task="label", n_states=1, max_evals=20),
]
REGRESSORS = [
    minorant.LinearSVR(epsilon=0.2),
    minorant.QuantileRegressor(),
    minorant.QuantileRegressor(quantile=[0.2, 0.8]),
]
BINARY = (minorant.LatentSVC, minorant.RobustSVC)

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def tables(count):
    """Pairs or triples of labels of every kind, drawn at random."""
    rng = np.random.default_rng(3)
    pools = [
        np.array(["01", "1", "2", "1.0", "+1", "1e0", "001", " 1", "١", "1_0", "0x1"]),
        np.array(["nan", "inf", "-inf", "NaN", "None", "True", "False", "null"]),
        np.array(["ä", "日本", "a b", "c\td", 'e"f', "\\", "é", "e\u0301", "🙂"]),
        np.array(["1", "2", "3", "10", "-7", "0"]),
        np.array(["0.5", "1.5", "2.50", "-0.25"]),
        np.array(["x", "a very much longer label than the others", "yy"]),
        np.array(["1", "02", "drei"], dtype=object),
        np.array([True, False]),
        np.array([5, 7, 9, 250], dtype=np.uint8),
        np.array([0, 3, 2**53 + 1, 2**53 + 2, 2**62 + 1], dtype=np.int64),
        np.array([0, 4, 2**63 + 1], dtype=np.uint64),
        np.array([-300, 2, 17], dtype=np.int16),
        np.array([1.0, 2.0, -3.0, 1e16]),
        np.array([1.0, 2.0, 5.0], dtype=np.float32),
        np.array(["1", "2", "10"], dtype="<U9"),
    ]
    for at in range(count):
        pool = pools[at % len(pools)]
        size = min(len(pool), 2 + at // len(pools) % 2)
        yield rng.choice(pool, size, replace=False)


TABLES = list(tables(45))


def attributes(estimator):
    kept = {name: found for name, found in vars(estimator).items() if name.endswith("_")}
    return {name: found for name, found in kept.items() if name not in ("trace_", "transduction_")}


def assert_same(again, estimator, X):
    assert type(again) is type(estimator)
    if hasattr(estimator, "classes_"):
        assert again.classes_.dtype == estimator.classes_.dtype
    found, expected = attributes(again), attributes(estimator)
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        np.testing.assert_equal(_plain(found[name]), _plain(value), err_msg=name)
    for a, b in zip(again.predict(X), estimator.predict(X), strict=True):
        assert np.asarray(a).dtype == np.asarray(b).dtype
        assert np.array_equal(a, b)


def _plain(value):
    return value.toarray() if hasattr(value, "toarray") else value


def check(estimator, X, y, folder):
    estimator = clone(estimator).fit(X, y)
    path = folder / "model"
    estimator.save(path)
    loaded = minorant.load(path)
    for again in (loaded, pickle.loads(pickle.dumps(estimator)), copy.deepcopy(estimator)):
        assert_same(again, estimator, X)
    loaded.save(folder / "again")
    assert (folder / "again").read_bytes() == path.read_bytes()
    assert_same(clone(estimator).fit(X, y), estimator, X)


def name_of(estimator):
    return f"{type(estimator).__name__}-{getattr(estimator, 'task', '')}"


@pytest.mark.parametrize("estimator", ROWS, ids=name_of)
def test_rows(estimator, tmp_path):
    X = np.random.default_rng(0).normal(size=(24, 3)).round(2)
    for names in TABLES:
        if isinstance(estimator, BINARY):
            names = names[:2]
        if names.dtype.kind == "f" and (names != names.round()).any():
            continue
        y = names[np.arange(24) % len(names)]
        if isinstance(estimator, minorant.TransductiveSVC | minorant.S3VC):
            y = y.astype(object)
            y[12:] = -1
            if names.dtype == np.uint64:
                # Beyond what an array that holds -1 too can hold.
                continue
        check(estimator, X + (np.arange(24) % len(names))[:, None], y, tmp_path)


@pytest.mark.parametrize("estimator", REGRESSORS, ids=name_of)
def test_regressors(estimator, tmp_path):
    X = np.random.default_rng(0).normal(size=(24, 3)).round(2)
    check(estimator, X, X @ [1.0, -2.0, 0.5], tmp_path)


@pytest.mark.parametrize("estimator", SEQUENCES, ids=name_of)
def test_sequences(estimator, tmp_path):
    rng = np.random.default_rng(0)
    for names in [*TABLES, np.array([0.5, 1.25, -2.0]), np.array([0.1, 0.7], dtype=np.float32)]:
        numbers = [np.arange(k, k + 4) % len(names) for k in range(8)]
        X = [rng.normal(size=(4, 2)).round(2) + n[:, None] for n in numbers]
        y = [names[n] for n in numbers]
        if isinstance(estimator, minorant.LargeMarginHMM) and estimator.task == "classify":
            y = [labels[0] for labels in y]
        check(estimator, X, y, tmp_path)


def test_labels_that_look_like_numbers(tmp_path):
    X = [np.eye(3)] * 4
    model = minorant.ChainSVM().fit(X, [["01", "1", "2"]] * 4)
    model.save(tmp_path / "model")
    again = minorant.load(tmp_path / "model")
    assert again.classes_.tolist() == ["01", "1", "2"]
    assert again.predict(X)[0].tolist() == ["01", "1", "2"]


def test_names_of_features_come_back(binary, tmp_path):
    import pandas as pd

    frame = pd.DataFrame(binary[0], columns=[f"f{k}" for k in range(binary[0].shape[1])])
    for estimator in (minorant.LinearSVC(), minorant.RobustSVC()):
        estimator.fit(frame, binary[1]).save(tmp_path / "model")
        again = minorant.load(tmp_path / "model")
        assert again.feature_names_in_.tolist() == list(frame.columns)
        assert np.array_equal(again.predict(frame), estimator.predict(frame))


def test_skops(three_classes):
    skops = pytest.importorskip("skops.io")
    X, y = three_classes
    model = minorant.LinearSVC().fit(X, y)
    kept = skops.dumps(model)
    types = skops.get_untrusted_types(data=kept)
    assert all(name.startswith("minorant.") for name in types)
    assert_same(skops.loads(kept, trusted=types), model, X)
