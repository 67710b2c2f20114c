"""The type stubs: free of errors themselves, and true of what they describe."""

import pathlib
import shutil
import subprocess
import sys

import pytest

import minorant

pytest.importorskip("mypy")
PACKAGE = pathlib.Path(minorant.__file__).parent
# scikit-learn and SciPy have no types of their own.
SETTINGS = "[mypy]\nignore_missing_imports = True\ndisable_error_code = no-redef, assignment\n"
# Nobody makes a path by hand, and the protocol of a structure is for type checkers only. Modules
# of the package itself have no stubs, and constructors there are put together when they are loaded.
KNOWN = r"minorant\.Path\.__init__|minorant\.StructuredModel|minorant\._(?!core\b)\w+\..*"


def python(*arguments, cwd):
    done = subprocess.run(
        [sys.executable, "-m", *map(str, arguments)], cwd=cwd, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_stubs_have_no_errors(tmp_path):
    settings, stubs = tmp_path / "mypy.ini", tmp_path / "minorant"
    settings.write_text(SETTINGS)
    # Apart from what is installed, or mypy takes all of that for ours.
    stubs.mkdir()
    for stub in PACKAGE.glob("*.pyi"):
        shutil.copy(stub, stubs)
    options = ["--config-file", settings, "--strict", "--allow-subclassing-any"]
    python("mypy", *options, "minorant", cwd=tmp_path)


def test_stubs_tell_the_truth(tmp_path):
    settings, known = tmp_path / "mypy.ini", tmp_path / "known"
    settings.write_text(SETTINGS)
    known.write_text(KNOWN.replace("|", "\n"))
    options = ["--mypy-config-file", settings, "--allowlist", known, "--ignore-unused-allowlist"]
    python("mypy.stubtest", "minorant", *options, "--ignore-missing-stub", "--concise", cwd=tmp_path)
