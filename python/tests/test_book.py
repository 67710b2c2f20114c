"""The Python code of the documentation runs as it stands: the blocks of a page, one after the other."""

import os
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs" / "src").rglob("*.md"))]
CODE = {page: "\n".join(BLOCK.findall(page.read_text(encoding="utf-8"))) for page in PAGES}


def test_there_is_code():
    assert sum(bool(code) for code in CODE.values()) >= 5


@pytest.mark.parametrize("page", [page for page in PAGES if CODE[page]], ids=lambda page: page.stem)
def test_code_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(os.environ, "MPLBACKEND", "Agg")
    exec(compile(CODE[page], str(page), "exec"), {"__name__": "__main__"})
