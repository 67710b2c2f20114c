"""Types: true of the compiled half, free of contradictions, and seen by those who use the package."""

import os
import pathlib
import subprocess
import sys

import pytest

import minorant

pytest.importorskip("mypy")
FOLDER = pathlib.Path(minorant.__file__).parent.parent
# scikit-learn and SciPy have no types of their own. Constructors of estimators keep their arguments
# as they are given, so that a check of parameters cannot narrow their types.
SETTINGS = "[mypy]\nignore_missing_imports = True\n"

PROGRAM = """
from typing import Any, assert_type
import numpy as np
from numpy.typing import NDArray
import minorant

svm = minorant.LinearSVC(loss="huber_hinge", huber=0.25).fit([[0.0], [1.0]], [0, 1])
assert_type(svm, minorant.LinearSVC)
assert_type(svm.certificate_.relative_gap, float | None)
assert_type(svm.predict([[2.0]]), NDArray[Any])
assert_type(svm.path([[0.0], [1.0]], [0, 1]).best, minorant.LinearSVC)
assert_type(minorant.ChainCRF.load("model"), minorant.ChainCRF)
assert_type(minorant.ChainCRF().predict_marginals([]), list[NDArray[np.float64]])
found = minorant.minimize(lambda w: (0.0, w), np.zeros(2), 1.0)
assert_type(found.lower_bound, float | None)
"""
MISTAKES = """
import minorant

minorant.LinearSVC(loss="log")
minorant.NeuroCRF(hidden="many")
minorant.S3VC(sigma="wide")
minorant.LinearSVC(colour="red")
"""


def mypy(folder, *arguments, module="mypy"):
    settings = folder / "mypy.ini"
    settings.write_text(SETTINGS)
    flag = "--mypy-config-file" if module.endswith("stubtest") else "--config-file"
    command = [sys.executable, "-m", module, flag, settings, *arguments]
    environment = dict(os.environ)
    # mypy finds an installed package by itself, and refuses to be told where; one that is run from
    # its sources it has to be told.
    if FOLDER.name != "site-packages":
        environment |= {"MYPYPATH": str(FOLDER), "PYTHONPATH": str(FOLDER)}
    return subprocess.run(
        list(map(str, command)), cwd=folder, capture_output=True, text=True, env=environment
    )


def test_the_stub_of_the_compiled_half_is_true(tmp_path):
    done = mypy(tmp_path, "minorant._core", "--concise", module="mypy.stubtest")
    assert done.returncode == 0, done.stdout + done.stderr


def test_types_are_seen_and_free_of_contradictions(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    done = mypy(tmp_path, "program.py")
    assert done.returncode == 0, done.stdout + done.stderr
    (tmp_path / "mistakes.py").write_text(MISTAKES)
    done = mypy(tmp_path, "mistakes.py")
    assert done.stdout.count("error:") == 4, done.stdout
