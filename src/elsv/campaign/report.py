"""A campaign's status as a page: the report, which needs no other file, and what all pages share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

import numpy as np

from elsv._version import __version__
from elsv.beliefs.abilities import marginals
from elsv.campaign.choosing import Chooser
from elsv.campaign.gains import GainSoFar
from elsv.campaign.records import Tally
from elsv.campaign.status import METHODS, ArmStatus, Status
from elsv.errors import MissingExtraError
from elsv.live.explain import INTERVAL
from elsv.policies.meanings import meaning
from elsv.state import State

_METHOD = (
    "Gains are given by all that is known (outcomes, structure, prior, history), by this campaign's outcomes "
    "alone (an interval that holds for any policy and however often one looks), and by holdout where there "
    "is one. Reports of earlier versions took them from logged probabilities, and their figures differ."
)


@dataclass(frozen=True)
class Before:
    """What was known of an arm before the first customer."""

    won: int  # of history
    seen: int
    mean: float  # expected conversion, with its 95 % interval
    low: float
    high: float


def environment(*loaders: Any) -> Any:
    """Return Jinja with the templates of a campaign; those of `loaders` go first."""
    try:
        from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
    except ImportError as error:
        raise MissingExtraError("writing a page", "plot") from error
    from elsv.campaign.views import FILTERS, GLOBALS

    found = Environment(
        loader=ChoiceLoader([*loaders, PackageLoader("elsv.campaign")]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        extensions=["jinja2.ext.do"],
    )
    found.globals.update(version=__version__, methods=METHODS, **GLOBALS)
    found.filters.update(FILTERS)
    return found


@cache
def style_sheet() -> str:
    """Return the one style sheet of campaigns' pages."""
    return resources.files("elsv.campaign").joinpath("templates", "page.css").read_text(encoding="utf-8")


@cache
def _own() -> Any:
    return environment()


def before(chooser: Chooser, tallies: Sequence[Tally]) -> list[Before]:
    """Return what was known of each arm before the first customer, history included."""
    problem = chooser.problem
    state = State(problem.prior[:, 0], problem.prior[:, 1])
    mean, (low, high) = marginals(problem.belief, state, INTERVAL, np.random.default_rng(0))
    past = [(t.past_successes, t.past_successes + t.past_failures) for t in tallies]
    return [
        Before(won, seen, float(mean[i]), float(low[i]), float(high[i])) for i, (won, seen) in enumerate(past)
    ]


def answers(status: Status) -> list[GainSoFar]:
    """Return the three answers at most to what it brought against the first alternative."""
    return [gain for gain in status.gains if gain.against == status.gains[0].against]


def report_page(status: Status, known: Sequence[Before]) -> str:
    """Return the report."""
    arms: list[ArmStatus] = [arm for arm in status.arms if arm.today]
    today = dict.fromkeys(arm.option for arm in arms)
    return str(
        _own()
        .get_template("report.html")
        .render(
            status=status,
            style=style_sheet(),
            before=list(zip(status.arms, known, strict=True)),
            today=" / ".join(today),
            meaning=meaning(status.policy),
            answers=answers(status),
            method=_METHOD,
        )
    )
