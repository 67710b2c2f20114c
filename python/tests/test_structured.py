"""A user's own structure: trained with a certificate, and its errors come through."""

import threading

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from minorant import ChainSVM, LinearSVC, StructuredSVM


class Classes:
    """The multiclass support vector machine as a structure."""

    def __init__(self, classes, is_sparse=False):
        self.classes = classes
        self.is_sparse = is_sparse
        self.asked = 0

    def joint_feature(self, x, y):
        features = np.zeros((self.classes, len(x)))
        features[y] = x
        return sparse.csr_array(features.reshape(1, -1)) if self.is_sparse else features.ravel()

    def loss(self, y_true, y):
        return float(y_true != y)

    def loss_augmented_inference(self, x, y_true, w):
        self.asked += 1
        losses = np.arange(self.classes) != y_true
        return int(np.argmax(w.reshape(self.classes, -1) @ x + losses))

    def predict(self, x, w):
        return int(np.argmax(w.reshape(self.classes, -1) @ x))


class Batches(Classes):
    def loss_augmented_inference_batch(self, X, Y, w):
        self.asked += len(X)
        scores = np.array(X) @ w.reshape(self.classes, -1).T
        return np.argmax(scores + (np.arange(self.classes) != np.array(Y)[:, None]), axis=1)


@pytest.mark.parametrize("method", ["auto", "bcfw", "bmrm", "lm-bmrm", "prox-bmrm", "prox-nrbm"])
def test_agrees_with_the_built_in_model(method, three_classes):
    X, y = three_classes
    built_in = LinearSVC(lam=0.05, fit_intercept=False).fit(X, y)
    model = StructuredSVM(Classes(3), lam=0.05, method=method, tol=1e-2).fit(X, y)
    best = built_in.certificate_.objective
    assert model.certificate_.certified
    assert model.certificate_.lower_bound <= best * (1 + 1e-9)
    assert best <= model.certificate_.objective * (1 + 1e-9)
    assert model.certificate_.objective <= best / (1 - 1e-2)
    assert model.predict(X[:5]) == [
        int(c) for c in np.argmax(X[:5] @ model.coef_.reshape(3, -1).T, 1)
    ]
    assert -1 <= model.score(X, y) <= 0


def test_weights_equal_repetition(three_classes):
    X, y = three_classes
    times = np.arange(len(y)) % 4
    model = StructuredSVM(Classes(3), tol=1e-8)
    weighted = model.fit(X, y, sample_weight=times)
    lam, objective = weighted.lam_, weighted.certificate_.objective
    repeated = model.fit(X.repeat(times, axis=0), y.repeat(times))
    assert lam == pytest.approx(1 / times.sum()) and repeated.lam_ == pytest.approx(lam)
    assert objective == pytest.approx(repeated.certificate_.objective, rel=2e-8)
    with pytest.raises(ValueError, match="sample weights"):
        model.fit(X, y, sample_weight=times[1:])


def test_all_ways_to_write_it_agree(three_classes):
    X, y = three_classes
    y = y.tolist()
    dense = StructuredSVM(Classes(3), lam=0.05).fit(X, y)
    for model in (Classes(3, is_sparse=True), Batches(3), Batches(3, is_sparse=True)):
        other = StructuredSVM(model, lam=0.05).fit(X, y)
        assert np.array_equal(other.coef_, dense.coef_)
        assert other.n_outputs_ == dense.n_outputs_ <= 3 * len(y)


def test_evaluations_are_passes_of_the_oracle(three_classes):
    X, y = three_classes
    for model in (Classes(3), Batches(3)):
        fitted = StructuredSVM(model, lam=0.05).fit(X, y.tolist())
        assert model.asked <= fitted.n_evaluations_ * len(y)


class Chains:
    """A chain as a structure, to be compared with the built-in one."""

    def joint_feature(self, x, y):
        node, pairs = np.zeros((x.shape[1], 3)), np.zeros((3, 3))
        np.add.at(node.T, y, x)
        np.add.at(pairs, (y[:-1], y[1:]), 1)
        return np.concatenate([node.ravel(), pairs.ravel()])

    def loss(self, y_true, y):
        return int((y_true != y).sum())

    def _viterbi(self, nodes, pairs):
        back, best = [], nodes[0]
        for node in nodes[1:]:
            total = best[:, None] + pairs
            back.append(total.argmax(axis=0))
            best = total.max(axis=0) + node
        labels = [int(best.argmax())]
        for step in reversed(back):
            labels.append(int(step[labels[-1]]))
        return np.array(labels[::-1])

    def loss_augmented_inference(self, x, y_true, w):
        nodes, pairs = x @ w[:-9].reshape(-1, 3), w[-9:].reshape(3, 3)
        return self._viterbi(nodes + (np.arange(3) != y_true[:, None]), pairs)

    def predict(self, x, w):
        return self._viterbi(x @ w[:-9].reshape(-1, 3), w[-9:].reshape(3, 3))


def test_a_chain_in_python_is_a_chain():
    rng = np.random.default_rng(0)
    y = [rng.integers(0, 3, rng.integers(1, 7)) for _ in range(40)]
    X = [np.eye(3)[t] + 0.7 * rng.standard_normal((len(t), 3)) for t in y]
    ours = StructuredSVM(Chains(), lam=0.1, tol=1e-5).fit(X, y)
    built_in = ChainSVM(lam=0.1, tol=1e-5).fit(X, y)
    assert ours.method_ == "bcfw" and ours.certificate_.certified
    assert ours.certificate_.objective == pytest.approx(built_in.certificate_.objective, rel=2e-5)
    for a, b in zip(ours.predict(X), built_in.predict(X), strict=True):
        assert np.array_equal(a, b) or len(a) > 3


@pytest.mark.parametrize(
    "name", ["joint_feature", "loss", "loss_augmented_inference", "loss_augmented_inference_batch"]
)
@pytest.mark.parametrize("after", [0, 170])
def test_errors_of_the_model_come_through_unchanged(name, after, three_classes):
    X, y = three_classes
    model = Batches(3) if name.endswith("batch") else Classes(3)
    original, mine = getattr(model, name), KeyError("mine")
    calls = []

    def failing(*arguments):
        calls.append(1)
        if len(calls) > (after if not name.endswith("batch") else after // 100):
            raise mine
        return original(*arguments)

    setattr(model, name, failing)
    with pytest.raises(KeyError) as caught:
        StructuredSVM(model, lam=0.001, tol=1e-9).fit(X, y.tolist())
    assert caught.value is mine
    assert any(frame.name == "failing" for frame in caught.traceback)


def test_the_calling_thread_does_the_work(three_classes):
    X, y = three_classes
    seen = set()

    class Watching(Classes):
        def loss_augmented_inference(self, x, y_true, w):
            seen.add(threading.get_ident())
            return super().loss_augmented_inference(x, y_true, w)

    StructuredSVM(Watching(3), lam=0.1).fit(X, y.tolist())
    assert seen == {threading.get_ident()}


def test_an_inexact_argmax_proves_nothing(three_classes):
    X, y = three_classes

    class Lazy(Classes):
        def loss_augmented_inference(self, x, y_true, w):
            if self.asked % 2:
                self.asked += 1
                return int(y_true)
            return super().loss_augmented_inference(x, y_true, w)

    with pytest.warns(UserWarning, match="not exact"):
        model = StructuredSVM(Lazy(3), lam=0.1, max_evals=20).fit(X, y.tolist())
    assert model.certificate_.lower_bound is None and not model.certificate_.certified


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"loss": lambda a, b: 1.0}, "0 for the true output"),
        ({"loss": lambda a, b: float(a != b) * -1}, "0 or more"),
        ({"joint_feature": lambda x, y: np.ones(1 + y)}, "numbers as for the first"),
        ({"joint_feature": lambda x, y: np.full(3, np.nan)}, "not finite"),
        ({"joint_feature": lambda x, y: sparse.eye_array(2)}, "one row"),
    ],
)
def test_bad_models(changes, words, three_classes):
    X, y = three_classes
    model = Classes(3)
    for name, function in changes.items():
        setattr(model, name, function)
    with pytest.raises(ValueError, match=words):
        StructuredSVM(model, lam=0.1).fit(X, y.tolist())


def test_parameters(three_classes):
    X, y = three_classes
    with pytest.raises(ValueError, match="lam and C"):
        StructuredSVM(Classes(3), lam=1.0, C=1.0).fit(X, y)
    with pytest.raises(ValueError, match="at least one"):
        StructuredSVM(Classes(3)).fit([], [])
    with pytest.raises(ValueError, match="output for each"):
        StructuredSVM(Classes(3)).fit(X, y[:3])
    copy = clone(StructuredSVM(Classes(3), C=2.0))
    assert copy.C == 2.0 and copy.fit(X, y).lam_ == 1 / (2.0 * len(y))
    assert "certified" in copy._repr_html_()


def test_slack_rescaling(three_classes):
    """Where every wrong output costs 1, slack and margin are the same; the slack grows with the loss."""
    X, y = three_classes

    class Costs(Classes):
        def __init__(self, cost):
            super().__init__(3)
            self.cost = cost

        def loss(self, y_true, y):
            return self.cost * float(y_true != y)

        def slack_rescaled_inference(self, x, y_true, w):
            outputs = range(3)
            scores = [w @ self.joint_feature(x, z) for z in outputs]
            values = [self.loss(y_true, z) * (1 + scores[z] - scores[y_true]) for z in outputs]
            return int(np.argmax(values))

    margin = StructuredSVM(Costs(1.0), lam=0.01, tol=1e-6).fit(X, y)
    slack = StructuredSVM(Costs(1.0), rescaling="slack", lam=0.01, tol=1e-6).fit(X, y)
    double = StructuredSVM(Costs(2.0), rescaling="slack", lam=0.02, tol=1e-6).fit(X, y)
    assert slack.certificate_.certified and double.certificate_.certified
    assert slack.certificate_.objective == pytest.approx(margin.certificate_.objective, rel=1e-5)
    assert double.certificate_.objective == pytest.approx(2 * slack.certificate_.objective, rel=1e-5)
    with pytest.raises(ValueError, match="slack_rescaled_inference"):
        StructuredSVM(Classes(3), rescaling="slack").fit(X, y)
    with pytest.raises(ValueError, match="'margin' or 'slack'"):
        StructuredSVM(Classes(3), rescaling="both").fit(X, y)
