"""Semi-supervised and latent machines with kernels."""

import itertools
import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_blobs, make_moons
from sklearn.metrics.pairwise import rbf_kernel

import minorant
from minorant import S3VC, LatentSVC, RobustSVC


def moons(rows=60, seed=0):
    X, y = make_moons(rows, noise=0.05, random_state=seed)
    labels = np.full(rows, -1)
    for c in (0, 1):
        labels[np.flatnonzero(y == c)[0]] = c
    return X, y, labels


def gaussian(X, Y):
    return rbf_kernel(X, Y, gamma=1 / (2 * 0.35**2))


def test_objective_and_labels():
    X, y, labels = moons()
    model = S3VC(sigma=0.35, balance=29).fit(X, labels)
    assert (model.transduction_ == y).all() and model.sigma_ == 0.35
    K = gaussian(X[model.support_], X[model.support_])
    beta, h = model.dual_coef_[0], model.decision_function(X)
    np.testing.assert_allclose(
        gaussian(X, X[model.support_]) @ beta + model.intercept_[0], h, atol=1e-9
    )
    known = labels != -1
    signs = np.where(model.transduction_ == 1, 1, -1)
    losses = np.maximum(0, 1 - signs * h)
    expected = 0.5 * beta @ K @ beta + 100 * losses[known].sum() + losses[~known].sum()
    assert model.certificate_.objective == pytest.approx(expected, rel=1e-6)
    assert model.certificate_.lower_bound is None and model.certificate_.local_gap is not None
    assert model.n_evaluations_ > 0 and "certified" in model._repr_html_()


def test_kernels_of_all_kinds_agree():
    X, _, labels = moons()
    expected = S3VC(sigma=0.35, balance=29).fit(X, labels)
    function = S3VC(kernel=gaussian, balance=29).fit(X, labels)
    matrix = S3VC(kernel="precomputed", balance=29).fit(gaussian(X, X), labels)
    csr = S3VC(sigma=0.35, balance=29).fit(sparse.csr_array(X), labels)
    new = X[::7] + 0.05
    scores = expected.decision_function(new)
    np.testing.assert_allclose(function.decision_function(new), scores, atol=1e-5)
    np.testing.assert_allclose(matrix.decision_function(gaussian(new, X)), scores, atol=1e-5)
    np.testing.assert_allclose(csr.decision_function(new), scores, atol=1e-5)
    for kernel in ("linear", "poly"):
        found = S3VC(kernel=kernel).fit(X, labels)
        local = S3VC(kernel=kernel, method="ao").fit(X, labels)
        assert found.certificate_.objective <= local.certificate_.objective * (1 + 1e-6)
        assert (found.transduction_[labels != -1] == labels[labels != -1]).all()


def test_branch_and_bound_proves_its_answer():
    X, y = make_blobs(14, centers=[[-2, 0], [2, 0]], random_state=1)
    labels = np.full(14, -1)
    for c in (0, 1):
        labels[np.flatnonzero(y == c)[0]] = c
    proven = S3VC(kernel="linear", method="bb", balance="none").fit(X, labels)
    assert proven.certificate_.certified
    found = S3VC(kernel="linear", balance="none").fit(X, labels)
    assert found.certificate_.objective >= proven.certificate_.lower_bound * (1 - 1e-9)


def test_several_classes_files_and_pickles(tmp_path):
    X, y = make_blobs(90, centers=[[-5, 0], [5, 0], [0, 7]], random_state=0)
    labels = y.copy()
    labels[12:] = -1
    model = S3VC().fit(X, labels)
    assert (model.transduction_ == y).mean() > 0.95 and model.decision_function(X).shape == (90, 3)
    model.save(tmp_path / "model")
    for again in (minorant.load(tmp_path / "model"), pickle.loads(pickle.dumps(model))):
        assert type(again) is S3VC and np.array_equal(again.predict(X), model.predict(X))


def test_refusals():
    X, y, labels = moons()
    with pytest.raises(ValueError, match="np.where"):
        S3VC().fit(X, np.where(y == 1, 1, -1))
    for changes, words in (
        ({"kernel": "cubic"}, "kernel must be"),
        ({"sigma": 0.0}, "sigma must be"),
        ({"balance": "some"}, "balance cannot be understood"),
        ({"balance": (5, 3)}, "the balance 5:3 cannot be met"),
        ({"balance": 1000}, "1000"),
        ({"method": "newton"}, "method 'newton' does not exist for s3vm"),
        ({"mode": "quick"}, "mode must be"),
        ({"C1": 0.0}, "C1 must be"),
        ({"kernel": lambda a, b: np.ones(3)}, "kernel must return"),
    ):
        with pytest.raises(ValueError, match=words):
            S3VC(**changes).fit(X, labels)
    with pytest.raises(ValueError, match="symmetric"):
        S3VC(kernel="precomputed").fit(np.triu(np.ones((60, 60))), labels)
    with pytest.raises(ValueError, match="Only binary"):
        LatentSVC().fit(X, np.arange(60) % 3)


def test_parameters_of_another_kernel_do_not_count():
    X, _, labels = moons()
    expected = S3VC(kernel="linear").fit(X, labels)
    found = S3VC(kernel="linear", sigma=0.1, power=7, offset=3.0).fit(X, labels)
    assert np.array_equal(found.decision_function(X), expected.decision_function(X))


def test_latent_components(tmp_path):
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(c, 0.4, (25, 2)) for c in ([-4, 0], [4, 0], [0, 0])])
    y = np.repeat(["yes", "yes", "no"], 25)
    model = LatentSVC(kernel="linear", C_pos=10.0, C_neg=10.0).fit(X, y)
    assert model.score(X, y) == 1.0 and len(model.intercept_) == 2
    h = X @ (model.dual_coef_ @ X[model.support_]).T + model.intercept_
    np.testing.assert_allclose(h.max(axis=1), model.decision_function(X), atol=1e-8)
    w = model.dual_coef_ @ X[model.support_]
    positive = y == "yes"
    expected = 0.5 * (w**2).sum() + 10 * np.maximum(0, 1 + h[~positive]).sum()
    expected += 10 * np.maximum(0, 1 - h[positive]).min(axis=1).sum()
    assert model.certificate_.objective == pytest.approx(expected, rel=1e-5)
    model.save(tmp_path / "model")
    again = minorant.load(tmp_path / "model")
    assert type(again) is LatentSVC and again.n_components == 2
    assert np.array_equal(again.predict(X), model.predict(X))


def test_outliers_do_not_pull(tmp_path):
    rng = np.random.default_rng(1)
    X = np.vstack([rng.normal(c, 0.5, (30, 2)) for c in ([-2, 0], [2, 0])])
    y = np.repeat(["no", "yes"], 30)
    wrong = y.copy()
    wrong[[0, 1, 2, 30]] = ["yes", "yes", "yes", "no"]
    model = RobustSVC(kernel="linear", C=5.0, ramp=-0.5).fit(X, wrong)
    assert np.array_equal(model.predict(X), y) and model.certificate_.lower_bound is None
    h, signs = model.decision_function(X), np.where(wrong == "yes", 1, -1)
    w = model.dual_coef_ @ X[model.support_]
    expected = 0.5 * (w**2).sum() + 5 * np.minimum(1.5, np.maximum(0, 1 - signs * h)).sum()
    assert model.certificate_.objective == pytest.approx(expected, rel=1e-6)
    model.save(tmp_path / "model")
    again = minorant.load(tmp_path / "model")
    assert type(again) is RobustSVC and (again.C, again.ramp) == (5.0, -0.5)
    assert np.array_equal(again.decision_function(X), h)
    for changes, words in (
        ({"ramp": 1.0}, "ramp must be"),
        ({"C": 0.0}, "C must be"),
        ({"method": "bb"}, "its solvers are: auto, pdm, ao, da"),
    ):
        with pytest.raises(ValueError, match=words):
            RobustSVC(**changes).fit(X, wrong)
    with pytest.raises(ValueError, match="Only binary"):
        RobustSVC().fit(X, np.arange(60) % 3)


def test_tiny_problems_by_enumeration():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((9, 2))
    labels = np.array([0, 1, *[-1] * 7])
    best = min(
        S3VC(kernel="linear", C1=1.0, C2=1.0, balance="none")
        .fit(X, np.array([0, 1, *rest]))
        .certificate_.objective
        for rest in itertools.product([0, 1], repeat=7)
    )
    found = S3VC(kernel="linear", C1=1.0, C2=1.0, balance="none").fit(X, labels)
    assert found.certificate_.objective >= best * (1 - 1e-6)
    assert found.certificate_.objective <= best * (1 + 1e-3)
