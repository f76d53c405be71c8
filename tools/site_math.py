r"""Formulas for the documentation site: written in LaTeX, shown as MathML.

Browsers draw MathML by themselves, so that pages need no script and no font from elsewhere. Docstrings write
formulas in NumPy's style (``:math:`` and ``.. math::``), pages as ``$...$``; `dollars` turns the first into
the second, and `to_mathml` what arithmatex makes of both into MathML.
"""

from __future__ import annotations

import html
import re
import textwrap

from latex2mathml.converter import convert

INLINE_ROLE = re.compile(r":math:`([^`]+)`")
DIRECTIVE = re.compile(
    r"^(?P<indent>[ ]*)\.\. math::(?P<first>.*)\n(?P<rest>(?:(?P=indent)[ ]+\S.*\n?|[ ]*\n)*)", re.MULTILINE
)
WIDE = 90  # characters of LaTeX that fit into a line beside the two columns of navigation
WRAPPED = re.compile(
    r'<(?P<tag>span|div) class="arithmatex">\\[(\[](?P<latex>.*?)\\[)\]]</(?P=tag)>', re.DOTALL
)


def dollars(text: str) -> str:
    r"""Return a docstring's text with ``:math:`` and ``.. math::`` written as ``$...$`` and ``$$...$$``.

    >>> dollars("with :math:`m = 1` so")
    'with $m = 1$ so'
    >>> dollars("before\n\n.. math:: a\n    + b\n\nafter")
    'before\n\n$$\na\n+ b\n$$\n\nafter'
    """
    return INLINE_ROLE.sub(lambda found: f"${_one_line(found[1])}$", DIRECTIVE.sub(_block, text + "\n"))[:-1]


def _block(found: re.Match[str]) -> str:
    lines = [found["first"].strip(), *textwrap.dedent(found["rest"]).splitlines()]
    formula = "\n".join(line.strip() for line in lines if line.strip())
    return textwrap.indent(f"$$\n{formula}\n$$\n\n", found["indent"])


def _one_line(latex: str) -> str:
    return " ".join(latex.split())


def to_mathml(page: str) -> str:
    """Return a page of HTML with every formula that arithmatex has marked as MathML."""
    return WRAPPED.sub(_mathml, page)


def _mathml(found: re.Match[str]) -> str:
    latex = _one_line(html.unescape(found["latex"]))
    if found["tag"] == "span":
        return convert(latex, display="inline")
    return "".join(convert(line, display="block") for line in lines_of(latex))


def lines_of(latex: str) -> list[str]:
    r"""Return a displayed formula in one line if that is short, else broken where it has a wide space.

    >>> lines_of(r"a = b, \qquad c = d")
    ['a = b, \\qquad c = d']
    """
    return [latex] if len(latex) <= WIDE else [piece.strip() for piece in latex.split(r"\qquad")]
