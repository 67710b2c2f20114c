"""Minimising functions."""

import numpy as np
import pytest

import minorant


def distance(w):
    """The sum of |w_i - i| and a subgradient."""
    away = w - np.arange(len(w))
    return np.abs(away).sum(), np.sign(away)


def test_finds_the_minimum_with_a_bound():
    result = minorant.minimize(distance, np.zeros(4), 0.1, convex=True, tol=1e-9)
    np.testing.assert_allclose(result.x, np.arange(4), atol=1e-6)
    assert result.fun == pytest.approx(0.05 * 14)
    assert result.success and result.status == "converged" and result.message
    assert result.lower_bound <= result.fun and result.gap <= 1e-9 * result.fun
    assert result.nfev >= result.nit > 0 and result.trace.rows == result.nit + 1


def test_no_bound_unless_it_is_convex():
    result = minorant.minimize(distance, np.zeros(4), 0.1, max_evals=30)
    assert result.lower_bound is None and result.gap is None
    assert np.isnan(result.trace["lower_bound"].astype(float)).all()


def test_center_weights_and_start():
    started = []

    def flat(w):
        started.append(w)
        return 0.0, np.zeros(2)

    result = minorant.minimize(flat, [5.0, 6.0], 1.0, center=[1.0, 2.0], weights=[1.0, 3.0])
    assert started[0].tolist() == [5.0, 6.0]
    np.testing.assert_allclose(result.x, [1.0, 2.0], atol=1e-6)

    def slope(w):
        return w.sum(), np.ones(2)

    result = minorant.minimize(slope, np.zeros(2), 1.0, weights=[1.0, 2.0], convex=True, tol=1e-12)
    np.testing.assert_allclose(result.x, [-1.0, -0.25], atol=1e-6)


def test_every_method_is_there_or_says_why_not():
    for method in minorant.methods():
        try:
            result = minorant.minimize(
                distance, np.zeros(3), 0.1, method=method, convex=True, max_evals=300
            )
        except ValueError as error:
            assert method in str(error) and "needs" in str(error)
        else:
            assert result.fun < distance(np.zeros(3))[0]


def test_exceptions_come_through_unchanged():
    class Mine(Exception):
        pass

    mine = Mine("hello")

    def failing(w):
        if w.any():
            raise mine
        return distance(w)

    with pytest.raises(Mine) as caught:
        minorant.minimize(failing, np.zeros(3), 0.1)
    assert caught.value is mine
    assert any(frame.name == "failing" for frame in caught.traceback)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (3.0, "value and a subgradient"),
        ((1.0, [1.0]), r"shape \(3,\)"),
        ((1.0, np.ones((3, 1))), r"shape \(3,\)"),
        (("x", np.ones(3)), "numbers"),
        ((None, np.ones(3)), "numbers"),
    ],
)
def test_bad_answers_keep_the_best_point(answer, words):
    calls = []

    def sometimes(w):
        calls.append(w)
        return distance(w) if len(calls) < 3 else answer

    with pytest.raises(minorant.EvaluationError, match=words) as caught:
        minorant.minimize(sometimes, np.zeros(3), 0.1)
    assert str(caught.value).startswith("at evaluation 3 ")
    best = caught.value.best
    assert best is caught.value.result and best.status == "failed" and not best.success
    assert best.fun == pytest.approx(distance(best.x)[0] + 0.05 * (best.x**2).sum())
    assert len(calls) == best.nfev == 3


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ((np.nan, np.ones(3)), "NaN"),
        ((np.inf, np.ones(3)), "inf"),
        ((1.0, [1.0, np.nan, 0.0]), "coordinate 1"),
    ],
)
@pytest.mark.parametrize("method", ["auto", "nrbm", "prox-nrbm", "nbm", "bmrm"])
def test_numbers_that_stay_infinite_end_the_run(answer, words, method):
    convex = method == "bmrm"
    calls = []

    def sometimes(w):
        calls.append(w)
        return distance(w) if len(calls) < 3 else answer

    with pytest.raises(minorant.EvaluationError, match=f"evaluation 3 .*{words}") as caught:
        minorant.minimize(sometimes, np.zeros(3), 0.1, convex=convex, method=method)
    best = caught.value.best
    assert best.fun == pytest.approx(distance(best.x)[0] + 0.05 * (best.x**2).sum())
    assert len(calls) == best.nfev < 100


@pytest.mark.parametrize("method", ["auto", "nrbm", "prox-nrbm", "nbm"])
def test_a_step_to_where_it_is_not_finite_was_too_long(method):
    def walled(w):
        if (w > 4).any():
            return np.inf, np.full(2, np.nan)
        return np.abs(w - 3).sum(), np.sign(w - 3)

    result = minorant.minimize(walled, np.zeros(2), 0.1, method=method, max_evals=200)
    np.testing.assert_allclose(result.x, [3.0, 3.0], atol=0.1)


def test_local_gaps_are_no_bounds():
    result = minorant.minimize(distance, np.zeros(3), 0.1)
    assert result.lower_bound is None and result.local_gap <= 1e-3 * result.fun
    assert minorant.minimize(distance, np.zeros(3), 0.1, convex=True).local_gap is None


def test_bad_first_answers_have_no_point():
    with pytest.raises(minorant.EvaluationError) as caught:
        minorant.minimize(lambda w: (np.nan, w), np.zeros(3), 0.1)
    assert caught.value.result is None


def test_callbacks():
    seen = []

    def watch(state):
        seen.append((state.iteration, state.x.copy(), state.fun))

    result = minorant.minimize(distance, np.zeros(3), 0.1, callback=watch, max_evals=20)
    assert [s[0] for s in seen] == list(range(len(seen))) and len(seen) == result.trace.rows
    np.testing.assert_array_equal(seen[-1][1], result.x)

    def stop(state):
        if state.iteration == 2:
            raise StopIteration

    assert minorant.minimize(distance, np.zeros(3), 0.1, callback=stop).status == "interrupted"
    stopped = minorant.minimize(distance, np.zeros(3), 0.1, callback=lambda state: True)
    assert stopped.status == "interrupted" and stopped.nfev == 1

    def failing(state):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        minorant.minimize(distance, np.zeros(3), 0.1, callback=failing)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"x0": np.zeros((2, 2))}, "x0"),
        ({"x0": []}, "x0"),
        ({"lam": -1.0}, "lam"),
        ({"lam": np.nan}, "lam"),
        ({"method": "nope"}, "there is no solver"),
        ({"center": [1.0]}, "center"),
        ({"weights": [0.0, 1.0, 1.0]}, "weight"),
        ({"memory": 2}, "memory"),
        ({"max_evals": -1}, "max_evals"),
        ({"max_seconds": -1}, "max_seconds"),
        ({"tol": -1}, "tol"),
    ],
)
def test_bad_arguments(changes, words):
    arguments = {"fun": distance, "x0": np.zeros(3), "lam": 0.1, **changes}
    with pytest.raises(ValueError, match=words):
        minorant.minimize(**arguments)


def test_limits():
    result = minorant.minimize(distance, np.zeros(50), 1e-6, max_evals=5, tol=0)
    assert result.status == "max-evals" and result.nfev == 5 and not result.success
    assert minorant.minimize(distance, np.zeros(50), 1e-6, max_seconds=1e-9).nfev == 1


def test_nested_runs():
    def outer(w):
        inner = minorant.minimize(lambda v: distance(v + w), np.zeros(2), 1.0)
        return distance(w)[0] + inner.fun, np.sign(w - np.arange(2))

    assert minorant.minimize(outer, np.zeros(2), 1.0, max_evals=5).nfev <= 5


def test_notebooks():
    assert "evaluations" in minorant.minimize(distance, np.zeros(2), 1.0)._repr_html_()


def test_without_a_regularizer():
    def square(w):
        return float(w @ w), 2 * w

    assert minorant.minimize(square, np.ones(2), 0.0, method="gd", max_evals=50).fun < 1e-6

    def corner(w):
        return np.abs(w - 1).max() + 0.1 * np.abs(w).sum(), (
            np.sign(w - 1) * (np.abs(w - 1) == np.abs(w - 1).max()) + 0.1 * np.sign(w)
        )

    for convex in [False, True]:
        found = minorant.minimize(corner, np.array([3.0, -2.0]), 0.0, convex=convex, tol=1e-6)
        assert found.fun <= 0.2 + 1e-4
        assert found.lower_bound is None
    falling = minorant.minimize(lambda w: (float(-w[0]), np.array([-1.0, 0.0])), np.zeros(2), 0.0)
    assert falling.status == "unbounded" and not falling.success


def test_parameters_of_the_papers():
    w0 = np.array([2.0, -1.0])

    def argsup(w, p):
        side = np.sign(w - np.arange(2))
        return np.where(side == 0, np.where(p >= 0, 1.0, -1.0), side)

    found = minorant.minimize(
        distance, w0, 0.1, method="sublbfgs", argsup=argsup, convex=True, tol=1e-9
    )
    assert found.status == "converged"
    with pytest.raises(ValueError, match="whole subdifferential"):
        minorant.minimize(distance, w0, 0.1, method="sublbfgs", convex=True)
    with pytest.raises(ValueError, match="direction_limit"):
        minorant.minimize(distance, w0, 0.1, method="sublbfgs", argsup=argsup, direction_limit=0)
    with pytest.raises(ValueError, match="no use for the setting locality"):
        minorant.minimize(distance, w0, 0.1, method="gd", locality="squares")
    early = minorant.minimize(distance, w0, 0.1, method="nrbm", stop_change=1e9)
    assert early.nit <= 2
