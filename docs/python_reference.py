"""Writes the book's page on the Python package from its docstrings, which it reads from the source, and
from the library's option table, which it reads as JSON from standard input (`cargo run --package
minorant --example options`).

Nothing is imported but the standard library, so that the page can be made without the package.
"""

import ast
import json
import re
import sys
from pathlib import Path
from types import ModuleType

PACKAGE = Path(__file__).parents[1] / "python" / "minorant"
# Two files of the package put docstrings together, and need nothing of the others.
sys.modules["minorant"] = ModuleType("minorant")
sys.modules["minorant"].__path__ = [str(PACKAGE)]
from minorant._docstrings import complete, merged, of_method  # noqa: E402

#: The options of every model.
OPTIONS = json.load(sys.stdin)
HEAD = """# Python reference

Made from the docstrings of the package. `help(minorant.LinearSVC)` shows the same in a session.
"""


def imported(path):
    """The names that a file has from other files of the package, with these files."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    imports = [node for node in tree.body if isinstance(node, ast.ImportFrom) and node.level == 1]
    files = {alias.asname or alias.name: node.module for node in imports for alias in node.names}
    return {name: path.parent / f"{module}.py" for name, module in files.items()}


def definition(path, name):
    """The class or function of this name, if the file has it."""
    if not path.exists():
        return None
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return next((node for node in tree.body if getattr(node, "name", None) == name), None)


def lineage(path, node):
    """The class and its bases in this package, each before its own bases."""
    found = [node]
    for name in [base.id for base in node.bases if isinstance(base, ast.Name)]:
        file = imported(path).get(name, path)
        base = definition(file, name)
        further = lineage(file, base) if base else []
        found = [known for known in found if known.name not in {f.name for f in further}] + further
    return found


def functions(node):
    """The methods of a class."""
    return [f for f in getattr(node, "body", []) if isinstance(f, ast.FunctionDef)]


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


def parameters(bases):
    """The parameters that an estimator and its bases declare, with their types and defaults as they stand
    there, and whether an argument may be given by its place."""
    lines = [[line for line in base.body if isinstance(line, ast.AnnAssign)] for base in bases]
    declared = merged({line.target.id: line for line in of_class} for of_class in lines)
    found = {}
    for name, line in declared.items():
        default, by_place = line.value, isinstance(line.value, ast.Call)
        # What begins with an underscore is nobody's business, and what ends with one or is said to be
        # fitted is no parameter.
        if "_" in (name[0], name[-1]) or by_place and line.value.func.id == "fitted":
            continue
        if by_place:
            default = next((k.value for k in line.value.keywords if k.arg == "default"), None)
        found[name] = (ast.unparse(line.annotation), default and ast.unparse(default), by_place)
    return found


def model_of(bases):
    """The library's name of an estimator's model, where the class or one of its bases has it."""
    for line in (line for base in bases for line in base.body):
        if isinstance(line, ast.Assign) and line.targets[0].id == "_model_name":
            return line.value.value
    return None


def signature(node, bases):
    """What a call looks like; a class is called like its `__init__`, and an estimator by its parameters."""
    if is_estimator(bases):
        typed = {True: [], False: []}
        for name, (_, default, by_place) in parameters(bases).items():
            typed[by_place].append(name if default is None else f"{name}={default}")
        return f"{node.name}({', '.join([*typed[True], '*', *typed[False]])})"
    inits = [f for base in bases for f in functions(base) if f.name == "__init__"]
    called = next((f.args for f in inits or [node] if hasattr(f, "args")), None)
    if called is None:
        return node.name
    # The entries under Parameters tell the types.
    for argument in (*called.args, *called.kwonlyargs, called.vararg):
        if argument is not None:
            argument.annotation = None
    return f"{node.name}({re.sub(r'^(self|cls)(, )?', '', ast.unparse(called))})"


def is_estimator(bases):
    """Whether a class with these bases is one that declares its parameters."""
    return any(base.name == "CertifiedEstimator" for base in bases)


def entry(node, owner="", bases=(), of_fit=None):
    """The lines of a class with its public methods, or of a function; of a method of an estimator with
    what is said of its ``fit``."""
    docstring = ast.get_docstring(node)
    if not docstring:
        return []
    if is_estimator(bases):
        docstrings = [ast.get_docstring(base) for base in bases]
        told = {name: tuple(parameter[:2]) for name, parameter in parameters(bases).items()}
        docstring = complete(docstrings, told, OPTIONS[model_of(bases) or "minimize"])
    elif node.name in OPTIONS:
        given = [*node.args.args, *node.args.kwonlyargs]
        defaults = [None] * len(node.args.args) + node.args.kw_defaults
        told = {
            argument.arg: (ast.unparse(argument.annotation), default and ast.unparse(default))
            for argument, default in zip(given, defaults, strict=True)
        }
        docstring = complete([docstring], told, OPTIONS[node.name])
    elif of_fit is not None:
        arguments = [*node.args.args, *node.args.kwonlyargs]
        docstring = of_method(docstring, [argument.arg for argument in arguments], of_fit)
    call = signature(node, bases)
    if any(getattr(mark, "id", None) == "property" for mark in node.decorator_list):
        call = node.name
    lines = [f"{'###' if owner else '##'} {owner}{node.name}", ""]
    lines += ["```text", owner + call, "```", "", markdown(docstring), ""]
    methods = merged({f.name: f for f in functions(base)} for base in bases)
    for name, method in methods.items():
        if name[0] != "_":
            of_fit = ast.get_docstring(methods["fit"]) if is_estimator(bases) else None
            lines += entry(method, f"{node.name}.", of_fit=of_fit)
    return lines


def page():
    """The whole page."""
    lines = [HEAD]
    for name, path in sorted(imported(PACKAGE / "__init__.py").items()):
        node = definition(path, name)
        if node and name[0] != "_":
            lines += entry(node, bases=lineage(path, node) if isinstance(node, ast.ClassDef) else ())
    return "\n".join(lines).rstrip() + "\n"


if __name__ == "__main__":
    target = Path(sys.argv[1])
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(page(), encoding="utf-8")
