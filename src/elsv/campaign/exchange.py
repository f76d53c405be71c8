"""A campaign's log to a file, and outcomes from files: CSV, or Parquet (extra ``data``)."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from elsv._base.export import check_counts, check_suffix, count, read_rows, truth, write_columns
from elsv.campaign.batches import RefusedReportError
from elsv.campaign.log import Log
from elsv.campaign.records import REFUSED, Outcome, as_time
from elsv.errors import InvalidInputError
from elsv.policies.single import find_arm
from elsv.problem import Problem
from elsv.structure.product import arm_name

_EXPORTED = (
    *("number", "decision", "at", "expires", "customer", "segment", "arm", "name", "propensity"),
    *("propensities", "reason", "outcome", "success", "outcome_at", "late", "counted", "expired_at"),
    *("voided_at", "corrected_at"),
)
_TIMES = ("at", "expires", "outcome_at", "expired_at", "voided_at", "corrected_at")
_KINDS = ("outcome", "correction", "void")
_COLUMNS = (
    "decision, success",
    "decision, kind (outcome, correction, void), success",
    "arm, success",
    "arm, successes, failures",
)


@dataclass(frozen=True)
class Imported:
    """What became of the rows of a file."""

    rows: int
    counts: Mapping[str, int]  # by the status of the receipts, and unknown; or history
    unknown: tuple[str, ...] = ()  # some ids that the campaign does not have

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {"rows": self.rows, **dict(self.counts), "unknown_ids": list(self.unknown)}

    def check(self, path: str | Path) -> None:
        """Raise if some rows contradict the log or are of unknown decisions."""
        wrong = {what: self.counts[what] for what in (*REFUSED, "unknown") if self.counts.get(what)}
        if wrong:
            counts = ", ".join(f"{count:,} {what}" for what, count in wrong.items())
            raise RefusedReportError(
                f"every row of {path} must agree with the log, got {counts} among {self.rows:,} rows; "
                "nothing was taken: mend the file, or import it without --strict"
            )

    def __str__(self) -> str:
        counts = ", ".join(f"{count:,} {what}" for what, count in self.counts.items())
        some = f"; unknown ids such as {', '.join(self.unknown)}" if self.unknown else ""
        return f"{self.rows:,} rows: {counts or 'nothing'}{some}"


def export_log(log: Log, path: str | Path) -> int:
    """Write one row for each decision, with its outcome; return how many."""
    check_suffix(path)
    problem = log.problem
    rows = log.rows(
        "SELECT d.number, d.id, d.at, d.expires, d.customer, d.segment, d.arm, NULL, d.propensity, "
        "d.propensities, d.reason, NULL, r.success, r.at, r.late, r.counted, e.at, v.at, (SELECT MAX(c.at) "
        "FROM elsv_correction c WHERE c.campaign = d.campaign AND c.number = d.number) FROM elsv_decision d "
        "LEFT JOIN elsv_reward r ON r.campaign = d.campaign AND r.number = d.number "
        "LEFT JOIN elsv_expiration e ON e.campaign = d.campaign AND e.number = d.number "
        "LEFT JOIN elsv_void v ON v.campaign = d.campaign AND v.number = d.number "
        "WHERE d.campaign = ? ORDER BY d.number"
    )
    table = [_exported(dict(zip(_EXPORTED, row, strict=True)), problem) for row in rows]
    keys = [key for key in _EXPORTED if key != "segment" or problem.segments.names]
    write_columns(path, {key: np.array([row[key] for row in table], dtype=object) for key in keys})
    return len(rows)


def _exported(row: dict[str, Any], problem: Problem) -> dict[str, Any]:
    """Return a row for people: arms from 1 and by name, times as text, what became of the decision."""
    outcome = "expired" if row["expired_at"] is not None else "open"
    if row["success"] is not None and row["counted"]:
        outcome = "success" if row["success"] else "failure"
    if row["voided_at"] is not None:
        outcome = "void"
    times = {key: None if row[key] is None else as_time(row[key]).isoformat() for key in _TIMES}
    segment = None if row["segment"] is None else problem.segments.names[row["segment"]]
    arm = {"arm": row["arm"] + 1, "name": problem.names[row["arm"]]}
    return {**row, **times, **arm, "segment": segment, "outcome": outcome}


def import_file(log: Log, path: str | Path, kind: str, who: str | None, now: float) -> Imported:
    """Take in a file of outcomes of decisions, their corrections or voids (`kind`), or of history."""
    table = read_rows(path, "outcomes")
    columns, rows = table.columns, list(enumerate(table.rows, 2))
    if "decision" in columns and (kind != "outcome" or columns & {"kind", "success"}):
        outcomes = [_told({"kind": kind} | row, line, path, who) for line, row in rows]
        ids, late = [told.id for told in outcomes], log.settings.accept_late
        known = {row.id: row for row in log.decisions_where("id", ids)}
        taken = Counter(
            log.append_outcome(known[told.id], told, now, late).status if told.id in known else "unknown"
            for told in outcomes
        )
        missing = [given for given in ids if given not in known]
        return Imported(len(ids), dict(taken), tuple(missing[:3]))
    check_counts(columns, path)
    if not ({"arm", "successes", "failures"} <= columns or {"arm", "success"} <= columns):
        raise InvalidInputError(
            f"{path} must have the columns {'; or '.join(_COLUMNS)}, "
            f"got {', '.join(sorted(columns)) or 'none'}"
        )
    problem, totals = log.problem, dict[int, tuple[int, int]]()
    for line, row in rows:
        text, segment = str(row["arm"]).strip(), row.get("segment")
        segment = "" if segment is None else str(segment).strip()
        named = arm_name(text, segment)  # where segments have the same options
        arm = find_arm(problem, named if named in problem.names else text)
        _check_segment(problem, arm, segment, line, path)
        if "success" in columns:
            more = (1, 0) if truth(row["success"], line, path) else (0, 1)
        else:
            more = count(row["successes"], line, path), count(row["failures"], line, path)
        won, lost = totals.get(arm, (0, 0))
        totals[arm] = won + more[0], lost + more[1]
    source = hashlib.sha256(table.content).hexdigest()
    new = log.append_history(source, now, totals)
    total = sum(won + lost for won, lost in totals.values())
    return Imported(len(rows), {"history" if new else "duplicate": total})


def _told(row: Mapping[str, Any], line: int, path: str | Path, who: str | None) -> Outcome:
    """Return what one row reports of a decision."""
    kind = str(row["kind"] or "outcome").strip().lower()
    if kind not in _KINDS:
        raise InvalidInputError(
            f"kind must be one of {', '.join(_KINDS)}, got {kind!r} in line {line} of {path}"
        )
    void = kind == "void"
    if not void and "success" not in row:
        raise InvalidInputError(f"{path} must have a column success for what is no void, as in line {line}")
    success = None if void else truth(row["success"], line, path)
    return Outcome(str(row["decision"]).strip(), success, kind == "correction", who)


def _check_segment(problem: Problem, arm: int, segment: str, line: int, path: str | Path) -> None:
    """Raise if a row of history names a segment that the arm is not on offer to."""
    segments = problem.segments
    if not segment or not segments.names:
        return
    named = segments.number(segment)
    if named != segments.of_arm[arm]:
        raise InvalidInputError(
            f"line {line} of {path} has {problem.names[arm]!r} for {segments.names[named]!r}, to whom it is "
            f"not on offer; it is an arm of {segments.names[int(segments.of_arm[arm])]!r}"
        )
