r"""The exact Bayes reward of a policy: backward induction that follows it instead of the maximum.

For a policy that pulls arm a(s) at step t,

.. math:: V_t(s) = p_a(s)\,(r_a + V_{t+1}(s{+}\text{success}_a)) + (1-p_a(s))\,V_{t+1}(s{+}\text{failure}_a)

over every state of the lattice (past the paper): no simulation, no error bars. A policy that pulls arm i with
a known probability, such as Thompson sampling (`elsv.policies.layers.ByChance`), is the average over i.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from elsv._progress import Progress, watched
from elsv.errors import InvalidInputError
from elsv.exact.cost import check_memory
from elsv.exact.evaluation import OPTIMAL, Evaluation, PolicyValue
from elsv.exact.passes import Weights, cost_of, passes_of
from elsv.exact.solve import largest_reward
from elsv.gpu.device import check_device
from elsv.machine import available_memory, cores, jobs_of
from elsv.policies import Policy, make_policy
from elsv.policies.layers import InPlacePolicy, LayerPolicy, OnLayers, Optimum, StateByState
from elsv.policies.single import find_arm, labels_of
from elsv.problem import Problem

AnyPolicy = str | Policy | OnLayers


def evaluate(
    problem: Problem,
    policies: AnyPolicy | Sequence[AnyPolicy],
    *,
    against: str | int | None = None,
    memory: int | None = None,
    jobs: int | None = None,
    workers: int | None = None,
    progress: Progress | bool | None = None,
    announce: Callable[[Any], None] | None = None,
    device: str = "cpu",
) -> Evaluation:
    """Compute what every policy earns, exactly: no simulation, no error bars.

    Returns a sequence of rows in the order given, each with a policy's `value` (its expected earnings) and
    `regret`; `gain` says how much more than always pulling one arm that is.

    Parameters
    ----------
    problem
        Must have a horizon.
    policies
        Names as for `elsv.make_policy`, ``"optimal"`` for the Bayes optimum, policies, a user's own
        functions (state, step, rng) that draw no random numbers, or whole-layer forms.
    against
        An arm, by name or number from 0: tables show the gain over always pulling it, besides that over the
        arm that is best in expectation beforehand.
    memory
        Bytes that may be used; default: what is available. Policies that need more together go one part
        after the other.
    jobs
        Threads; default: one for each core. `workers` is the same.
    progress
        Called with (steps done, steps in all). None: a bar in a notebook; True: on a terminal too; False:
        none.
    announce
        Called before the start with what it will take.
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
    jobs = jobs_of(jobs, workers)
    rival = None if against is None else find_arm(problem, against)
    names = [_name(policy) for policy in given]
    whole = [on_layers(problem, policy) for policy in given]
    with watched(progress, "evaluating") as report:
        if check_device(device):
            found = _on_gpu(problem, whole, names, memory, report, announce)
        else:
            found = _on_cpu(problem, whole, memory, jobs, report, announce)
    largest = largest_reward(problem)
    labels = labels_of(names, given, problem)
    rows = (
        PolicyValue(names[k], found[k][0], largest - found[k][0], found[k][1], labels[k])
        for k in range(len(given))
    )
    return Evaluation(problem, tuple(rows), rival)


def _on_cpu(
    problem: Problem,
    policies: Sequence[OnLayers],
    memory: int | None,
    jobs: int | None,
    report: Progress | None,
    announce: Callable[[Any], None] | None,
) -> dict[int, tuple[float, float]]:
    """Return values and seconds of policies by their places."""
    limit = available_memory() if memory is None else memory
    passes = passes_of(problem, policies, limit)
    cost = cost_of(problem, passes, jobs)
    if announce is not None:
        announce(cost)
    check_memory(cost, limit)
    found: dict[int, tuple[float, float]] = {}
    weights = Weights(len(passes))
    for k, one in enumerate(passes):
        found |= one.run(problem, weights, cores(jobs), _part(report, k, len(passes)))
        weights.passes -= 1
    return found


def _on_gpu(
    problem: Problem,
    policies: Sequence[OnLayers],
    names: Sequence[str],
    memory: int | None,
    report: Progress | None,
    announce: Callable[[Any], None] | None,
) -> dict[int, tuple[float, float]]:
    """Return the same, computed on a GPU one after the other."""
    from elsv.gpu.device import find_device
    from elsv.gpu.run import check_policy, evaluate_cost, value_of

    for policy, name in zip(policies, names, strict=True):
        check_policy(problem, policy, name)
    device = find_device()
    cost = evaluate_cost(problem, policies, device, memory)
    if announce is not None:
        announce(cost)
    return {
        k: value_of(problem, policy, device, _part(report, k, len(policies)), memory)
        for k, policy in enumerate(policies)
    }


def on_layers(problem: Problem, policy: AnyPolicy) -> OnLayers:
    """Return the whole-layer form of a policy: its own, or state by state."""
    if isinstance(policy, LayerPolicy | InPlacePolicy):
        return policy
    if isinstance(policy, str) and policy == OPTIMAL:
        return Optimum()
    made = make_policy(policy, problem)
    own = getattr(made, "on_layers", None)
    whole: OnLayers = StateByState(made) if own is None else own(problem)
    return whole


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
