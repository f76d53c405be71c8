"""Exact values of policies: published ones, brute force over fractions, and what must hold of all of them."""

from types import SimpleNamespace

import numpy as np
import pytest

import elsv
import paper
from elsv import (
    Chain,
    Independent,
    InvalidInputError,
    Problem,
    SeparableValue,
    State,
    compare,
    lookahead,
    make_policy,
)
from elsv.exact import OptimalPolicy, evaluate, solve
from elsv.exact.evaluate import on_layers
from elsv.exact.passes import cost_of_all, passes_of
from elsv.indices import make_index
from elsv.indices.tables import IndexTables
from elsv.lattice.numbering import Lattice
from elsv.lattice.workers import crew
from elsv.policies.layers import ByIndex, Search, StateByState
from elsv.values.commit import BlockCommitValue, CommitValue
from test_solve import brute_force

# Three arms, uniform priors. The index policies are good to 2e-3 (they move with the index table's own error
# near ties), depth-3 lookahead on the commit value to 1e-3; by an independent program.
PUBLISHED = [
    ("decreasing", (0.8, 0.9, 1.0), 10, 4.6423572, 5.6998353, 6.0),
    ("decreasing", (0.8, 0.9, 1.0), 50, 27.7509674, 29.4258081, 30.0),
    ("decreasing", (0.4, 0.7, 1.0), 10, 3.1487571, 3.2143877, 3.6032376),
    ("decreasing", (0.4, 0.7, 1.0), 30, 10.4691044, 10.4958591, 11.0679112),
    ("decreasing", (0.4, 0.7, 1.0), 50, 18.0997119, 18.0653029, 18.7059216),
    (None, (1.0, 1.0, 1.0), 10, 6.3600277, 6.3600277, 6.4096429),
    (None, (1.0, 1.0, 1.0), 30, 20.5637427, 20.5637427, 20.6521431),
]


def commit(problem, depth, value=CommitValue):
    return Search(value(problem), problem.belief, depth)


def in_place(value):
    return Search(value, value.problem.belief, in_place=True)


def values_of(problem, policies):
    return [row.value for row in evaluate(problem, policies)]


def by_fractions(problem, policy):
    """Brute force: the policy is asked state by state, the expectation is over fractions."""
    rng = np.random.default_rng(0)

    def choose(state, t):
        a, b = np.array([[float(x) for x in arm] for arm in state]).T
        return int(policy(State(a, b), t, rng))

    return float(brute_force(problem, choose))


@pytest.mark.parametrize(("order", "rewards", "horizon", "gittins", "elsv_gittins", "commit3"), PUBLISHED)
def test_published_values(order, rewards, horizon, gittins, elsv_gittins, commit3):
    problem = Problem(rewards, order, horizon)
    names = ["gittins:discount=0.99", "elsv:index=gittins,discount=0.99", commit(problem, 3)]
    index, separable, committed = values_of(problem, names)
    assert index == pytest.approx(gittins, abs=2e-3)
    assert separable == pytest.approx(elsv_gittins, abs=2e-3)
    assert committed == pytest.approx(commit3, abs=1e-3)


NAMES = (
    *("greedy", "greedy:order=false", "ucb", "bayes-ucb", "gittins:discount=0.9", "finite-gittins"),
    *("elsv:index=ucb", "elsv:index=ucb,depth=2", "elsv:index=ucb,count_prior=true,weight=0.4"),
    *("elsv:index=gittins,discount=0.9,depth=3", "elsv:index=bayes-ucb,order=false", "fixed:arm=2"),
)


@pytest.mark.parametrize(
    "problem",
    [
        Problem([0.8, 0.9, 1.0], "decreasing", 4),
        Problem([1.0, 0.75, 0.5], "increasing", 4, prior=[[1, 2], [1, 1], [2, 1]]),
        Problem([1.0, 0.75], None, 5, prior=[[1, 2], [3, 1]]),
        Problem([0.5, 0.5, 1.0, 1.0], None, 3),
    ],
    ids=["decreasing", "increasing", "two free", "four free"],
)
@pytest.mark.parametrize("name", NAMES)
def test_names_equal_brute_force(problem, name):
    assert values_of(problem, name)[0] == pytest.approx(
        by_fractions(problem, make_policy(name, problem)), abs=1e-12
    )


@pytest.mark.parametrize("order", [None, "decreasing"])
@pytest.mark.parametrize(("value", "depth"), [(CommitValue, 1), (CommitValue, 2), (BlockCommitValue, 1)])
def test_lookahead_on_commit_equals_brute_force(order, value, depth):
    problem = Problem([0.4, 0.7, 1.0], order, 5)
    belief = Independent() if order is None else Chain(order)

    def policy(state, step, rng):
        return elsv.best_arm(lookahead(problem, state, step, value(problem), belief, depth))

    found = values_of(problem, [commit(problem, depth, value), policy])
    assert found[0] == pytest.approx(found[1], abs=1e-12)
    assert found[1] == pytest.approx(by_fractions(problem, policy), abs=1e-12)


@pytest.mark.parametrize("order", [None, "increasing"])
def test_a_known_value_and_the_same_as_a_plain_function_agree(order):
    problem = Problem([0.4, 0.7, 1.0], order, 9, prior=[[1, 1], [0.5, 0.5], [2, 3]])
    for value in (
        CommitValue(problem),
        BlockCommitValue(problem, (1, 3)),
        SeparableValue(problem, make_index("gittins", discount=0.9)),
    ):
        fast, slow = values_of(
            problem, [Search(v, problem.belief, 2) for v in (value, lambda s, t, v=value: v(s, t))]
        )
        assert fast == pytest.approx(slow, abs=1e-12)


@pytest.mark.parametrize("order", [None, "decreasing", "increasing"])
def test_no_policy_beats_the_optimum_and_the_optimal_policy_reaches_it(order):
    problem = Problem([0.4, 0.7, 1.0], order, 12, prior=[[1, 1], [0.5, 0.5], [2, 3]])
    best = solve(problem, keep=12)
    rows = evaluate(problem, [*NAMES, "random", commit(problem, 3), OptimalPolicy(problem, best.policy)])
    assert max(row.value for row in rows) <= best.value + 1e-12
    assert rows[-1].value == pytest.approx(best.value, abs=1e-12)
    for row in rows:
        assert row.regret == pytest.approx(best.regret + best.value - row.value, abs=1e-12)


def test_a_fixed_arm_earns_its_mean_every_time():
    problem = Problem([0.8, 0.9, 1.0], "decreasing", 9)
    assert values_of(problem, [f"fixed:arm={i}" for i in (1, 2, 3)]) == pytest.approx(
        [9 * 0.8 * 0.75, 9 * 0.9 * 0.5, 9 * 0.25], rel=1e-12
    )


def test_theorem_1_exactly():
    problem = Problem([0.4, 0.7, 1.0], None, 15)
    for name in ("gittins", "ucb", "bayes-ucb"):
        index, value = values_of(problem, [name, f"elsv:index={name}"])
        assert value == pytest.approx(index, abs=1e-12)


@pytest.mark.parametrize(
    "about",
    [
        {"rewards": [0.4, 0.7, 1.0], "order": "decreasing"},
        {"rewards": [1.0, 0.5, 0.3], "order": "increasing", "prior": [[1, 1], [0.5, 0.5], [2, 3]]},
        {"rewards": [0.6, 1.0], "order": "decreasing", "prior": [[1, 2], [1, 2]]},
        {"rewards": [0.4, 0.6, 0.1, 1.0], "order": "decreasing"},
        {"rewards": [0.9], "order": "decreasing"},
    ],
    ids=lambda about: str(about["rewards"]),
)
def test_one_step_on_a_separable_value_equals_lookahead_from_a_frontier(about):
    problem = Problem(horizon=9, **about)
    for name, weight in (("gittins", 1.0), ("ucb", 1.0), ("bayes-ucb", 0.4), ("kl-ucb", 1.0)):
        index = make_index(name)
        value = SeparableValue(problem, index, weight)
        infinite = IndexTables(problem, index, 9) if name in ("ucb", "kl-ucb") else None
        rows = evaluate(problem, [in_place(value), Search(value, problem.belief, 1, infinite)])
        assert rows[0].value == pytest.approx(rows[1].value, abs=1e-9)
        policy = make_policy(f"elsv:index={name},weight={weight}", problem)
        assert on_layers(problem, policy).in_place


def test_one_step_breaks_near_ties_as_the_policy_does():
    # At step 205 two arms are 5e-9 apart: a tie for the policy, whose scores are about -31.
    problem = Problem([0.4, 1.0], "decreasing", 250)
    value = make_policy("elsv:index=ucb1", problem).value
    infinite = IndexTables(problem, value.index, 250)
    one, other = values_of(problem, [in_place(value), Search(value, problem.belief, 1, infinite)])
    assert one == pytest.approx(other, abs=1e-11)


def test_a_policy_that_is_refused_is_refused_before_the_others_run():
    calls = []
    problem = Problem([0.4, 0.7, 1.0], "decreasing", 12)

    def wrong(state, step, rng):
        calls.append(step)
        return np.full(state.shape, 7)

    with pytest.raises(InvalidInputError, match="whole numbers from 0 to 2"):
        evaluate(
            problem, ["optimal", "elsv", wrong], progress=lambda done, total: calls.append((done, total))
        )
    assert calls == [12]


def test_one_step_without_a_value_is_greedy():
    problem = Problem([0.4, 0.7, 1.0], "decreasing", 9)
    assert on_layers(problem, "greedy").in_place
    greedy, asked = values_of(problem, ["greedy", StateByState(make_policy("greedy", problem))])
    assert greedy == pytest.approx(asked, abs=1e-12)


@pytest.mark.parametrize("order", [None, "decreasing"])
def test_the_optimum_beside_other_policies_is_the_one_that_solve_finds(order):
    problem = Problem([0.4, 0.7, 1.0], order, 12)
    (alone,) = values_of(problem, "optimal")
    assert alone == values_of(problem, ["thompson", "optimal", "gittins"])[1]
    assert alone == pytest.approx(solve(problem).value, rel=1e-14)


def test_policies_that_do_not_fit_into_memory_together_go_one_after_the_other():
    problem = Problem([0.4, 0.7, 1.0], "decreasing", 25)
    names = ["gittins", "elsv", "thompson", "ucb", "commit:depth=2", "optimal"]
    together = evaluate(problem, names)
    forms = [on_layers(problem, name) for name in names]
    least = max(cost_of_all(passes_of(problem, [form], None)).bytes for form in forms)
    shares, said = [], []
    apart = evaluate(
        problem, names, memory=least, progress=lambda *done: shares.append(done), announce=said.append
    )
    assert [row.value for row in apart] == [row.value for row in together]
    assert said[0].bytes <= least < cost_of_all(passes_of(problem, forms, None)).bytes
    assert shares[-1][0] == shares[-1][1] > 2 * 25  # more than two passes
    assert [done for done, _ in shares] == sorted(done for done, _ in shares)
    with pytest.raises(InvalidInputError, match="shorter horizon"):
        evaluate(problem, names, memory=least - 1)


def mixture_by_fractions(problem, shares):
    """Expected reward of a policy that pulls arm i with probability shares(state)[i]."""
    from test_solve import ordered_mean

    mean = ordered_mean(problem.order)

    def worth(state, t):
        if t > problem.horizon:
            return 0.0
        total = 0.0
        for i, share in enumerate(shares(state)):
            if share > 0:
                p = float(mean(state, i))
                won, lost = worth(paper.success(state, i), t + 1), worth(paper.failure(state, i), t + 1)
                total += share * (p * (problem.rewards[i] + won) + (1 - p) * lost)
        return total

    return worth(tuple((int(a), int(b)) for a, b in problem.prior.tolist()), 1)


@pytest.mark.parametrize(
    ("order", "use_order"), [(None, True), ("decreasing", True), ("increasing", True), ("decreasing", False)]
)
def test_thompson_sampling_equals_the_mixture(order, use_order):
    problem = Problem([0.5, 0.8, 1.0], order, 3, prior=[[1, 1], [2, 1], [1, 1]])
    belief = Chain(order) if order is not None and use_order else Independent()

    def shares(state):
        a, b = np.array(state, dtype=float).T
        return belief.best(State(a, b), problem.rewards)[0]

    name = "thompson" if use_order else "thompson:order=false"
    assert values_of(problem, name)[0] == pytest.approx(mixture_by_fractions(problem, shares), abs=1e-7)


@pytest.mark.parametrize(
    "rewards",
    [(0.4, 0.7, 1.0), (1.0, 0.7, 0.4), (0.7, 1.0, 0.4), (0.7, 0.4, 1.0), (1.0, 1.0, 1.0), (0.5, 1.0)],
)
@pytest.mark.parametrize("order", [None, "decreasing", "increasing"])
@pytest.mark.parametrize("prior", [(1.0, 1.0), (0.4, 0.7)])
def test_shares_of_a_layer_equal_the_beliefs_own(rewards, order, prior):
    problem = Problem(rewards, order, 5, prior=[prior] * (len(rewards) - 1) + [(2.0, 1.0)])
    layer = Lattice(problem.arms, 4).layer(4)
    with crew() as threads:
        shares = problem.belief.layer_best(problem, layer, threads)
    belief = Independent() if order is None else Chain(order)
    some = slice(0, layer.size, max(1, layer.size // 12))
    (_, state), *_ = layer.batches(problem, layer.size)
    expected, _ = belief.best(State(state.alpha[some], state.beta[some]), rewards)
    np.testing.assert_allclose(shares[:, some].T, expected, atol=2e-8)
    np.testing.assert_allclose(shares.sum(axis=0), 1.0, atol=1e-12)


def test_thompson_sampling_of_four_arms_in_order():
    """The belief's own probabilities take the place of the sums over nodes."""
    problem = Problem([0.25, 0.5, 0.75, 1.0], "decreasing", 2)
    with crew() as threads:
        assert problem.belief.layer_best(problem, Lattice(4, 1).layer(1), threads) is None
    best = Chain().best(State.initial(problem), problem.rewards)[0]
    (row,) = evaluate(problem, "thompson")
    assert row.value == pytest.approx(2 * float(best @ (problem.rewards * [0.8, 0.6, 0.4, 0.2])), abs=0.05)


def test_random_is_the_mean_of_the_fixed_arms():
    problem = Problem([0.5, 0.8, 1.0], "decreasing", 6)
    fixed = values_of(problem, ["fixed:arm=1", "fixed:arm=2", "fixed:arm=3"])
    assert values_of(problem, "random")[0] == pytest.approx(np.mean(fixed), rel=1e-12)


SIMULATED = [
    *["ucb", "ucb1", "ucb-v", "kl-ucb", "moss", "bayes-ucb", "gittins", "finite-gittins"],
    *["greedy", "greedy:order=false", "elsv", "elsv:index=ucb,depth=2", "commit:depth=2", "block"],
    *["thompson", "thompson:order=false", "random", "fixed:arm=2"],
]


@pytest.mark.parametrize("order", [None, "decreasing"])
def test_exact_regrets_agree_with_simulated_ones(order):
    """Within four standard errors, for every kind of policy; the numbers do not depend on the machine."""
    problem = Problem([0.5, 0.75, 1.0], order, 12)
    simulated = compare(problem, SIMULATED, instances=1000, seed=1)
    for row in evaluate(problem, SIMULATED):
        error = simulated[row.name].ci95[-1] / 1.96
        assert 0 < error < 0.1
        assert abs(simulated[row.name].mean[-1] - row.regret) < 4 * error, row.name


class ArmsOnly:
    """A policy without its shortcut: the arms are written down, then followed."""

    reach = 0

    def __init__(self, form):
        self.decide = form.decide


@pytest.mark.parametrize(
    "problem",
    [
        Problem([1.0], None, 6),
        Problem([0.5, 1.0], None, 11),
        Problem([1.0, 1.0, 1.0], None, 8),
        Problem([0.4, 0.7, 1.0], "decreasing", 8, prior=[[1, 1], [0.5, 0.5], [1, 1]]),
        Problem([0.5, 0.5, 1.0, 1.0], None, 5),
    ],
)
@pytest.mark.parametrize("name", ["ucb", "ucb-v", "gittins", "finite-gittins"])
def test_choosing_while_following_equals_following_the_arms(problem, name):
    form = on_layers(problem, name)
    in_place, several, slow = (
        evaluate(problem, forms)[0].value for forms in ([form], [form, ArmsOnly(form)], [ArmsOnly(form)])
    )
    assert in_place == several
    assert in_place == pytest.approx(slow, rel=1e-13)


@pytest.mark.parametrize("arms", [2, 3, 4])
@pytest.mark.parametrize("order", [None, "increasing"])
def test_near_ties_of_tables_are_broken_by_the_rule(arms, order):
    """Indices in any order, some apart by half, once and twice the tolerance of the tie rule."""
    problem = Problem(np.ones(arms), order, 7)
    rng = np.random.default_rng(arms)
    steps = np.array([0.0, 0.5e-9, 1e-9, 1.5e-9, 2e-9, 3e-9])
    tables = 0.5 + 0.1 * rng.integers(3, size=(arms, 28)) + rng.choice(steps, size=(arms, 28))
    form = ByIndex(SimpleNamespace(bytes=0, seconds=0.0, at=lambda step: tables, group=np.arange(arms)))
    fast, slow = (evaluate(problem, [f])[0].value for f in (form, ArmsOnly(form)))
    assert fast == pytest.approx(slow, rel=1e-13)


def test_a_users_function_and_its_name():
    problem = Problem([1.0, 1.0], None, 7)

    def win_stay(state, step, rng):
        return (state.alpha - state.beta).argmax(axis=-1)

    (row,) = evaluate(problem, win_stay)
    assert row.name == "win_stay"
    assert row.value == pytest.approx(by_fractions(problem, win_stay), abs=1e-12)


def test_one_pass_over_several_policies_equals_one_pass_each():
    problem = Problem([0.4, 0.7, 1.0], "decreasing", 10)
    names = ["greedy", "elsv:depth=2", "ucb", "gittins", "random"]
    together = values_of(problem, names)
    assert together == [values_of(problem, name)[0] for name in names]


@pytest.mark.parametrize("workers", [1, 3])
def test_threads_give_the_same_numbers(workers):
    problem = Problem([0.4, 0.7, 1.0], "decreasing", 26)
    for names in (["elsv:depth=2", "greedy"], ["ucb", "gittins"]):
        rows = evaluate(problem, names, jobs=workers)
        assert [row.value for row in rows] == values_of(problem, names)


def test_one_arm_and_one_step():
    assert values_of(Problem([2.0], horizon=5), ["greedy", "elsv"]) == pytest.approx([5.0, 5.0])
    assert values_of(Problem([0.4, 0.7, 1.0], "decreasing", 1), ["greedy", "optimal"]) == pytest.approx(
        [0.35, 0.35]
    )


def test_what_cannot_be_evaluated_says_so():
    ordered = Problem([0.8, 1.0], "decreasing", 4)
    with pytest.raises(InvalidInputError, match=r"draws no random numbers.*simulate it instead"):
        evaluate(ordered, lambda state, step, rng: rng.integers(2, size=state.shape))
    with pytest.raises(InvalidInputError, match=r"one answer for one state.*leave belief= out"):
        evaluate(ordered, "greedy:belief=rejection")
    with pytest.raises(InvalidInputError, match="whole numbers from 0 to 1"):
        evaluate(ordered, StateByState(lambda state, step, rng: np.full(state.shape, 2)))
    with pytest.raises(InvalidInputError, match="need a horizon"):
        evaluate(Problem([1, 1], discount=0.9), "greedy")
    with pytest.raises(InvalidInputError, match="GB are available"):
        evaluate(Problem([1, 1], horizon=50), "greedy", memory=10_000)
    with pytest.raises(InvalidInputError, match="at least one policy"):
        evaluate(ordered, [])


@pytest.mark.parametrize("name", ["greedy", "ucb"])
def test_progress_counts_the_steps(name):
    seen = []
    evaluate(Problem([1, 1], horizon=4), name, progress=lambda done, total: seen.append((done, total)))
    assert seen == [(1, 4), (2, 4), (3, 4), (4, 4)]


def test_thompson_sampling_of_too_many_ordered_states_is_refused_at_once():
    with pytest.raises(InvalidInputError, match=r"P\(best\) of 31,824 states.*simulate"):
        evaluate(Problem([0.4, 0.6, 0.8, 1.0], "decreasing", 12), ["thompson"])
