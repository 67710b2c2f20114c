"""The package itself: documentation that is true, types, examples that run."""

import doctest
import importlib
import inspect
import pathlib
import pkgutil
import runpy

import pytest

import minorant
from minorant._names import option_of

EXAMPLES = pathlib.Path(__file__).parents[2] / "examples" / "python"
PUBLIC = [getattr(minorant, name) for name in minorant.__all__]
ESTIMATORS = [thing for thing in PUBLIC if inspect.isclass(thing) and hasattr(thing, "fit")]
MODULES = [name for _, name, _ in pkgutil.iter_modules(minorant.__path__) if name != "_core"]


@pytest.mark.parametrize("module", ["", *MODULES])
def test_documentation(module):
    module = importlib.import_module(f"minorant.{module}".rstrip("."))
    assert doctest.testmod(module).failed == 0


def test_everything_public_is_documented():
    for name in minorant.__all__:
        thing = getattr(minorant, name)
        assert inspect.getdoc(thing), name
        if inspect.isclass(thing) and hasattr(thing, "fit"):
            described = inspect.getdoc(thing)
            for parameter in inspect.signature(thing).parameters:
                assert f"{parameter} : " in described, f"{name} does not describe {parameter}"
            for method in ("fit", "predict", "score"):
                assert inspect.getdoc(getattr(thing, method)), f"{name}.{method}"
            for method in ("decision_function", "predict_marginals", "path", "save", "load"):
                if hasattr(thing, method):
                    assert inspect.getdoc(getattr(thing, method)), f"{name}.{method}"


def test_descriptions_are_put_together_from_those_of_the_bases():
    for name in minorant.__all__:
        thing = getattr(minorant, name)
        if not (inspect.isclass(thing) and hasattr(thing, "fit")):
            continue
        text = inspect.getdoc(thing)
        places = [text.find(f"\n{part}\n---") for part in ("Parameters", "Attributes", "Examples")]
        assert -1 not in places and places == sorted(places), name
        for attribute in ("certificate_ : ", "trace_ : ", "method_, status_ : "):
            assert text.count(f"\n{attribute}") == 1, f"{name} describes {attribute} not once"
        for parameter in inspect.signature(thing).parameters:
            assert text.count(f"\n{parameter} : ") == 1, f"{name} describes {parameter} not once"
    # What a class says itself holds, where its base has the name.
    assert "'auto' is 'cccp' here" in inspect.getdoc(minorant.RampSVC)
    assert inspect.signature(minorant.S3VC).parameters["tol"].default == 1e-6


def test_types_and_version():
    assert (pathlib.Path(minorant.__file__).parent / "py.typed").exists()
    assert minorant.__version__.count(".") == 2


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_constructors_are_plain_and_typed(estimator):
    """An editor sees every parameter with its type and default, and every argument is kept."""
    signature = inspect.signature(vars(estimator)["__init__"])
    for name, parameter in list(signature.parameters.items())[1:]:
        assert parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY), name
        assert parameter.annotation is not parameter.empty, name
    for name in ("fit", "predict", "score", "decision_function", "predict_proba", "save", "load"):
        method = getattr(estimator, name, None)
        if method is not None and method.__module__.startswith("minorant"):
            assert "return" in method.__annotations__, f"{estimator.__name__}.{name}"


#: Parameters whose default is written otherwise than the table's, and why.
OTHER_DEFAULTS = {
    "epsilon": "scikit-learn's: without it LinearSVR is least absolute error; HuberRegressor's is huber",
    "loss": "LinearSVR is the regression of two losses",
    "n_jobs": "None means one thread, as everywhere in scikit-learn",
    "intercept_scaling": "there is an intercept unless fit_intercept says otherwise",
    "min_count": "None keeps all attributes, as the table's 1 does",
    "random_state": "None is the table's seed 0",
}


@pytest.mark.parametrize("estimator", [e for e in ESTIMATORS if hasattr(e, "_model_name")])
def test_defaults_are_those_of_the_option_table(estimator):
    table = minorant._core.options(estimator._model_name)
    others = set()
    for name, parameter in inspect.signature(estimator).parameters.items():
        option = option_of(name)
        if option not in table:
            others.add(name)
        if option not in table or name in OTHER_DEFAULTS:
            continue
        typed = table[option]["default"]
        default = parameter.default
        if isinstance(default, bool) or default is None or isinstance(default, str):
            expected = {None: None, "true": True, "false": False}.get(typed, typed)
        elif isinstance(default, tuple):
            expected = tuple(int(number) for number in typed.split(","))
        else:
            expected = float(typed)
        assert default == expected, f"{estimator.__name__}({name})"
    # What is no option of the model, the Python half sees to itself.
    assert others <= {
        "fit_intercept", "warm_start", "verbose", "random_state", "fit_scale", "lams", "cv", "scoring"
    }


@pytest.mark.parametrize("example", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.name)
def test_examples(example, capsys, monkeypatch):
    monkeypatch.setenv("MPLBACKEND", "agg")
    runpy.run_path(str(example), run_name="__main__")
    assert capsys.readouterr().out.strip()


def test_there_are_examples():
    assert len(list(EXAMPLES.glob("*.py"))) >= 4
