r"""The exact Bayes reward of a policy: backward induction that follows it instead of the maximum.

For a policy that pulls arm a(s) at step t,

.. math:: V_t(s) = p_a(s)\,(r_a + V_{t+1}(s{+}\text{success}_a)) + (1-p_a(s))\,V_{t+1}(s{+}\text{failure}_a)

over every state of the lattice (past the paper): no simulation, no error bars. A policy that pulls arm i with
a known probability, such as Thompson sampling (`elsv.policies.layers.ByChance`), is the average over i.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from elsv._base.machine import available_memory, cores, jobs_of
from elsv._base.progress import Progress, watched
from elsv._base.typing import FloatArray
from elsv.errors import InvalidInputError
from elsv.exact.cuda.sweeps import check_device
from elsv.exact.evaluation import OPTIMAL, Evaluation, PolicyValue, SegmentValue
from elsv.exact.passes import SHORTER, Cost, Earned, Weights, check_memory, cost_of_all, passes_of, share_of
from elsv.exact.solve import largest_by_segment
from elsv.policies import Policy, make_policy
from elsv.policies.layers import LayerPolicy, Optimum, OwnLayers
from elsv.policies.single import find_choice, labels_of
from elsv.problem import Problem

AnyPolicy = str | Policy | LayerPolicy


def evaluate(
    problem: Problem,
    policies: AnyPolicy | Sequence[AnyPolicy],
    *,
    horizon: int | None = None,
    against: str | int | None = None,
    memory: int | None = None,
    jobs: int | None = None,
    workers: int | None = None,
    progress: Progress | bool | None = None,
    announce: Callable[[Cost], None] | None = None,
    at_most: float | str | None = None,
    device: str = "cpu",
) -> Evaluation:
    """Compute what every policy earns, exactly: no simulation, no error bars.

    Returns a sequence of rows in the order given, each with a policy's `value` (its expected earnings) and
    `regret`; `gain` says how much more than always pulling one arm that is.

    Parameters
    ----------
    problem
        Must have a horizon, unless one is given.
    policies
        Names as for `elsv.make_policy`, ``"optimal"`` for the Bayes optimum, policies, a user's own
        functions (state, step, rng) that draw no random numbers, or whole-layer forms.
    horizon
        Replaces the problem's horizon (or discount), for the policies too.
    against
        An arm, by name or number from 0: tables show the gain over always pulling it, besides that over the
        arm that is best in expectation beforehand. With segments one arm for each, such as ``"1+3"``.
    memory
        Bytes that may be used; default: what is available. Policies that need more together go one part
        after the other.
    jobs
        Threads; default: one for each core. `workers` is the same.
    progress
        Called with (steps done, steps in all). None: a bar in a notebook, a line on a terminal if it
        takes long; True: a bar there too; False: none.
    announce
        Called before the start with the states and the memory that it will take.
    at_most
        Seconds, or text such as ``"10min"``: a run that is seen to take longer, by the layers that have run,
        ends with `elsv.errors.TooLongError`.
    device
        ``"cuda"``: on a GPU (extra ``gpu``), for two and three arms, independent or in an order, and policies
        that it knows: the optimum, index policies, one step of elsv, greedy, commit, plan and fixed arms.

    Examples
    --------
    >>> problem = Problem(rewards=[0.4, 0.7, 1.0], order="decreasing", horizon=10)
    >>> for row in evaluate(problem, ["fixed:arm=2", "greedy", "optimal"]):
    ...     print(row.name, round(row.value, 4))
    fixed:arm=2 3.5
    greedy 3.5507
    optimal 3.6032
    """
    several = isinstance(policies, Sequence) and not isinstance(policies, str)
    given: list[Any] = list(policies) if several else [policies]  # type: ignore[arg-type]
    if not given:
        raise InvalidInputError("name at least one policy to evaluate")
    threads, on_card = cores(jobs_of(jobs, workers)), check_device(device)
    if horizon is not None:
        problem = problem.with_horizon(horizon)
    rival = None if against is None else find_choice(problem, against)
    names, forms = [_name(policy) for policy in given], [on_layers(problem, policy) for policy in given]
    limit = available_memory() if memory is None else memory
    if on_card:
        from elsv.exact.cuda.run import passes_on_card

        passes = passes_on_card(problem, forms, names, memory)
    else:
        passes = passes_of(problem, forms, limit)
    cost = cost_of_all(passes)
    if announce is not None:
        announce(cost)
    if not on_card:
        check_memory(cost, limit)
    found: dict[int, Earned] = {}
    weights, share = Weights(len(passes), problem.segments.count > 1), share_of(problem, passes)
    with watched(progress, "evaluating", share=share, at_most=at_most, remedy=SHORTER) as report:
        for k, one in enumerate(passes):
            found |= one.run(problem, weights, threads, _part(report, k, len(passes)))
            weights.passes -= 1
    largest, labels = largest_by_segment(problem), labels_of(names, given, problem)
    rows = (_row(names[k], found[k], largest, labels[k], problem) for k in range(len(given)))
    return Evaluation(problem, tuple(rows), rival)


def _row(name: str, found: Earned, largest: FloatArray, label: str, problem: Problem) -> PolicyValue:
    (earned, seconds), value = found, sum(found[0])
    parts = zip(problem.segments.names, earned, largest.tolist(), strict=False)
    by_segment = tuple(SegmentValue(segment, part, most - part) for segment, part, most in parts)
    return PolicyValue(name, value, float(largest.sum()) - value, seconds, label, by_segment)


def on_layers(problem: Problem, policy: AnyPolicy) -> LayerPolicy:
    """Return the whole-layer form of a policy: its own, or state by state."""
    if isinstance(policy, str) and policy == OPTIMAL:
        return Optimum(problem.belief)
    form: Any = policy
    if not (hasattr(form, "decide") and hasattr(form, "reach")):
        form = make_policy(form, problem).on_layers(problem)
    return form if isinstance(form, LayerPolicy) else OwnLayers(form)


def _part(progress: Progress | None, number: int, parts: int) -> Progress:
    """Return how one of several passes reports its own progress."""

    def report(done: int, total: int) -> None:
        if progress is not None:
            progress(number * total + done, parts * total)

    return report


def _name(policy: Any) -> str:
    if isinstance(policy, str):
        return policy
    return str(getattr(policy, "__name__", None) or type(policy).__name__)
