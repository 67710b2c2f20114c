"""Docstrings of estimators, put together from what they and their bases say and, for parameters of
which nobody says anything, from the library's option table.

Only the standard library is needed here, for the book's Python reference is made with it too.
"""

import inspect
import re
import textwrap

from ._names import option_of

_HEADING = re.compile(r"^(\w[\w ]*)\n-{3,}\n", re.MULTILINE)


def merged(mappings):
    """One mapping of several, that of a class before those of its bases. Of entries with the same name
    the class's own holds, and stands where the furthest base has the name."""
    found = {}
    for mapping in mappings:
        for name, entry in mapping.items():
            found[name] = found.pop(name, entry)
    return found


def complete(docstrings, parameters, options):
    """The first of these docstrings, that of a class before those of its bases, with the parameters and
    the attributes of all. Parameters come with their types and defaults as they stand in the source."""
    sections = [_sections(inspect.cleandoc(text)) for text in docstrings if text]
    own = sections[0]
    said = merged(_entries(found.get("Parameters", "")) for found in sections)
    known = {
        name: said.get(name) or _of_table(name, *parameter, options, parameters)
        for name, parameter in parameters.items()
    }
    attributes = merged(_entries(found.get("Attributes", "")) for found in sections)
    own |= {"Parameters": "\n".join(known.values()), "Attributes": "\n".join(attributes.values())}
    return _joined(own)


def of_method(docstring, arguments, of_fit):
    """The docstring of a method. Arguments that it says nothing about are what those of these names are
    in that of ``fit``, if there all of them are told; ``fit`` itself returns the estimator."""
    own, fit = (_sections(inspect.cleandoc(text)) for text in (docstring, of_fit))
    said = _entries(fit["Parameters"]) | _entries(own.get("Parameters", ""))
    names = list(arguments)[1:]
    if not said.keys() >= set(names):
        return docstring
    returned = "self : object\n    The fitted estimator." if docstring == of_fit else None
    told = "\n".join(said[name] for name in names)
    own |= {"Parameters": told, "Returns": own.get("Returns", returned)}
    return _joined(own)


def parameters_of(called):
    """The types and the defaults of the parameters of a class or a function, as :func:`complete` takes
    them."""
    return {
        name: (inspect.formatannotation(parameter.annotation), repr(parameter.default))
        for name, parameter in inspect.signature(called).parameters.items()
    }


def _of_table(name, kind, default, options, parameters):
    """The entry of a parameter as the option table describes it. What stands for values in the help
    of the command is called like the parameters here."""
    option = options[option_of(name)]
    meaning = option["meaning"]
    for other in [name, *parameters]:
        letter = options.get(option_of(other), {}).get("value") or ""
        if len(letter) == 1:
            meaning = re.sub(rf"\b{letter}\b", f"``{other}``", meaning)
    # Words have underscores here where those of the command have dashes.
    for word in re.findall(r"'(\w+_\w+)'", " ".join(kind for kind, _ in parameters.values())):
        meaning = meaning.replace(word.replace("_", "-"), word)
    if default == "None" and option["otherwise"]:
        meaning += f". By default {option['otherwise']}"
    choices = re.compile(r"(?:typing\.)?Literal\[(.*?)\]")
    kind = choices.sub(r"{\1}", kind).removesuffix(" | None").replace(" | ", " or ")
    text = textwrap.fill(f"{meaning}.", 95, initial_indent="    ", subsequent_indent="    ")
    return f"{name} : {kind}, default={default}\n{text}"


def _joined(sections):
    """A docstring of sections, in the usual order."""
    order = ["Parameters", "Attributes", "Returns", "Raises", "Notes", "Examples"]
    shown = [name for name in order if sections.get(name)]
    texts = (f"{name}\n{'-' * len(name)}\n{sections[name]}" for name in shown)
    return "\n\n".join([sections[""], *texts])


def _sections(docstring):
    """The text under each heading; that before the first one under none."""
    pieces = _HEADING.split(docstring)
    headings = ["", *pieces[1::2]]
    return {heading: text.strip("\n") for heading, text in zip(headings, pieces[::2], strict=True)}


def _entries(section):
    """The entries of a section by what they describe, each with its heading line."""
    pieces = re.split(r"^(?=\S)", section, flags=re.MULTILINE)
    return {piece.partition(" : ")[0]: piece.rstrip("\n") for piece in pieces if piece.strip()}
