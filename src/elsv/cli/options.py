"""Arguments and options that commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

HELP = {"help_option_names": ["-h", "--help"]}
STORE = "Path of a file, or postgresql://user@host/database."
ProblemFile = Annotated[
    Path, Argument(metavar="PROBLEM.toml", help="Rewards, order, horizon or discount, prior.")
]
Horizon = Annotated[
    int | None, Option(help="Number of pulls, instead of the problem's own horizon or discount.")
]
SegmentName = Annotated[
    str | None, Option("--segment", help="Who has come, where customers are of segments: name or number.")
]
Against = Annotated[
    str | None,
    Option(metavar="ARM", help="Also show the gain over always pulling this arm: its name or number."),
]
Seed = Annotated[int, Option(help="The same seed gives the same numbers, whoever runs them.")]
Delay = Annotated[
    str | None,
    Option(
        metavar="CUSTOMERS",
        help="Outcomes are known so many customers later, or geometric:60 for 60 on average.",
    ),
]
Batch = Annotated[int | None, Option(help="Look at outcomes after batches of so many customers only.")]
Lost = Annotated[float | None, Option(help="Share of outcomes that never come and count as failures.")]
Expect = Annotated[
    list[str] | None,
    Option(metavar="ARM=RATE", help='What you expect, such as "none=4%" or "10 % off=3-8%"; repeatable.'),
]
HistoryFile = Annotated[
    Path | None, Option(metavar="FILE", help="Outcomes of last season, .csv or .parquet, as for elsv prior.")
]
Factor = Annotated[
    float | None,
    Option(
        help="Odds of an arm of which nothing is known are within this factor of its neighbour's, for each "
        "step; default: 2, or 3 without an order."
    ),
]
AtMost = Annotated[
    str | None,
    Option(
        metavar="TIME",
        help="End early, with exit code 2, once it is seen to take longer, such as 10min or 2h.",
    ),
]
Jobs = Annotated[int | None, Option(help="Threads; default: one a core.")]
Overwrite = Annotated[bool, Option("--overwrite", help="Replace another run that is in DIR.")]
Json = Annotated[bool, Option("--json", help="Print one JSON object on stdout and nothing else.")]
"""`elsv.cli.app` adds it to all commands but ``serve``."""
