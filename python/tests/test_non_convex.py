"""Ramp-loss and transductive support vector machines: local answers that say so."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_blobs

import minorant
from minorant import LinearSVC, RampSVC, TransductiveSVC


def objective(model, X, losses):
    squares = (model.coef_**2).sum() + (model.intercept_**2).sum()
    return 0.5 * model.lam_ * squares + losses


def test_ramp_objective_and_outliers(binary):
    X, y = binary
    X = X.copy()
    X[:6] *= -40
    model = RampSVC(ramp=-0.5).fit(X, y)
    f = np.where(y == 1, 1, -1) * model.decision_function(X)
    losses = np.minimum(1.5, np.maximum(0, 1 - f)).mean()
    assert model.certificate_.objective == pytest.approx(objective(model, X, losses), rel=1e-12)
    assert model.certificate_.lower_bound is None and not model.certificate_.certified
    assert 0 <= model.certificate_.local_gap < 1e-3
    hinge = LinearSVC().fit(X, y)
    assert model.score(X[6:], y[6:]) > hinge.score(X[6:], y[6:])
    assert "local gap" in model._repr_html_() and "not convex" in model.certificate_._repr_html_()


def test_ramp_of_several_classes(three_classes):
    X, y = three_classes
    model = RampSVC(ramp=-2.0, C=0.1).fit(X, y)
    scores = model.decision_function(X)
    rows = np.arange(len(y))
    margins = scores - scores[rows, y][:, None] + 1
    margins[rows, y] = 0
    losses = np.minimum(3.0, margins.max(axis=1)).mean()
    assert model.certificate_.objective == pytest.approx(objective(model, X, losses), rel=1e-12)


def test_ramp_with_a_free_intercept(binary):
    X, y = binary
    model = RampSVC(ramp=-0.5, intercept_scaling=None).fit(X + 50.0, y)
    f = np.where(y == 1, 1, -1) * model.decision_function(X + 50.0)
    losses = np.minimum(1.5, np.maximum(0, 1 - f)).mean()
    expected = 0.5 * model.lam_ * (model.coef_**2).sum() + losses
    assert model.certificate_.objective == pytest.approx(expected, rel=1e-10)
    near = RampSVC(ramp=-0.5, intercept_scaling=None).fit(X, y)
    assert near.score(X, y) == pytest.approx(model.score(X + 50.0, y), abs=0.03)


def semi_supervised(seed=0):
    X, y = make_blobs(240, centers=[[-4, 0], [4, 0]], cluster_std=1.5, random_state=seed)
    labels = np.full(len(y), -1)
    for c in (0, 1):
        labels[np.flatnonzero(y == c)[:4]] = c
    return X, y, labels


def test_transductive_objective():
    X, y, labels = semi_supervised()
    model = TransductiveSVC(gamma=0.7).fit(X, labels)
    f, known = model.decision_function(X), labels != -1
    of_known = np.maximum(0, 1 - np.where(labels == 1, 1, -1) * f)[known].mean()
    of_others = np.maximum(0, 1 - np.abs(f))[~known].mean()
    expected = objective(model, X, of_known + 0.7 * of_others)
    assert model.certificate_.objective == pytest.approx(expected, rel=1e-12)
    assert model.lam_ == 1 / known.sum()
    assert model.certificate_.lower_bound is None and model.certificate_.local_gap is not None
    assert np.array_equal(model.transduction_[known], y[known])
    assert np.array_equal(model.transduction_[~known], model.predict(X)[~known])
    assert (model.transduction_ == y).mean() > 0.95
    dense = TransductiveSVC(gamma=0.7).fit(sparse.csr_array(X), labels)
    np.testing.assert_allclose(dense.coef_, model.coef_, atol=1e-6)


def test_transductive_with_a_free_intercept():
    X, y, labels = semi_supervised()
    model = TransductiveSVC(intercept_scaling=None).fit(X + 20.0, labels)
    f, known = model.decision_function(X + 20.0), labels != -1
    of_known = np.maximum(0, 1 - np.where(labels == 1, 1, -1) * f)[known].mean()
    of_others = np.maximum(0, 1 - np.abs(f))[~known].mean()
    expected = 0.5 * model.lam_ * (model.coef_**2).sum() + of_known + of_others
    assert model.certificate_.objective == pytest.approx(expected, rel=1e-10)
    assert (model.transduction_ == y).mean() > 0.95


def test_more_starts_are_no_worse():
    X, _, labels = semi_supervised(1)
    one = TransductiveSVC(gamma=20.0, C=10.0).fit(X, labels)
    several = TransductiveSVC(gamma=20.0, C=10.0, n_starts=5, random_state=0).fit(X, labels)
    assert several.certificate_.objective <= one.certificate_.objective * (1 + 1e-9)
    balanced = TransductiveSVC(gamma=1.0, balance_mean=0.0).fit(X, labels)
    assert abs(balanced.decision_function(X[labels == -1]).mean()) < 0.3


@pytest.mark.parametrize(
    "names", [np.array([0, 1, 2]), np.array([3, 5, 9]), np.array(["a", "b", "c"])]
)
def test_several_classes_of_any_kind(names, tmp_path):
    X, y = make_blobs(150, centers=[[-5, 0], [5, 0], [0, 7]], random_state=0)
    labels = names[y].astype(object)
    labels[12:] = -1
    if names.dtype.kind == "i":
        labels = labels.astype(int)
    model = TransductiveSVC().fit(X, labels)
    assert np.array_equal(model.classes_, names)
    assert (model.transduction_ == names[y]).mean() > 0.95
    model.save(tmp_path / "model")
    again = minorant.load(tmp_path / "model")
    assert type(again) is TransductiveSVC and again.gamma == 1.0
    assert np.array_equal(again.predict(X), model.predict(X))
    RampSVC(ramp=-3.0).fit(X, names[y]).save(tmp_path / "model")
    again = minorant.load(tmp_path / "model")
    assert type(again) is RampSVC and again.ramp == -3.0


def test_local_gaps_come_back_from_files(binary, tmp_path):
    X, _, labels = semi_supervised()
    for model in (RampSVC().fit(*binary), TransductiveSVC(gamma=0.7).fit(X, labels)):
        assert model.certificate_.local_gap is not None
        model.save(tmp_path / "model")
        again = minorant.load(tmp_path / "model")
        assert type(again) is type(model) and again.certificate_ == model.certificate_


def test_full_labels_are_a_support_vector_machine(three_classes):
    X, y = three_classes
    model, svm = TransductiveSVC().fit(X, y), LinearSVC().fit(X, y)
    assert np.array_equal(model.coef_, svm.coef_) and model.certificate_.certified


def test_signs_as_labels_are_refused():
    X, y, labels = semi_supervised()
    with pytest.raises(ValueError, match="np.where"):
        TransductiveSVC().fit(X, np.where(y == 1, 1, -1))
    with pytest.raises(ValueError, match="some rows with a label"):
        TransductiveSVC().fit(X, np.full(len(y), -1))
    with pytest.raises(ValueError, match="one class"):
        TransductiveSVC().fit(X, np.where(labels == 1, -1, labels))
    for changes in ({"gamma": -1.0}, {"n_starts": 0}, {"balance_mean": "x"}):
        with pytest.raises(ValueError, match=next(iter(changes))):
            TransductiveSVC(**changes).fit(X, labels)
    with pytest.raises(ValueError, match="ramp"):
        RampSVC(ramp=1.0).fit(X, y)


def test_weights_of_labelled_rows_equal_repetition():
    X, _, labels = semi_supervised()
    times = 1 + np.arange(len(labels)) % 2
    weighted = TransductiveSVC(tol=1e-10).fit(X, labels, sample_weight=times)
    repeated = TransductiveSVC(tol=1e-10).fit(X.repeat(times, axis=0), labels.repeat(times))
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-6)
