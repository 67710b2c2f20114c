"""Writes the book's page on the Python package from its docstrings, which it reads from the source.

Nothing is imported but the standard library, so that the page can be made without the package.
"""

import ast
import re
import sys
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "python" / "minorant"
HEAD = """# Python reference

Made from the docstrings of the package. `help(minorant.LinearSVC)` shows the same in a session.
"""


def exported(package):
    """The exported names in order, with the file that each comes from."""
    tree = ast.parse((package / "__init__.py").read_text(encoding="utf-8"))
    imports = [node for node in tree.body if isinstance(node, ast.ImportFrom) and node.level == 1]
    files = {alias.asname or alias.name: node.module for node in imports for alias in node.names}
    return {name: package / f"{files[name]}.py" for name in sorted(files) if name[0] != "_"}


def definition(path, name):
    """The class or function of this name, if the file has it."""
    if not path.exists():
        return None
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return next((node for node in tree.body if getattr(node, "name", None) == name), None)


def plain(text):
    """Inline markup of docstrings as Markdown."""
    text = re.sub(r":\w+:`~?([^`]+)`", r"`\1`", text)
    return text.replace("``", "`")


def markdown(docstring):
    """A numpydoc docstring as Markdown."""
    lines, out, section, i = docstring.splitlines(), [], None, 0
    while i < len(lines):
        line = lines[i]
        if i + 1 < len(lines) and lines[i + 1].strip("-") == "" and lines[i + 1].startswith("---"):
            section = line.strip()
            out += [f"**{section}**", ""]
            i += 2
        elif line.startswith(">>>"):
            end = next((j for j in range(i, len(lines)) if not lines[j].strip()), len(lines))
            out += ["```pycon", *lines[i:end], "```"]
            i = end
        elif section in ("Parameters", "Attributes", "Returns", "Raises") and line[:1].strip():
            name, _, kind = line.partition(" : ")
            out.append(f"- `{name}`" + (f" ({plain(kind)})" if kind else "") + ":")
            i += 1
        elif section in ("Parameters", "Attributes", "Returns", "Raises") and line.strip():
            out.append("  " + plain(line[2:]) if line.startswith("    ") else plain(line))
            i += 1
        else:
            out.append(plain(line))
            i += 1
    return "\n".join(out)


def signature(node):
    """What a call looks like; a class is called like its `__init__`."""
    function = node
    if isinstance(node, ast.ClassDef):
        inits = [f for f in node.body if getattr(f, "name", None) == "__init__"]
        if not inits:
            return node.name
        function = inits[0]
    arguments = ast.unparse(function.args)
    return f"{node.name}({re.sub(r'^self(, )?', '', arguments)})"


def entry(node, owner=""):
    """The lines of a class with its public methods, or of a function."""
    docstring = ast.get_docstring(node)
    if not docstring:
        return []
    call = signature(node)
    if any(getattr(mark, "id", None) == "property" for mark in node.decorator_list):
        call = node.name
    lines = [f"{'###' if owner else '##'} {owner}{node.name}", ""]
    lines += ["```text", owner + call, "```", "", markdown(docstring), ""]
    for method in node.body if isinstance(node, ast.ClassDef) else []:
        if isinstance(method, ast.FunctionDef) and method.name[0] != "_":
            lines += entry(method, f"{node.name}.")
    return lines


def page():
    """The whole page."""
    lines = [HEAD]
    for name, path in exported(PACKAGE).items():
        node = definition(path, name)
        lines += entry(node) if node else []
    return "\n".join(lines).rstrip() + "\n"


if __name__ == "__main__":
    target = Path(sys.argv[1])
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(page(), encoding="utf-8")
