"""Paths over lambda: every point and every interval is checked by solving again."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import minorant
from minorant import LinearSVC, LogisticRegression, RampSVC


@pytest.mark.parametrize(
    "estimator",
    [
        LinearSVC(),
        LinearSVC(multi_class="ovr", fit_intercept=False),
        LinearSVC(loss="squared_hinge", multi_class="ovr"),
        LogisticRegression(intercept_scaling=2.0, class_weight="balanced"),
    ],
)
def test_what_is_proven_holds_everywhere(estimator, three_classes):
    X, y = three_classes
    path = minorant.path(estimator, X, y, np.geomspace(1.0, 1e-3, 4))
    assert path.is_whole and len(path) == len(path.lams) == len(path.between) + 1
    assert np.all(np.diff(path.lams) < 0) and {1.0, 1e-3} <= set(path.lams)
    for lam, fitted in zip(path.lams, path.estimators, strict=True):
        assert fitted.lam == fitted.lam_ == lam and fitted.certificate_.certified
    rng = np.random.default_rng(0)
    for lam in 10 ** rng.uniform(-3, 0, 12):
        best = clone(estimator).set_params(lam=lam).fit(X, y).certificate_
        serving = path.at(lam)
        objective = minorant._path._objective(serving, lam)
        gap = path.gap_at(lam)
        assert best.lower_bound <= objective * (1 + 1e-12)
        assert objective - best.objective <= (gap + 1e-9) * abs(objective)
        assert gap <= 3 * estimator.tol + 1e-9


def test_objectives_at_other_lambdas(binary):
    X, y = binary
    path = LinearSVC(intercept_scaling=3.0).path(X, y, [0.1, 0.01], fill=False)
    first = path.estimators[0]
    f = np.where(y == 1, 1, -1) * first.decision_function(X)
    squares = (first.coef_**2).sum() + (first.intercept_ / 3.0) ** 2
    expected = 0.5 * 0.03 * squares.sum() + np.maximum(0, 1 - f).mean()
    assert minorant._path._objective(first, 0.03) == pytest.approx(expected)
    assert len(path) == 2 and path.at(0.1) is first and path.at(0.01) is path.estimators[1]


def test_a_warm_path_is_cheaper_than_its_points(three_classes):
    X, y = three_classes
    lams = np.geomspace(1.0, 1e-4, 12)
    path = LinearSVC(method="ls-p-bmrm").path(X, y, lams, fill=False)
    alone = [LinearSVC(method="ls-p-bmrm").path(X, y, [lam]).n_evaluations for lam in lams]
    assert path.n_evaluations < 0.7 * sum(alone)


def test_validation_and_weights(three_classes):
    X, y = three_classes
    names = np.array(["x", "y", "z"])[y]
    frame = pd.DataFrame(X, columns=[f"f{i}" for i in range(X.shape[1])])
    path = LinearSVC().path(
        frame[:100], names[:100], [1.0, 0.01], validation=(frame[100:], names[100:])
    )
    for fitted, train, held_out in zip(
        path.estimators, path.train_errors, path.validation_errors, strict=True
    ):
        assert fitted.score(frame[:100], names[:100]) == pytest.approx(1 - train)
        assert fitted.score(frame[100:], names[100:]) == pytest.approx(1 - held_out)
        assert list(fitted.feature_names_in_) == list(frame.columns)
    found = path.best.score(frame[100:], names[100:])
    assert found == pytest.approx(1 - path.validation_errors.min())
    with pytest.raises(ValueError, match="no example has"):
        LinearSVC().path(frame, names, [1.0], validation=(frame, np.full(len(names), "w")))
    times = 1 + np.arange(len(y)) % 3
    weighted = LinearSVC(tol=1e-8).path(X, y, [0.1], sample_weight=times).estimators[0]
    repeated = LinearSVC(lam=0.1).fit(X.repeat(times, axis=0), y.repeat(times))
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-3)
    assert weighted.certificate_.objective == pytest.approx(repeated.certificate_.objective)


def test_defaults_and_limits(binary):
    X, y = binary
    path = LinearSVC().path(X, y)
    assert path.lams.max() == pytest.approx(1000 / len(y))
    assert path.lams.min() == pytest.approx(0.01 / len(y))
    short = LinearSVC(max_evals=8).path(X, y)
    assert short.n_evaluations <= 8 and not short.is_whole
    assert "points" in path._repr_html_() and "Path(" in repr(path)


@pytest.mark.parametrize(
    ("estimator", "lams", "words"),
    [
        (LinearSVC(), [0.0], "lams"),
        (LinearSVC(), [], "lams"),
        (LinearSVC(), [np.nan], "lams"),
        (LogisticRegression(penalty="l1"), [0.1], "quadratic penalty"),
    ],
)
def test_refusals(estimator, lams, words, binary):
    with pytest.raises(ValueError, match=words):
        minorant.path(estimator, *binary, lams)
    with pytest.raises(TypeError, match="RampSVC"):
        minorant.path(RampSVC(), *binary, [0.1])
    path = LinearSVC().path(*binary, [0.1, 1.0])
    with pytest.raises(ValueError, match="lam must lie"):
        path.at(2.0)
