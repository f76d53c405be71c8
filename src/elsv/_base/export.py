"""Tables in files and frames: CSV with nothing installed, Parquet through polars (extra ``data``), LaTeX."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from elsv._base.files import check_writable, unreadable, write_bytes, write_text
from elsv._base.numbers import shown
from elsv._base.typing import AnyArray
from elsv.errors import CorruptFileError, InvalidInputError, MissingExtraError, of_extra

SUFFIXES = (".csv", ".parquet")
_TRUTH = {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}
_LATEX = {
    **{character: f"\\{character}" for character in "&%$#_{}"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "±": r"$\pm$",
    "×": r"$\times$",
    "−": "$-$",
    "–": "--",
    "µ": r"\textmu{}",
}


def check_suffix(path: str | Path) -> str:
    """Return the suffix of `path` if it is one that can be written."""
    suffix = Path(path).suffix.lower()
    if suffix not in SUFFIXES:
        raise InvalidInputError(f"a table is written as {' or '.join(SUFFIXES)}, got {str(path)!r}")
    return suffix


def check_target(path: str | Path) -> None:
    """Raise an error if columns could not be written to `path` now."""
    if check_suffix(path) == ".parquet" and find_spec("polars") is None:
        raise MissingExtraError("writing Parquet", "data")
    check_writable(path)


def csv_text(columns: Mapping[str, AnyArray]) -> str:
    """Return named columns of one length as CSV."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*(c.tolist() for c in columns.values()), strict=True))
    return text.getvalue()


def write_columns(path: str | Path, columns: Mapping[str, AnyArray]) -> None:
    """Write named columns of one length, atomically; the suffix chooses the format."""
    if check_suffix(path) == ".csv":
        write_text(path, csv_text(columns))
        return
    polars = of_extra("polars", "writing Parquet", "data")
    frame = polars.DataFrame(
        {name: c.tolist() if c.dtype.kind == "O" else c for name, c in columns.items()},
        infer_schema_length=None,
    )
    content = io.BytesIO()
    frame.write_parquet(content)
    write_bytes(path, content.getbuffer())


class Columns:
    """A result that is also a table: named columns of one length, or a frame."""

    def columns(self) -> dict[str, Any]:
        """Return the columns by name."""
        raise NotImplementedError

    def to_polars(self) -> Any:
        """Return a polars frame of `columns` (extra ``data``)."""
        return of_extra("polars", "to_polars", "data").DataFrame(self.columns())

    def to_pandas(self) -> Any:
        """Return a pandas frame of `columns` (extra ``pandas``)."""
        return of_extra("pandas", "to_pandas", "pandas").DataFrame(self.columns())


def latex_table(
    headers: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    bold: Collection[tuple[int, int]] = (),
    groups: Sequence[tuple[str, int]] = (),
    caption: str | None = None,
    label: str | None = None,
    booktabs: bool = True,
) -> str:
    """Return a ``tabular``, text on the left and numbers on the right, from plain text, which is escaped.

    `bold` are cells by row and column from 0, `groups` titles above the columns after the first, and how many
    columns each has. A caption or a label puts it into a ``table``; without `booktabs` rules are LaTeX's own.
    """
    top, middle, bottom = (r"\toprule", r"\midrule", r"\bottomrule") if booktabs else (r"\hline",) * 3
    cells = [
        [rf"\textbf{{{_latex(cell)}}}" if (i, k) in bold else _latex(cell) for k, cell in enumerate(row)]
        for i, row in enumerate(rows)
    ]
    lines = [" & ".join(row) + r" \\" for row in ([_latex(head) for head in headers], *cells)]
    over, rules, column, rule = [""], "", 2, r"\cmidrule(lr)" if booktabs else r"\cline"
    for title, span in groups:
        over.append(rf"\multicolumn{{{span}}}{{c}}{{{_latex(title)}}}")
        rules += f"{rule}{{{column}-{column + span - 1}}}"
        column += span
    above = [" & ".join(over) + r" \\", rules] if groups else []
    begin = rf"\begin{{tabular}}{{l{'r' * (len(headers) - 1)}}}"
    body = [begin, top, *above, lines[0], middle, *lines[1:], bottom, r"\end{tabular}"]
    if caption is not None or label is not None:
        said = [] if caption is None else [rf"\caption{{{_latex(caption)}}}"]
        said += [] if label is None else [rf"\label{{{label}}}"]
        body = [r"\begin{table}", r"\centering", *said, *body, r"\end{table}"]
    return "\n".join(body) + "\n"


def _latex(text: str) -> str:
    return "".join(_LATEX.get(character, character) for character in text)


@dataclass(frozen=True)
class TableRows:
    """A table, row by row; names of columns are stripped and in small letters."""

    rows: list[dict[str, Any]]  # of a CSV file from its second line
    columns: frozenset[str]
    content: bytes  # of the file


def read_rows(path: str | Path, what: str) -> TableRows:
    """Return the rows of a .csv or .parquet file; `what` names them in an error."""
    given = Path(path)
    check_suffix(given)
    try:
        content = given.read_bytes()
    except OSError as error:
        raise unreadable(f"{what} from {path}", error, "give a .csv or .parquet file") from error
    heads, rows = _from_csv(content, path) if given.suffix.lower() == ".csv" else _from_parquet(given)
    columns = [str(head).strip().lower() for head in heads]
    twice = [column for column, times in Counter(columns).items() if times > 1]
    if twice:
        raise InvalidInputError(f"{path} must have every column once, got {twice[0]!r} twice; remove one")
    table = [dict(zip(columns, row, strict=True)) for row in rows]
    return TableRows(table, frozenset(columns if table else ()), content)


def check_counts(columns: frozenset[str], path: str | Path) -> None:
    """Raise if a table has both a row for each outcome and counts of outcomes."""
    single, counts = columns & {"success", "outcome"}, columns & {"successes", "failures", "trials"}
    if single and counts:
        raise InvalidInputError(
            f"{path} must have either a row for each outcome (success) or counts (successes, failures or "
            f"trials), got {' and '.join(sorted(single) + sorted(counts))}; remove one or the other"
        )


def _from_csv(content: bytes, path: str | Path) -> tuple[Sequence[str], Iterable[Sequence[Any]]]:
    try:
        reader = csv.reader(io.StringIO(content.decode("utf-8-sig")))
        lines = [line for line in reader if line]
    except (UnicodeDecodeError, csv.Error) as error:
        raise CorruptFileError(f"{path} is no CSV file in UTF-8: {error}") from error
    heads, rows = (lines[0], lines[1:]) if lines else ([], [])
    for line, row in enumerate(rows, start=2):
        if len(row) != len(heads):
            raise InvalidInputError(f"line {line} of {path} has more or fewer fields than its first line")
    return heads, rows


def _from_parquet(path: Path) -> tuple[Sequence[str], Iterable[Sequence[Any]]]:
    polars = of_extra("polars", "reading Parquet", "data")
    try:
        table = polars.read_parquet(path)
    except Exception as error:
        raise CorruptFileError(f"{path} is no Parquet file: {error}") from error
    return table.columns, table.rows()


def truth(value: Any, line: int, path: str | Path) -> bool:
    """Return whether a field says yes."""
    text = str(value).strip().lower()
    if text not in _TRUTH:
        raise InvalidInputError(f"success must be 1 or 0, got {shown(value)} in line {line} of {path}")
    return _TRUTH[text]


def count(value: Any, line: int, path: str | Path) -> int:
    """Return a field as a count."""
    text = str(value).strip()
    if not text.isdigit() or len(text) > 15:
        raise InvalidInputError(f"counts must be whole numbers, got {shown(value)} in line {line} of {path}")
    return int(text)
