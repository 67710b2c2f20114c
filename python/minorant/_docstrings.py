"""Docstrings of estimators, completed by what their bases say: an entry under Parameters or
Attributes is written once, in the class that has the parameter or the attribute.

Only the standard library is needed here, for the book's Python reference is made with it too.
"""

import inspect
import re

_MERGED = ("Parameters", "Attributes")
_HEADING = re.compile(r"^(\w[\w ]*)\n-{3,}\n", re.MULTILINE)


def merged(mappings):
    """One mapping of several, that of a class before those of its bases. Of entries with the same name
    the class's own holds, and stands where the furthest base has the name."""
    found = {}
    for mapping in mappings:
        for name, entry in mapping.items():
            found[name] = found.pop(name, entry)
    return found


def complete(docstrings):
    """The first of these docstrings with the parameters and attributes of all."""
    sections = [_sections(inspect.cleandoc(text)) for text in docstrings if text]
    own = sections[0]
    parts = [own[""]]
    for heading in _MERGED:
        entries = merged(_entries(found.get(heading, "")) for found in sections)
        if entries:
            parts.append(_section(heading, "\n".join(entries.values())))
    further = {heading: text for heading, text in own.items() if heading not in ("", *_MERGED)}
    parts += [_section(heading, text) for heading, text in further.items()]
    return "\n\n".join(parts)


def _section(heading, text):
    return f"{heading}\n{'-' * len(heading)}\n{text}"


def _sections(docstring):
    """The text under each heading; that before the first one under none."""
    pieces = _HEADING.split(docstring)
    headings = ["", *pieces[1::2]]
    return {heading: text.strip("\n") for heading, text in zip(headings, pieces[::2], strict=True)}


def _entries(section):
    """The entries of a section by what they describe, each with its heading line."""
    pieces = re.split(r"^(?=\S)", section, flags=re.MULTILINE)
    return {piece.partition(" : ")[0]: piece.rstrip("\n") for piece in pieces if piece.strip()}
