"""What the estimators promise beyond scikit-learn's checks."""

import inspect
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_classification, make_multilabel_classification
from sklearn.exceptions import ConvergenceWarning, NotFittedError

import minorant
from minorant import LinearSVC, LogisticRegression, MultilabelSVC, RampSVC

BINARY = [
    LinearSVC(),
    LinearSVC(loss="squared_hinge"),
    LinearSVC(loss="huber_hinge"),
    LogisticRegression(),
]
SEVERAL = [
    LinearSVC(),
    LinearSVC(multi_class="ovr"),
    LogisticRegression(),
    LogisticRegression(multi_class="ovr"),
    MultilabelSVC(),
]


def weights(model):
    return np.column_stack([model.coef_, model.intercept_])


@pytest.mark.parametrize("estimator", BINARY + SEVERAL)
def test_weights_equal_repetition(estimator, three_classes):
    X, y = three_classes
    if estimator in BINARY:
        y = y == 1
    times = np.arange(len(y)) % 4
    order = np.random.RandomState(0).permutation(times.sum())
    weighted = weights(estimator.fit(X, y, sample_weight=times))
    repeated = weights(estimator.fit(X.repeat(times, axis=0)[order], y.repeat(times)[order]))
    np.testing.assert_allclose(weighted, repeated, rtol=0, atol=1e-9)


@pytest.mark.parametrize("estimator", [*SEVERAL, LinearSVC(class_weight="balanced")])
def test_class_weights_and_balance_equal_repetition(estimator, three_classes):
    X, y = three_classes
    estimator = clone(estimator)
    if "class_weight" not in estimator.get_params():
        pytest.skip("it has no class weights")
    times = 1 + np.arange(len(y)) % 3
    for class_weight in ("balanced", {0: 2.0, 1: 0.5}):
        estimator.set_params(class_weight=class_weight)
        weighted = weights(estimator.fit(X, y, sample_weight=times))
        repeated = weights(estimator.fit(X.repeat(times, axis=0), y.repeat(times)))
        np.testing.assert_allclose(weighted, repeated, rtol=0, atol=1e-9)


@pytest.mark.parametrize("estimator", SEVERAL)
def test_all_storages_agree(estimator, three_classes):
    X, y = three_classes
    X = X.astype(np.float32).astype(np.float64)
    expected = weights(estimator.fit(X, y))
    wide = sparse.csr_array(X)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    for stored in (
        X.astype(np.float32),
        np.asfortranarray(X),
        sparse.csr_array(X),
        sparse.csr_matrix(X.astype(np.float32)),
        sparse.csc_array(X),
        wide,
        X[:, :],
    ):
        np.testing.assert_allclose(weights(estimator.fit(stored, y)), expected, atol=1e-9)
        assert np.array_equal(estimator.predict(stored), estimator.predict(X))


def test_sparse_duplicates_add_up(binary):
    X, y = binary
    once = sparse.csr_array(X)
    halves = sparse.csr_array(
        (np.repeat(once.data / 2, 2), np.repeat(once.indices, 2), 2 * once.indptr), X.shape
    )
    halves.has_canonical_format = False
    np.testing.assert_allclose(
        weights(LinearSVC().fit(halves, y)), weights(LinearSVC().fit(X, y)), atol=1e-9
    )
    assert halves.nnz == 2 * once.nnz


def test_broken_sparse_matrices_are_refused(binary):
    X, y = binary
    for index in (-1, X.shape[1]):
        for kind in (np.int32, np.int64):
            broken = sparse.csr_array(X)
            broken.indices = broken.indices.astype(kind)
            broken.indices[-1] = index
            broken.has_canonical_format = True
            with pytest.raises(ValueError, match="column"):
                LinearSVC().fit(broken, y)


def test_training_borrows(binary):
    X, y = binary
    big = np.ascontiguousarray(np.tile(X, (50, 1)))
    big.flags.writeable = False
    before = big.copy()
    LinearSVC().fit(big, np.tile(y, 50))
    assert np.array_equal(big, before)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_same_bits_for_any_number_of_threads(n_classes):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((4000, 20))
    y = np.argmax(X[:, :n_classes] + rng.standard_normal((4000, n_classes)), axis=1)
    several = (LinearSVC(), LinearSVC(method="dual-cd"), LogisticRegression())
    for estimator in (*several, LinearSVC(multi_class="ovr")):
        found = [estimator.set_params(n_jobs=n).fit(X, y).coef_.tobytes() for n in (1, 2, 4)]
        assert found[0] == found[1] == found[2]
        predicted = [estimator.set_params(n_jobs=n).decision_function(X) for n in (1, 2, 4)]
        assert np.array_equal(predicted[0], predicted[1])
        assert np.array_equal(predicted[0], predicted[2])


@pytest.mark.parametrize(
    "labels", [np.array(["no", "yes", "perhaps"]), np.array([-3, 0, 7]), np.array([0.0, 1.0, 2.0])]
)
def test_labels_come_out_as_they_went_in(labels, three_classes, tmp_path):
    X, y = three_classes
    for estimator in SEVERAL:
        model = clone(estimator).fit(X, labels[y])
        assert model.predict(X).dtype == labels.dtype
        assert set(model.predict(X)) <= set(labels)
        model.save(tmp_path / "model")
        if not isinstance(model, MultilabelSVC):
            again = type(model).load(tmp_path / "model")
            assert np.array_equal(again.predict(X), model.predict(X))


def test_frames(binary):
    X, y = binary
    names = [f"feature {i}" for i in range(X.shape[1])]
    expected = LinearSVC().fit(X, y).coef_
    labels = np.array(["bad", "good"])[y]
    for frame, series in (
        (pd.DataFrame(X, columns=names), pd.Series(labels)),
        (pl.DataFrame(X, schema=names), pl.Series(labels)),
    ):
        model = LinearSVC().fit(frame, series)
        assert list(model.feature_names_in_) == names
        assert np.array_equal(model.coef_, expected)
        assert set(model.predict(frame)) == {"bad", "good"}
    with pytest.raises(ValueError, match="feature names"):
        model.predict(pd.DataFrame(X, columns=names[::-1]))


def test_usual_errors(binary):
    X, y = binary
    with pytest.raises(NotFittedError):
        LinearSVC().predict(X)
    with pytest.raises(ValueError, match="NaN"):
        LinearSVC().fit(np.where(X == X[0, 0], np.nan, X), y)
    with pytest.raises(ValueError, match="features"):
        LinearSVC().fit(X, y).predict(X[:, 1:])
    with pytest.raises(ValueError, match="0 sample"):
        LinearSVC().fit(X[:0], y[:0])
    with pytest.raises(ValueError, match="class"):
        LinearSVC().fit(X, np.zeros(len(y)))
    with pytest.raises(ValueError, match="continuous"):
        LinearSVC().fit(X, X[:, 0])


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"C": 1.0, "lam": 1.0}, "C does not go together with lam"),
        ({"C": -1.0}, "C must be"),
        ({"lam": 0.0}, "lam must be"),
        ({"tol": -1.0}, "tol must be"),
        ({"max_evals": 1.5}, "max_evals must be"),
        ({"method": "owlqn"}, "method 'owlqn' does not exist for svm; its solvers are"),
        ({"loss": "log"}, "loss must be"),
        ({"multi_class": "ovo"}, "multi_class must be"),
        ({"intercept_scaling": 0.0}, "intercept_scaling must be"),
    ],
)
def test_bad_parameters(parameters, words, binary):
    with pytest.raises(ValueError, match=words):
        LinearSVC(**parameters).fit(*binary)


@pytest.mark.parametrize("loss", ["squared_hinge", "huber_hinge"])
def test_other_losses_need_ovr_for_several_classes(loss, three_classes):
    with pytest.raises(ValueError, match="is for two classes.* multi_class ovr"):
        LinearSVC(loss=loss).fit(*three_classes)


def test_the_width_of_the_huber_hinge_counts_with_that_loss_alone(binary):
    X, y = binary
    narrow, wide = (LinearSVC(loss="huber_hinge", huber=h).fit(X, y).coef_ for h in (1e-3, 2.0))
    hinge = LinearSVC(huber=2.0).fit(X, y).coef_
    np.testing.assert_allclose(narrow, hinge, atol=0.02)
    assert np.abs(wide - hinge).max() > 0.02
    with pytest.raises(ValueError, match="huber must be a positive number, not 0"):
        LinearSVC(loss="huber_hinge", huber=0.0).fit(X, y)


def test_few_rows_are_predicted_as_many_are(three_classes):
    X, y = three_classes
    for estimator in SEVERAL:
        model = clone(estimator).fit(X, y)
        many = np.tile(X, (100, 1))
        found = model.decision_function(many)[: len(X)]
        each = np.vstack([model.decision_function(row[None]) for row in X])
        np.testing.assert_allclose(each, found, atol=1e-12)
        np.testing.assert_allclose(model.decision_function(sparse.csr_array(X)), found, atol=1e-12)


@pytest.mark.parametrize("estimator", BINARY)
def test_the_certificate_is_true(estimator, binary):
    X, y = binary
    model = estimator.fit(X, y)
    certificate = model.certificate_
    f = np.where(y == 1, 1, -1) * model.decision_function(X)
    losses = {
        "hinge": np.maximum(0, 1 - f),
        "squared_hinge": np.maximum(0, 1 - f) ** 2,
        "huber_hinge": np.where(f > 0.5, np.maximum(0, 1.5 - f) ** 2 / 2, 1 - f),
        "logistic": np.logaddexp(0, -f),
    }[getattr(model, "loss", "logistic")]
    squares = (model.coef_**2).sum()
    if model.intercept_scaling is not None:
        squares += (model.intercept_**2).sum()
    objective = 0.5 * model.lam_ * squares + losses.mean()
    assert certificate.objective == pytest.approx(objective, rel=1e-12)
    assert model.lam_ == 1 / len(y)
    assert 0 <= certificate.relative_gap < 1e-9 and certificate.certified
    assert certificate.gap == certificate.objective - certificate.lower_bound
    assert model.n_evaluations_ >= model.n_iter_ > 0
    assert model.trace_["best_objective"][-1] == pytest.approx(certificate.objective)


def test_a_run_that_stops_early_warns(binary):
    with pytest.warns(ConvergenceWarning, match="max-evals"):
        model = LinearSVC(max_evals=3).fit(*binary)
    assert model.n_evaluations_ <= 3 and not model.certificate_.certified


def test_warm_start_begins_where_the_last_fit_ended(three_classes):
    X, y = three_classes
    for estimator in SEVERAL:
        for fit_intercept in (True, False):
            estimator = clone(estimator).set_params(fit_intercept=fit_intercept, warm_start=False)
            cold = estimator.fit(X, y)
            best, expected = cold.certificate_.objective, weights(cold)
            warm = estimator.set_params(warm_start=True).fit(X, y)
            if getattr(warm, "multi_class", "joint") == "joint":
                assert warm.trace_["objective"][0] == pytest.approx(best, rel=1e-9)
            np.testing.assert_allclose(weights(warm), expected, atol=1e-8)
            estimator.fit(X[:, 1:], y)


def test_probabilities(three_classes):
    X, y = three_classes
    model = LogisticRegression().fit(X, y)
    probabilities = model.predict_proba(X)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    np.testing.assert_allclose(np.exp(model.predict_log_proba(X)), probabilities)
    assert not hasattr(LogisticRegression(multi_class="ovr").fit(X, y), "predict_proba")
    assert hasattr(LogisticRegression(multi_class="ovr").fit(X, y == 1), "predict_proba")


def test_multilabel():
    X, Y = make_multilabel_classification(n_classes=5, random_state=2)
    model = MultilabelSVC().fit(X, Y)
    assert model.predict(X).shape == Y.shape
    assert (model.predict(X) != Y).mean() < 0.3
    assert np.array_equal(model.predict(X), model.decision_function(X) > model.threshold_)
    again = MultilabelSVC().fit(X, sparse.csr_array(Y))
    assert np.array_equal(again.coef_, model.coef_)


@pytest.mark.parametrize("multi_class", ["joint", "ovr"])
def test_l1_gives_sparse_weights(multi_class, binary, three_classes):
    for X, y in (binary, three_classes):
        noise = np.random.default_rng(0).standard_normal((len(y), 30))
        estimator = LogisticRegression(penalty="l1", C=0.1, multi_class=multi_class)
        model = estimator.fit(np.hstack([X, noise]), y)
        assert model.certificate_.certified
        assert (model.coef_ == 0).mean() > 0.4


def test_l1_agrees_with_scikit_learn(binary):
    from sklearn.linear_model import LogisticRegression as Other

    X, y = binary
    ours = LogisticRegression(penalty="l1", C=0.3, intercept_scaling=1.0).fit(X, y)
    theirs = Other(C=0.3, l1_ratio=1.0, solver="liblinear", tol=1e-10, max_iter=10_000).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-5)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-5)


@pytest.mark.parametrize("weights", [None, [0.97], [0.6, 0.3, 0.1]])
def test_a_free_intercept_is_that_of_scikit_learn(weights):
    from sklearn.linear_model import LogisticRegression as Other

    classes = 3 if weights is not None and len(weights) == 3 else 2
    X, y = make_classification(
        400, 8, n_informative=5, n_classes=classes, weights=weights, random_state=2
    )
    ours = LogisticRegression(C=0.5).fit(X + 3, y)
    theirs = Other(C=0.5, tol=1e-10, max_iter=10_000).fit(X + 3, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-4)
    probabilities = ours.predict_proba(X + 3), theirs.predict_proba(X + 3)
    np.testing.assert_allclose(*probabilities, atol=1e-5)


def test_elastic_net_agrees_with_scikit_learn(binary):
    from sklearn.linear_model import LogisticRegression as Other

    X, y = binary
    ours = LogisticRegression(l1_ratio=0.4, C=0.3).fit(X, y)
    theirs = Other(C=0.3, l1_ratio=0.4, solver="saga", tol=1e-9, max_iter=100_000).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-4)
    assert (ours.coef_ == 0).any() and ours.certificate_.certified


def test_signs_and_bounds_are_kept(three_classes, tmp_path):
    X, y = three_classes
    bounds = np.tile([-np.inf, np.inf], (X.shape[1], 1))
    bounds[0] = -0.1, 0.05
    free = {"intercept_scaling": None}
    for estimator in (LogisticRegression(), LinearSVC(**free), RampSVC(), RampSVC(**free)):
        model = estimator.set_params(positive=True).fit(X, y)
        assert (model.coef_ >= 0).all() and (model.coef_ > 0).any()
        model = estimator.set_params(positive=False, bounds=bounds, l1_ratio=0.2).fit(X, y)
        assert (model.coef_[:, 0] >= -0.1).all() and (model.coef_[:, 0] <= 0.05).all()
        model.save(tmp_path / "model")
        loaded = minorant.load(tmp_path / "model")
        np.testing.assert_array_equal(loaded.bounds, bounds)
        assert loaded.l1_ratio == 0.2 and not loaded.positive
        np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    with pytest.raises(ValueError, match="bounds must have the shape"):
        LinearSVC(bounds=bounds[1:]).fit(X, y)


def test_verbose_shows_a_bar(binary, capsys):
    LinearSVC(verbose=1).fit(*binary)
    shown = capsys.readouterr().err
    assert "evaluations" in shown and shown.endswith("\n") and "LinearSVC |" in shown


def test_notebooks_see_certificates(binary):
    model = LinearSVC().fit(*binary)
    assert "relative gap" in model._repr_html_()
    assert "certified" in model.certificate_._repr_html_()
    assert "<table>" in model.trace_._repr_html_()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(pd.DataFrame(dict(model.trace_))) == model.trace_.rows


def test_tol_is_honoured():
    X, y = make_classification(2000, 20, random_state=0)
    loose, tight = (LinearSVC(tol=tol).fit(X, y) for tol in (1e-1, 1e-6))
    assert loose.certificate_.certified and tight.certificate_.certified
    assert loose.n_evaluations_ < tight.n_evaluations_
    exact = LinearSVC(tol=0).fit(X, y)
    assert exact.certificate_.relative_gap < 1e-9
    # Small problems go on past tol, but not for ever.
    small = LinearSVC(method="subgradient", tol=0.5).fit(X[:100], y[:100])
    assert small.certificate_.certified and small.n_evaluations_ < 2000


def test_runs_end_without_a_limit():
    X, y = make_classification(3000, 20, flip_y=0.2, random_state=0)
    with pytest.warns(ConvergenceWarning, match=r"\(max-evals\) .* the gap is \d\.\d\de"):
        model = LinearSVC(method="subgradient", tol=1e-12).fit(X, y)
    assert model.n_evaluations_ <= 10_000


@pytest.mark.parametrize(
    "given, meant",
    [
        ("max_iter", "max_evals"),
        ("dual", "method"),
        ("solver", "method"),
        ("toll", "tol"),
        ("penalty", "the squared norm"),
        ("colour", "it has loss, huber"),
    ],
)
def test_unknown_parameters_are_named(given, meant):
    with pytest.raises(TypeError, match=f"LinearSVC has no parameter '{given}': .*{meant}"):
        LinearSVC(**{given: 1})


def test_subclasses_may_have_parameters_of_their_own():
    class Mine(LinearSVC):
        def __init__(self, *, colour="red", tol=1e-3):
            super().__init__(tol=tol)
            self.colour = colour

    assert Mine(colour="blue").colour == "blue"
    assert str(inspect.signature(LinearSVC)).startswith("(*, loss: Literal['hinge'")
