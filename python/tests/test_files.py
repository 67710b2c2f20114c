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
        minorant.LogisticRegression(intercept_scaling=10.0),
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
        for name in ("multi_class", "fit_intercept", "tol"):
            assert getattr(again, name) == getattr(estimator, name)
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


@pytest.mark.skipif(COMMAND is None, reason="MINORANT_COMMAND does not name the command")
def test_the_command_shares_files(three_classes, tmp_path):
    X, y = three_classes
    X = X.round(3)
    data, model = str(tmp_path / "data.svm"), str(tmp_path / "model")

    def run(*arguments):
        done = subprocess.run([COMMAND, *arguments], check=True, capture_output=True, text=True)
        return done.stdout

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
