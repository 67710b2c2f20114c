"""The package itself: documentation that is true, types, examples that run."""

import ast
import doctest
import importlib
import inspect
import pathlib
import pkgutil
import runpy

import pytest

import minorant

EXAMPLES = pathlib.Path(__file__).parents[2] / "examples" / "python"
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
    folder = pathlib.Path(minorant.__file__).parent
    assert (folder / "py.typed").exists()
    stub = (folder / "_core.pyi").read_text()
    for name in dir(minorant._core):
        if not name.startswith("_"):
            assert name in stub, f"the stub lacks {name}"
    assert minorant.__version__.count(".") == 2


def test_the_stub_says_what_the_code_does():
    """Names and defaults of parameters in the stub are those of the functions and classes."""
    stub = ast.parse((pathlib.Path(minorant.__file__).parent / "__init__.pyi").read_text())
    described = {node.name: node for node in stub.body if hasattr(node, "name")}
    for name in minorant.__all__:
        thing = getattr(minorant, name)
        if name == "methods" or (inspect.isclass(thing) and not hasattr(thing, "fit")):
            continue
        node = described[name]
        if inspect.isclass(thing):
            node = next(item for item in node.body if getattr(item, "name", "") == "__init__")
        arguments = node.args
        found = {a.arg: None for a in arguments.args if a.arg != "self"}
        found |= {a.arg: d for a, d in zip(arguments.kwonlyargs, arguments.kw_defaults)}
        expected = inspect.signature(thing).parameters
        assert list(found) == [n for n, p in expected.items() if p.kind != p.VAR_POSITIONAL], name
        for parameter, default in found.items():
            if default is not None:
                assert ast.literal_eval(default) == expected[parameter].default, parameter


@pytest.mark.parametrize("example", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.name)
def test_examples(example, capsys, monkeypatch):
    monkeypatch.setenv("MPLBACKEND", "agg")
    runpy.run_path(str(example), run_name="__main__")
    assert capsys.readouterr().out.strip()


def test_there_are_examples():
    assert len(list(EXAMPLES.glob("*.py"))) >= 4
