"""Caches: whatever batches come in, estimators find the rows that arrays would have given them."""

import os
import subprocess

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

import minorant

COMMAND = os.environ.get("MINORANT_COMMAND")
N, D = 600, 7


@pytest.fixture(scope="module")
def rows():
    random = np.random.default_rng(3)
    X = random.standard_normal((N, D))
    return X, X @ random.standard_normal(D) + 0.5 * random.standard_normal(N)


def batches(X, y, size=100):
    for at in range(0, N, size):
        yield X[at : at + size], y[at : at + size]


@pytest.mark.parametrize("method", ["ls-p-bmrm", "auto"])
@pytest.mark.parametrize("kind", ["words", "booleans", "integers", "targets", "sets"])
def test_estimators_take_caches_for_rows(rows, tmp_path, kind, method):
    X, t = rows
    above = t > 0
    y = {
        "words": np.where(above, "yes", "no"),
        "booleans": above,
        "integers": np.where(above, 3, -2),
        "targets": t,
        "sets": np.column_stack([above, t > 1, t < -1]).astype(int),
    }[kind]
    estimator = {"targets": minorant.LinearSVR, "sets": minorant.MultilabelSVC}
    model = estimator.get(kind, minorant.LinearSVC)(method=method)
    expected = model.fit(X, y)
    weights, predicted = expected.coef_.copy(), expected.predict(X)
    path = tmp_path / "rows.mnt"
    cache = minorant.cache(path, batches(X, y))
    for given in (path, str(path), cache, minorant.open(path, max_memory="1G")):
        found = model.fit(given)
        assert np.array_equal(found.coef_, weights)
        if kind == "booleans":
            # Classes that were read are numbers.
            predicted = predicted.astype(int)
        # Few rows are multiplied by NumPy where they are arrays.
        same = np.allclose if kind == "targets" else np.array_equal
        assert same(found.predict(given), predicted)
    assert np.array_equal(model.fit(cache, y).coef_, weights)
    assert cache.shape == (N, D) and len(cache) == N and cache.dtype == np.float64
    assert cache.traffic is None


def test_paths_and_scores_go_over_caches(rows, tmp_path):
    X, t = rows
    cache = minorant.cache(tmp_path / "rows.mnt", batches(X, t))
    expected = minorant.path(minorant.LinearSVR(), X, t, [0.1, 0.01], validation=(X, t))
    found = minorant.path(minorant.LinearSVR(), cache, None, [0.1, 0.01], validation=(cache, None))
    assert found.lams.tolist() == expected.lams.tolist()
    for a, b in zip(found.estimators, expected.estimators, strict=True):
        assert np.array_equal(a.coef_, b.coef_)
    huber = minorant.HuberRegressor().fit(cache)
    assert huber.score(cache, t) == pytest.approx(huber.score(X, t), rel=1e-12)


def arrow(X, y):
    import pyarrow as pa

    return pa.table({f"x{j}": X[:, j] for j in range(D)}).to_batches()[0], y


@pytest.mark.parametrize(
    "frame",
    [
        lambda X, y: (X, y),
        lambda X, y: (X.astype(np.float32).astype(np.float64), y),
        lambda X, y: (sparse.csr_array(X), y),
        lambda X, y: (sparse.coo_matrix(X), y),
        lambda X, y: (pd.DataFrame(X, columns=[f"x{j}" for j in range(D)]), pd.Series(y)),
        lambda X, y: (pl.DataFrame({f"x{j}": X[:, j] for j in range(D)}), pl.Series(y)),
        arrow,
    ],
)
def test_batches_of_any_kind(rows, tmp_path, frame):
    X, t = rows
    made = (frame(X, y) for X, y in batches(X, t))
    model = minorant.LinearSVR(method="ls-p-bmrm")
    found = model.fit(minorant.cache(tmp_path / "rows.mnt", made)).coef_.copy()
    whole = frame(X, t)[0]
    whole = X if not hasattr(whole, "shape") or frame is arrow else whole
    assert np.array_equal(found, model.fit(whole, t).coef_)


def test_parquet_becomes_a_cache(rows, tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    X, t = rows
    table = pa.table({**{f"x{j}": X[:, j] for j in range(D)}, "target": t})
    pq.write_table(table, tmp_path / "rows.parquet")
    file = pq.ParquetFile(tmp_path / "rows.parquet")
    made = (
        (batch.drop_columns(["target"]), batch["target"])
        for batch in file.iter_batches(batch_size=50)
    )
    cache = minorant.cache(tmp_path / "rows.mnt", made)
    model = minorant.LinearSVR(method="ls-p-bmrm")
    found = model.fit(cache).coef_.copy()
    assert np.array_equal(found, model.fit(X, t).coef_)


def test_folds_are_cut_from_caches(rows, tmp_path):
    X, t = rows
    lams, how = [0.1, 0.01], {"method": "ls-p-bmrm"}
    path = tmp_path / "rows.mnt"
    for make, y in [
        (minorant.LinearSVRCV, t),
        (minorant.LinearSVCCV, t > 0),
        (minorant.LogisticRegressionCV, np.where(t > 0, "yes", "no")),
    ]:
        minorant.cache(path, batches(X, y))
        expected = make(lams=lams, **how).fit(X, y)
        found = make(lams=lams, **how).fit(path)
        # Few rows are predicted by NumPy where they are arrays.
        assert np.allclose(found.scores_, expected.scores_, rtol=1e-12, atol=0)
        assert found.lam_ == expected.lam_
        assert np.array_equal(found.coef_, expected.coef_)


def test_what_cannot_be_is_said(rows, tmp_path):
    X, t = rows
    path = tmp_path / "rows.mnt"
    cache = minorant.cache(path, batches(X, t))
    with pytest.raises(OSError, match="nosuch.mnt"):
        minorant.open(tmp_path / "nosuch.mnt")
    with pytest.raises(ValueError, match="expected 600 labels for the rows, found 5"):
        minorant.LinearSVR().fit(cache, t[:5])
    with pytest.raises(ValueError, match="is expecting 3 features"):
        minorant.LinearSVR().fit(X[:, :3], t).predict(cache)
    with pytest.raises(ValueError, match="at least one batch"):
        minorant.cache(tmp_path / "none.mnt", [])
    with pytest.raises(ValueError, match="rows without labels: give y"):
        minorant.LinearSVR().fit(minorant.cache(tmp_path / "bare.mnt", [X]))
    with pytest.raises(ValueError, match="such as 500M or 4G"):
        minorant.open(path, max_memory="lots")
    text = tmp_path / "text.csv"
    text.write_text("1,2\n3,4\n")
    with pytest.raises(ValueError, match="a cache"):
        minorant.open(text)
    damaged = bytearray(path.read_bytes())
    damaged[len(damaged) // 2] ^= 1
    path.write_bytes(damaged)
    with pytest.raises(ValueError, match="checksum"):
        minorant.open(path)
    with pytest.raises(ValueError, match="expected 100 labels for the rows of a batch, found 99"):
        minorant.cache(tmp_path / "short.mnt", [(X[:100], t[:99])])
    assert not (tmp_path / "short.mnt").exists()


def _sentences(path):
    """Some labelled sentences as a file of columns, and as lists."""
    words = {"D": ["the", "a"], "N": ["dog", "cat", "01"], "V": ["runs", "sat"]}
    rng = np.random.default_rng(5)
    X, y = [], []
    for _ in range(40):
        labels = ["D", "N", "V"][: rng.integers(1, 4)]
        X.append([[f"w={rng.choice(words[label])}"] for label in labels])
        y.append(labels)
    for labels, tokens in zip(y, X, strict=True):
        lines = [f"{label}\t{name}\n" for label, [name] in zip(labels, tokens, strict=True)]
        with path.open("a") as file:
            file.write("".join(lines) + "\n")
    return X, y


@pytest.mark.skipif(COMMAND is None, reason="MINORANT_COMMAND does not name the command")
@pytest.mark.parametrize("name", ["ChainCRF", "ChainSVM", "NeuroCRF"])
def test_sequences_of_a_cache(tmp_path, name):
    X, y = _sentences(tmp_path / "tokens.txt")
    path = tmp_path / "tokens.mnt"
    file = tmp_path / "tokens.txt"
    how = ["--format", "crfsuite", "-o", path, "--quiet"]
    subprocess.run([COMMAND, "cache", file, *how], check=True)
    tokens = minorant.open(path)
    assert (len(tokens), tokens.shape[0]) == (40, sum(map(len, y)))
    assert "40 sequences of" in repr(tokens)
    options = {"hidden": 2, "tol": 0.5} if name == "NeuroCRF" else {}
    # Networks compute in the precision of what is stored: single where a cache holds no other values.
    rtol = 1e-5 if name == "NeuroCRF" else 0
    make = getattr(minorant, name)
    expected = make(**options).fit(X, y)
    for data in (str(path), path, tokens):
        model = make(**options).fit(data)
        assert model.classes_.tolist() == ["D", "N", "V"]
        assert model.feature_names_ == expected.feature_names_
        np.testing.assert_allclose(model.transitions_, expected.transitions_, rtol=rtol)
        for found, wanted in zip(model.predict(data), expected.predict(X), strict=True):
            np.testing.assert_array_equal(found, wanted)
        assert model.score(data) == expected.score(X, y) == model.score(data, y)
    labelled = make(**options).fit(path, y)
    np.testing.assert_allclose(labelled.transitions_, expected.transitions_, rtol=rtol)
    with pytest.raises(ValueError, match="expected rows of features, found a cache of sequences"):
        minorant.LinearSVC().fit(path)
    for found, wanted in zip(tokens.labels(), y, strict=True):
        assert found.tolist() == wanted
    rows = minorant.cache(tmp_path / "rows.mnt", [(np.eye(3), [0, 1, 0])])
    with pytest.raises(ValueError, match="expected sequences of tokens, found a cache of rows"):
        make(**options).fit(rows)


def test_weights_of_a_cache(rows, tmp_path):
    X, t = rows
    weights = np.random.default_rng(2).integers(0, 4, N).astype(float)
    path = tmp_path / "rows.mnt"
    parts = (slice(at, at + 100) for at in range(0, N, 100))
    cache = minorant.cache(path, ((X[part], t[part] > 0, weights[part]) for part in parts))
    assert np.array_equal(cache.weights, weights)
    model = minorant.LinearSVC(method="ls-p-bmrm")
    expected = model.fit(X, t > 0, weights).coef_.copy()
    assert np.array_equal(model.fit(path).coef_, expected)
    assert not np.array_equal(model.fit(path, sample_weight=np.ones(N)).coef_, expected)
    chosen = minorant.LinearSVCCV(lams=[0.1, 0.01], method="ls-p-bmrm")
    scores = chosen.fit(X, t > 0, weights).scores_.copy()
    assert np.allclose(chosen.fit(path).scores_, scores, rtol=1e-12, atol=0)
    path = minorant.path(minorant.LinearSVC(), path, None)
    assert np.isclose(path.lams.max(), 1e3 / weights.sum())
    with pytest.raises(ValueError, match="weights for all rows or for none"):
        minorant.cache(tmp_path / "some.mnt", [(X, t, weights), (X, t)])
    with pytest.raises(ValueError, match="got 4 things"):
        minorant.cache(tmp_path / "some.mnt", [(X, t, weights, 1)])


@pytest.mark.skipif(COMMAND is None, reason="MINORANT_COMMAND does not name the command")
def test_the_command_takes_weights_of_a_cache(rows, tmp_path):
    X, t = rows
    weights = np.random.default_rng(2).integers(1, 4, N)
    path = tmp_path / "rows.mnt"
    minorant.cache(path, [(X, t > 0, weights)])
    minorant.cache(tmp_path / "without.mnt", [(X, t > 0)])
    np.savetxt(tmp_path / "weights.txt", weights)
    train = [COMMAND, "train", "svm", "--lambda", "1e-2", "--quiet"]
    subprocess.run([*train, path, "--out", tmp_path / "a"], check=True)
    given = ["--weights", tmp_path / "weights.txt"]
    subprocess.run([*train, tmp_path / "without.mnt", *given, "--out", tmp_path / "b"], check=True)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    subprocess.run([COMMAND, "audit", tmp_path / "a", path], check=True)
    both = subprocess.run([*train, path, tmp_path / "without.mnt"], capture_output=True, text=True)
    assert both.returncode == 1
    assert "expected weights of examples, as other files have them, found none" in both.stderr
