"""``elsv decide``: which arm to pull now."""

from __future__ import annotations

from typing import Annotated

import typer

from elsv.cli.console import Horizon, Json, ProblemFile, SegmentName, load_problem, show_explanations, working


def decide(
    problem: ProblemFile,
    policy: Annotated[
        str | None, typer.Option("-p", "--policy", help="Policy, NAME[:key=value,…]; default: plan.")
    ] = None,
    state: Annotated[
        str | None,
        typer.Option(help='One alpha,beta pair for each arm, such as "3,1 2,2 1,1"; default: the prior.'),
    ] = None,
    step: Annotated[
        int | None, typer.Option(help="Step t, from 1; default: one more than the pulls in the state.")
    ] = None,
    segment: SegmentName = None,
    horizon: Horizon = None,
    seed: Annotated[int, typer.Option(help="Seed, for policies that draw.")] = 0,
    as_json: Json = False,
) -> None:
    """Which arm to pull in a state, and why; for each segment of customers, or for one."""
    from elsv.live import Bandit
    from elsv.policies import DEFAULT_POLICY
    from elsv.state import State

    loaded = load_problem(problem, horizon)
    counts = None if state is None else State.parse(state)
    bandit = Bandit(loaded, DEFAULT_POLICY if policy is None else policy, seed, counts)
    names = (segment,) if segment is not None else loaded.segments.named or (None,)
    with working(f"deciding with {bandit.policy_name}"):
        found = [bandit.explain(step, name) for name in names]
    show_explanations(found, as_json)
