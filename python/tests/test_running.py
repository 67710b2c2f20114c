"""Threads, interruption, memory."""

import os
import signal
import threading
import time

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import minorant
from minorant import LinearSVC


class Meeting:
    """A callback that waits, in the middle of a fit, until the other fit is in the middle too."""

    barrier = threading.Barrier(2, timeout=60)

    def __init__(self):
        self.met = False

    def setup(self, estimator, context):
        pass

    def teardown(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(self, estimator, context):
        if not self.met:
            self.met = True
            self.barrier.wait()


def test_two_fits_run_at_once(binary):
    pytest.importorskip("sklearn.callback")
    meetings = [Meeting(), Meeting()]

    def fit(meeting):
        LinearSVC().set_callbacks(meeting).fit(*binary)

    threads = [threading.Thread(target=fit, args=(meeting,)) for meeting in meetings]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(meeting.met for meeting in meetings) and not Meeting.barrier.broken


def test_python_goes_on_while_rust_works(endless):
    X, y, estimator = endless
    estimator.set_params(max_evals=20)
    ticks = []
    done = threading.Event()

    def tick():
        while not done.wait(0.001):
            ticks.append(1)

    ticker = threading.Thread(target=tick)
    ticker.start()
    with pytest.warns(ConvergenceWarning):
        estimator.fit(X, y)
    done.set()
    ticker.join()
    assert len(ticks) > 3


def interrupt_soon(seconds=0.3):
    # A process that was started in the background ignores the signal unless told otherwise.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    return timer


def test_interrupted_fits(endless):
    X, y, estimator = endless
    timer = interrupt_soon()
    with pytest.raises(KeyboardInterrupt):
        estimator.fit(X, y)
    timer.join()
    assert not hasattr(estimator, "coef_")
    timer = interrupt_soon()
    estimator.set_params(warm_start=True)
    with pytest.raises(KeyboardInterrupt):
        estimator.fit(X, y)
    timer.join()
    if not hasattr(estimator, "coef_"):
        pytest.skip("the signal came before the first point")
    assert estimator.status_ == "interrupted"
    assert np.isfinite(estimator.coef_).all()
    assert estimator.score(X, y) > 0.5


def test_interrupted_one_vs_rest(endless):
    X, y, estimator = endless
    y = np.where(y, 1, np.arange(len(y)) % 3 + 2)
    estimator.set_params(multi_class="ovr", warm_start=True)
    timer = interrupt_soon()
    with pytest.raises(KeyboardInterrupt):
        estimator.fit(X, y)
    timer.join()
    if hasattr(estimator, "coef_"):
        assert estimator.coef_.shape == (4, X.shape[1])


def test_interrupted_functions():
    def slow(w):
        time.sleep(0.01)
        return np.abs(w - 1).sum(), np.sign(w - 1)

    timer = interrupt_soon()
    with pytest.raises(KeyboardInterrupt):
        while True:
            minorant.minimize(slow, np.zeros(20), 1e-6, tol=0)
    timer.join()


def resident_bytes():
    with open("/proc/self/statm") as status:
        return int(status.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="memory is read from /proc")
def test_nothing_leaks():
    X = np.random.default_rng(0).standard_normal((30, 5))
    y = X[:, 0] > 0

    def cycles(count):
        for _ in range(count):
            LinearSVC().fit(X, y).predict(X)
            minorant.minimize(lambda w: (np.abs(w).sum(), np.sign(w)), np.ones(9), 1.0)

    cycles(200)
    before = resident_bytes()
    cycles(1000)
    assert resident_bytes() - before < 4 << 20


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="memory is read from /proc")
def test_training_takes_little_memory_besides_the_data():
    from scipy import sparse

    rng = np.random.default_rng(0)
    rows, columns, each = 200_000, 5_000, 50
    indices = rng.integers(0, columns // each, rows * each, dtype=np.int32)
    indices += np.tile(np.arange(0, columns, columns // each, dtype=np.int32), rows)
    data = rng.standard_normal(rows * each, dtype=np.float32)
    starts = np.arange(0, rows * each + 1, each, dtype=np.int32)
    X = sparse.csr_array((data, indices, starts), shape=(rows, columns))
    y = X @ rng.standard_normal(columns) > 0
    peak, stop = [0], threading.Event()

    def watch():
        while not stop.wait(0.002):
            peak[0] = max(peak[0], resident_bytes())

    watcher = threading.Thread(target=watch)
    before = resident_bytes()
    watcher.start()
    LinearSVC(C=1e-4).fit(X, y)
    stop.set()
    watcher.join()
    assert peak[0] - before < 1.25 * (data.nbytes + indices.nbytes)
