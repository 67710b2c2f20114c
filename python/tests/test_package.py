"""The package itself: documentation that is true, types, examples that run."""

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
            for method in ("fit", "predict", "decision_function", "save", "load", "score"):
                assert inspect.getdoc(getattr(thing, method)), f"{name}.{method}"


def test_types_and_version():
    folder = pathlib.Path(minorant.__file__).parent
    assert (folder / "py.typed").exists()
    stub = (folder / "_core.pyi").read_text()
    for name in dir(minorant._core):
        if not name.startswith("_"):
            assert name in stub, f"the stub lacks {name}"
    assert minorant.__version__.count(".") == 2


@pytest.mark.parametrize("example", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.name)
def test_examples(example, capsys, monkeypatch):
    monkeypatch.setenv("MPLBACKEND", "agg")
    runpy.run_path(str(example), run_name="__main__")
    assert capsys.readouterr().out.strip()


def test_there_are_examples():
    assert len(list(EXAMPLES.glob("*.py"))) >= 4
