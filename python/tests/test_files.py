"""Model files, which the command shares, and pictures."""

import os
import subprocess

import matplotlib
import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file, make_multilabel_classification

import minorant

matplotlib.use("agg")

COMMAND = os.environ.get("MINORANT_COMMAND")


@pytest.mark.parametrize(
    "estimator",
    [
        minorant.LinearSVC(),
        minorant.LinearSVC(multi_class="ovr", fit_intercept=False),
        minorant.LinearSVC(loss="squared_hinge", multi_class="ovr", lam=0.1),
        minorant.LinearSVC(loss="huber_hinge", huber=0.25, multi_class="ovr"),
        minorant.LogisticRegression(intercept_scaling=10.0, class_weight={2: 3.0}),
    ],
)
def test_round_trip(estimator, three_classes, tmp_path):
    X, y = three_classes
    path = tmp_path / "model"
    estimator.fit(X, y).save(path)
    for again in (minorant.load(path), type(estimator).load(str(path))):
        assert type(again) is type(estimator)
        assert np.array_equal(again.coef_, estimator.coef_)
        assert np.array_equal(again.predict(X), estimator.predict(X))
        assert again.certificate_ == estimator.certificate_
        for name in set(estimator.get_params()) - {"lam", "C"}:
            assert getattr(again, name) == getattr(estimator, name), name
        assert again.lam == estimator.lam_
        again.fit(X, y)
        np.testing.assert_allclose(again.coef_, estimator.coef_, atol=1e-9)


def test_multilabel_round_trip(tmp_path):
    X, Y = make_multilabel_classification(random_state=0)
    model = minorant.MultilabelSVC().fit(X, Y)
    model.save(tmp_path / "model")
    assert np.array_equal(minorant.load(tmp_path / "model").predict(X), model.predict(X))
    with pytest.raises(ValueError, match="another model"):
        minorant.LinearSVC.load(tmp_path / "model")


def test_broken_files(binary, tmp_path):
    path = tmp_path / "model"
    minorant.LinearSVC().fit(*binary).save(path)
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    with pytest.raises(ValueError, match="SHA-256"):
        minorant.load(path)
    with pytest.raises(OSError):
        minorant.load(tmp_path / "nothing")


def test_every_kind_of_label_and_weight_comes_back(three_classes, tmp_path):
    X, y = three_classes
    for names in (np.array(["no", "yes", "perhaps"]), np.array([-3, 0, 7])):
        weights = {names[0]: 2.0, names[2]: 0.5}
        model = minorant.LinearSVC(class_weight=weights).fit(X, names[y])
        model.save(tmp_path / "model")
        again = minorant.load(tmp_path / "model")
        assert again.class_weight == weights
        assert again.fit(X, names[y]).certificate_ == model.certificate_


def test_parameters_of_kernels_come_back(binary, tmp_path):
    X, y = binary
    for estimator in (
        minorant.S3VC(kernel="poly", power=2, offset=0.5, balance=(3, 60), C1=2.0, C2=0.5),
        minorant.S3VC(sigma=0.7, balance=30, C2=1.0),
        minorant.LatentSVC(kernel="linear", n_components=3, C_pos=2.0, C_neg=0.5),
        minorant.RobustSVC(C=2.0, ramp=0.5, sigma=3.0, tol=1e-5),
    ):
        labels = np.where(np.arange(len(y)) % 2, y, -1) if "balance" in vars(estimator) else y
        estimator.fit(X, labels).save(tmp_path / "model")
        again = minorant.load(tmp_path / "model")
        assert again.get_params() == estimator.get_params()
        # A file holds support rows without their zeros, which are summed in another order.
        found, expected = again.decision_function(X), estimator.decision_function(X)
        np.testing.assert_allclose(found, expected, rtol=1e-9)


def run(*arguments):
    done = subprocess.run([COMMAND, *arguments], check=True, capture_output=True, text=True)
    return done.stdout


@pytest.mark.skipif(COMMAND is None, reason="MINORANT_COMMAND does not name the command")
@pytest.mark.parametrize("kind, name", [("plates", "segment-svm"), ("parts", "tree-svm")])
def test_models_without_an_estimator_say_so(kind, name, tmp_path):
    data, model = str(tmp_path / f"{kind}.npz"), str(tmp_path / "model")
    run("generate", kind, "--out", data, "--images", "6", "--seed", "1")
    run("train", name, data, "--out", model, "--max-evals", "3")
    with pytest.raises(ValueError, match=f"a {name}, for which there is no estimator: use the"):
        minorant.load(model)
    with pytest.raises(ValueError, match=f"holds another model than LinearSVC: {name}"):
        minorant.LinearSVC.load(model)


@pytest.mark.skipif(COMMAND is None, reason="MINORANT_COMMAND does not name the command")
def test_the_command_shares_files(three_classes, tmp_path):
    X, y = three_classes
    X = X.round(3)
    data, model = str(tmp_path / "data.svm"), str(tmp_path / "model")
    dump_svmlight_file(X, y, data, zero_based=False)
    ours = minorant.LinearSVC().fit(X, y)
    ours.save(model)
    labels = [int(line) for line in run("predict", model, data).split()]
    assert labels == ours.predict(X).tolist()
    assert "holds" in run("audit", model, data)
    run("train", "svm", data, "--bias", "1", "--out", model, "--tol", "1e-6")
    theirs = minorant.load(model)
    assert theirs.certificate_.certified
    assert [int(line) for line in run("predict", model, data).split()] == list(theirs.predict(X))


def test_plots(binary):
    model = minorant.LinearSVC().fit(*binary)
    result = minorant.minimize(lambda w: (np.abs(w - 1).sum(), np.sign(w - 1)), np.zeros(3), 0.1)
    ax = minorant.plot_convergence(model, model.trace_, labels=["a", "b"], x="seconds")
    assert ax.get_yscale() == "log" and len(ax.lines) == 2 and ax.get_xlabel() == "seconds"
    ax = minorant.plot_convergence(result)
    assert ax.get_ylabel() == "objective"
    with pytest.raises(ValueError, match="nothing to plot"):
        minorant.plot_convergence()
    with pytest.raises(ValueError, match="labels"):
        minorant.plot_convergence(model, labels=[])
