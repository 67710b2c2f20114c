"""Regressors: they agree with scikit-learn's, keep themselves in files, and choose λ as a search would."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.linear_model as theirs
import sklearn.svm
from sklearn.datasets import load_diabetes, make_regression
from sklearn.model_selection import GridSearchCV

import minorant
from minorant import HuberRegressor, LinearSVR, QuantileRegressor


@pytest.fixture
def rows():
    X, y = make_regression(200, 8, n_informative=5, noise=20.0, random_state=0)
    y[::20] += 1000.0
    return X, y + 50.0


def test_huber_agrees_with_scikit_learn(rows):
    X, y = rows
    for alpha in (1e-4, 10.0):
        other = theirs.HuberRegressor(alpha=alpha, max_iter=10_000, tol=1e-8).fit(X, y)
        ours = HuberRegressor(C=1.0 / alpha, tol=1e-9).fit(X, y)
        np.testing.assert_allclose(ours.coef_, other.coef_, rtol=1e-3, atol=1e-3)
        assert ours.intercept_ == pytest.approx(other.intercept_, rel=1e-3)
        assert ours.scale_ == pytest.approx(other.scale_, rel=1e-3)
        assert np.array_equal(ours.outliers_, other.outliers_)


def test_quantiles_agree_with_scikit_learn(rows):
    X, y = rows
    for quantile, alpha in [(0.5, 1.0), (0.9, 0.1)]:
        other = theirs.QuantileRegressor(quantile=quantile, alpha=alpha).fit(X, y)
        ours = QuantileRegressor(quantile=quantile, lam=alpha, l1_ratio=1.0, tol=1e-6).fit(X, y)

        def objective(model):
            r = y - X @ model.coef_ - model.intercept_
            loss = np.maximum(quantile * r, (quantile - 1.0) * r).mean()
            return loss + alpha * np.abs(model.coef_).sum()

        assert objective(ours) == pytest.approx(ours.certificate_.objective, rel=1e-9)
        assert objective(ours) <= objective(other) * (1 + 1e-5)
        assert ours.certificate_.lower_bound <= objective(other) * (1 + 1e-9)


def test_machines_agree_with_scikit_learn(rows):
    X, y = rows
    for loss in ("epsilon_insensitive", "squared_epsilon_insensitive"):
        other = sklearn.svm.LinearSVR(epsilon=5.0, loss=loss, max_iter=10**6, tol=1e-9).fit(X, y)
        ours = LinearSVR(epsilon=5.0, loss=loss, tol=1e-9).fit(X, y)
        np.testing.assert_allclose(ours.coef_, other.coef_, rtol=2e-3, atol=2e-2)
        assert ours.intercept_ == pytest.approx(other.intercept_[0], rel=2e-3)


def test_several_quantiles(rows):
    X, y = rows
    model = QuantileRegressor(quantile=[0.1, 0.5, 0.8], lam=1e-4).fit(X, y)
    assert model.coef_.shape == (3, 8) and model.intercept_.shape == (3,)
    predicted = model.predict(X)
    below = (y[:, None] <= predicted).mean(axis=0)
    np.testing.assert_allclose(below, [0.1, 0.5, 0.8], atol=0.06)
    assert (np.diff(predicted, axis=1) < -1e-9).sum() <= 4
    one = QuantileRegressor(quantile=0.5, lam=1e-4).fit(X, y)
    assert model.score(X, y) == pytest.approx(one.score(X, y), abs=0.05)


ALL = [
    LinearSVR(epsilon=1.0),
    LinearSVR(loss="squared_epsilon_insensitive"),
    QuantileRegressor(quantile=[0.2, 0.7], l1_ratio=0.5),
    QuantileRegressor(fit_intercept=False),
    HuberRegressor(epsilon=2.0),
    HuberRegressor(fit_scale=False, positive=True),
]


@pytest.mark.parametrize("estimator", ALL, ids=repr)
def test_files_and_pickles(estimator, rows, tmp_path):
    X, y = rows
    fitted = estimator.fit(X, y)
    file = tmp_path / "model"
    fitted.save(file)
    for copy in (minorant.load(file), pickle.loads(pickle.dumps(fitted))):
        assert type(copy) is type(fitted)
        assert np.array_equal(copy.predict(X), fitted.predict(X))
        for name in ("quantile", "epsilon", "loss", "fit_intercept", "fit_scale", "l1_ratio"):
            if hasattr(fitted, name):
                assert getattr(copy, name) == getattr(fitted, name) or name == "l1_ratio"
    again = minorant.load(file).fit(X, y)
    np.testing.assert_allclose(again.predict(X), fitted.predict(X), rtol=1e-6)


@pytest.mark.parametrize("estimator", ALL, ids=repr)
def test_sparse_rows_and_weights(estimator, rows):
    X, y = rows
    dense = estimator.fit(X, y).predict(X)
    sparse = estimator.fit(sp.csr_matrix(X), y).predict(X)
    np.testing.assert_allclose(sparse, dense, rtol=1e-3, atol=0.5)
    weights = np.random.default_rng(0).integers(0, 3, len(y))
    weighed = estimator.fit(X, y, sample_weight=weights).predict(X)
    repeated = estimator.fit(np.repeat(X, weights, axis=0), np.repeat(y, weights)).predict(X)
    np.testing.assert_allclose(weighed, repeated, rtol=1e-3, atol=0.5)


def test_lambda_is_chosen_as_a_search_would(rows):
    X, y = rows
    lams = [10.0, 0.1, 1e-3]
    for chosen, plain in [
        (minorant.HuberRegressorCV(lams=lams, cv=3, tol=1e-8), HuberRegressor(tol=1e-8)),
        (minorant.LinearSVRCV(lams=lams, cv=3, tol=1e-8), LinearSVR(tol=1e-8)),
    ]:
        chosen.fit(X, y)
        search = GridSearchCV(plain, {"lam": lams}, cv=3).fit(X, y)
        assert chosen.lam_ == search.best_params_["lam"]
        np.testing.assert_allclose(
            chosen.scores_.mean(axis=1), search.cv_results_["mean_test_score"], atol=1e-4
        )
        assert chosen.certificate_.certified
        assert np.array_equal(chosen.predict(X), search.best_estimator_.predict(X))
        assert list(chosen.lams_) == lams


def test_choosing_estimators_say_what_is_wrong(rows):
    X, y = rows
    with pytest.raises(ValueError, match="positive"):
        minorant.QuantileRegressorCV(lams=[-1.0]).fit(X, y)
    with pytest.raises(TypeError, match="a path needs"):
        minorant.path(minorant.LinearSVRCV(), X, y)
    with pytest.raises(ValueError, match="quantile"):
        QuantileRegressor(quantile=1.5).fit(X, y)


def test_diabetes_is_certified():
    X, y = load_diabetes(return_X_y=True)
    for model in (QuantileRegressor(lam=1e-6), HuberRegressor(lam=1e-6), LinearSVR(C=100.0)):
        assert model.fit(X, y).certificate_.certified, model
