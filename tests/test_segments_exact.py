"""Solving and evaluating where customers come from segments, against brute force in fractions."""

from fractions import Fraction
from functools import cache
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import paper
import paper_structure
from elsv import InvalidInputError, Problem, evaluate, make_policy, solve
from elsv.beliefs import Independent
from elsv.beliefs.abilities import layer_weights
from elsv.beliefs.ladder.belief import Ladder
from elsv.exact import OptimalPolicy, estimate
from elsv.exact.solve import largest_by_segment
from elsv.lattice.numbering import Lattice
from elsv.policies.layers import ByChances, StateByState
from elsv.policies.single import choice_name, choices, find_choice
from elsv.state import State
from paper_best import exactly
from paper_segments import Who, earned, optimum

REFERENCE = 2.2775731499999994  # exact: a 2 by 2 grid, rewards .6, 1, .6, 1, 5 customers, shares .7 and .3
GRID = {"grid": [2, 2]}
PAIRS = {
    "across": (GRID, paper_structure.grid_pairs(2, 2)),
    "within": ({"order": [[1, 2], [3, 4]]}, [(0, 1), (2, 3)]),
    "free": (None, []),
}
SHARES = {"known": (Fraction(7, 10), Fraction(3, 10)), "learnt": None}
REWARDS = (Fraction(3, 5), Fraction(1), Fraction(1, 2), Fraction(9, 10))
START = ((1, 1),) * 4
GROUPS = ((0, 1), (2, 3))


def shop(structure: object, shares: object, horizon: int, **more: object) -> Problem:
    known = None if shares is None else [float(share) for share in shares]
    rewards = more.pop("rewards", [float(r) for r in REWARDS])
    groups = {"new": [1, 2], "returning": [3, 4]}
    return Problem(
        rewards, horizon=horizon, structure=structure, segments=groups, segment_shares=known, **more
    )


@cache
def exact(pairs: tuple[tuple[int, int], ...]) -> paper_structure.Exact:
    return paper_structure.exact(4, pairs)


@cache
def mean_under(pairs: tuple[tuple[int, int], ...]):
    return cache(exact(pairs).mean)


@pytest.mark.parametrize("shares", SHARES)
@pytest.mark.parametrize("known", PAIRS)
@pytest.mark.parametrize("horizon", [1, 4])
def test_solve_is_brute_force(known: str, shares: str, horizon: int) -> None:
    structure, pairs = PAIRS[known]
    who = Who(GROUPS, START, SHARES[shares], (Fraction(2), Fraction(1)))
    more = {} if shares == "known" else {"segment_prior": [2, 1]}
    problem = shop(structure, SHARES[shares], horizon, **more)
    expected = optimum(who, horizon, REWARDS, mean_under(tuple(pairs)))
    assert solve(problem).value == pytest.approx(float(expected), rel=1e-12)


@pytest.mark.parametrize("shares", SHARES)
def test_solve_is_brute_force_over_five_customers(shares: str) -> None:
    structure, pairs = PAIRS["across"]
    who = Who(GROUPS, START, SHARES[shares])
    expected = optimum(who, 5, REWARDS, mean_under(tuple(pairs)))
    assert solve(shop(structure, SHARES[shares], 5)).value == pytest.approx(float(expected), rel=1e-12)


def test_prior_that_is_not_uniform() -> None:
    start = ((2, 1), (1, 2), (3, 1), (1, 1))
    who = Who(GROUPS, start, SHARES["known"])
    pairs = tuple(paper_structure.grid_pairs(2, 2))
    problem = shop(GRID, SHARES["known"], 4, prior=start)
    assert solve(problem).value == pytest.approx(
        float(optimum(who, 4, REWARDS, mean_under(pairs))), rel=1e-12
    )


def test_three_segments_of_different_sizes() -> None:
    groups, shares = ((0, 3), (1,), (2,)), (Fraction(1, 2), Fraction(1, 4), Fraction(1, 4))
    problem = Problem(
        [0.6, 1, 0.5, 0.9], horizon=4, segments=[[1, 4], [2], [3]], segment_shares=[0.5, 0.25, 0.25]
    )
    who = Who(groups, START, shares)
    found = solve(problem, keep=4)
    assert found.value == pytest.approx(float(optimum(who, 4, REWARDS)), rel=1e-12)
    assert {1, 2} < set(found.actions)
    assert found.rewards.sum() == pytest.approx(found.value, rel=1e-12)


def test_reference_optimum() -> None:
    problem = shop(GRID, SHARES["known"], 5, rewards=[0.6, 1.0, 0.6, 1.0])
    found = solve(problem, keep=5)
    assert found.value == pytest.approx(REFERENCE, rel=0, abs=1e-12)
    assert found.rewards.sum() == pytest.approx(REFERENCE, rel=0, abs=1e-12)


@pytest.mark.parametrize("known", ["across", "within"])
def test_regret_is_against_the_best_arm_of_who_comes(known: str) -> None:
    structure, pairs = PAIRS[known]
    belief = exact(tuple(pairs))

    def below(arms: tuple[int, ...], v: Fraction) -> Fraction:
        limits = tuple(
            (Fraction(0), min(Fraction(1), v / REWARDS[i]) if i in arms else Fraction(1)) for i in range(4)
        )
        cut = paper_structure.Exact(belief.rankings, limits, belief.unit)
        return cut.weight(START) / belief.weight(START) if v else Fraction(0)

    def largest(arms: tuple[int, ...]) -> Fraction:
        edges = [Fraction(0), *sorted(REWARDS[i] for i in arms)]
        whole = sum(exactly(lambda v: below(arms, v), low, high, 8) for low, high in pairwise(edges))
        return edges[-1] - whole

    problem = shop(structure, SHARES["known"], 5)
    expected = [5 * q * largest(arms) for q, arms in zip(SHARES["known"], GROUPS, strict=True)]
    assert largest_by_segment(problem) == pytest.approx([float(x) for x in expected], rel=1e-11)
    found = solve(problem)
    assert found.regret == pytest.approx(float(sum(expected)) - found.value, abs=1e-11)


NAMES = (
    *("optimal", "greedy", "greedy:order=false", "ucb", "gittins", "finite-gittins", "elsv"),
    *("elsv:index=ucb", "elsv:index=ucb,depth=2", "elsv:depth=2", "commit", "commit:depth=2"),
    *("commit:order=false", "block", "fixed:arm=2+3", "random", "thompson", "thompson:order=false"),
    *("top-two", "ids", "bayes-ucb:belief=structured", "plan"),
)


@pytest.mark.parametrize("shares", SHARES)
def test_policies_on_layers_are_those_asked_state_by_state(
    shares: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Live decisions take Thompson's chances to 1e-4; here they are asked as exactly as those of layers.
    monkeypatch.setattr("elsv.policies.library.CHANCE_TOLERANCE", 1e-10)
    problem = shop(GRID, SHARES[shares], 3)
    found = evaluate(problem, NAMES)
    assert found["optimal"].value == pytest.approx(solve(problem).value, rel=1e-13)
    for name in NAMES[1:]:
        policy = make_policy(name, problem)
        mixes = policy.chances(State.initial(problem), 1) is not None
        plain = ByChances(policy) if mixes else StateByState(policy)
        alone = evaluate(problem, plain)[0]
        assert found[name].value == pytest.approx(alone.value, rel=1e-9), name
        for part, own in zip(found[name].by_segment, alone.by_segment, strict=True):
            assert part.value == pytest.approx(own.value, rel=1e-8), (name, part.segment)
        assert sum(part.value for part in found[name].by_segment) == pytest.approx(found[name].value)
        assert sum(part.regret for part in found[name].by_segment) == pytest.approx(found[name].regret)
        assert found[name].value <= found["optimal"].value + 1e-12


@pytest.mark.parametrize("shares", SHARES)
def test_what_each_segment_pays_is_brute_force(shares: str) -> None:
    structure, pairs = PAIRS["across"]
    mean = mean_under(tuple(pairs))
    who = Who(GROUPS, START, SHARES[shares], (1, 1))

    def greedy(state: paper.Counts, _step: int, segment: int) -> int:
        arms = GROUPS[segment]
        return arms[paper.best_arm([float(REWARDS[i] * mean(state, i)) for i in arms])]

    expected = {
        "greedy": earned(who, 4, REWARDS, mean, greedy),
        "fixed:arm=2+3": earned(who, 4, REWARDS, mean, lambda _s, _t, g: (1, 2)[g]),
        "optimal": earned(who, 4, REWARDS, mean),
    }
    found = evaluate(shop(structure, SHARES[shares], 4), tuple(expected))
    for name, parts in expected.items():
        got = [part.value for part in found[name].by_segment]
        assert got == pytest.approx([float(part) for part in parts], rel=1e-12), name
        assert [part.segment for part in found[name].by_segment] == ["new", "returning"]


def test_optimal_policy_answers_for_state_and_segment(tmp_path: Path) -> None:
    problem = shop(GRID, SHARES["learnt"], 5)
    file = tmp_path / "best"
    found = solve(problem, save=file)
    policy = OptimalPolicy(problem, file)
    rows = evaluate(problem, ["optimal", policy, StateByState(policy), f"optimal:file={file}"])
    assert [row.value for row in rows] == pytest.approx([found.value] * 4, rel=1e-13)
    first = policy(State.initial(problem, (2,)), 1, None, np.array([0, 1]))
    assert set(first.tolist()) <= set(found.actions)
    assert problem.segments.of_arm[first].tolist() == [0, 1]
    with pytest.raises(InvalidInputError, match="say whose turn it is"):
        policy(State.initial(problem), 1)
    other = shop(GRID, SHARES["known"], 5)
    with pytest.raises(InvalidInputError, match="solves another problem: its segment_shares"):
        OptimalPolicy(other, file)


@pytest.mark.parametrize(
    "belief",
    [
        Ladder(4, ((0, 1), (0, 2), (1, 3), (2, 3))),
        Ladder(4, ((0, 1), (2, 3))),
        Ladder(4, ((0, 1),)),
        Ladder(4, (), unimodal=True),
        Ladder(5, ((0, 1),), unimodal=True),
        Ladder(5, ((0, 1), (0, 2), (1, 3), (2, 4))),
        Ladder(6, ((0, 1), (1, 2), (3, 4), (4, 5), (0, 3), (1, 4), (2, 5))),
    ],
    ids=["grid", "two chains", "one pair", "peak", "peak and pair", "fork", "2 by 3"],
)
@pytest.mark.parametrize("uniform", [True, False])
def test_weights_on_shared_nodes_are_those_of_each_state(belief: Ladder, uniform: bool) -> None:
    rng = np.random.default_rng(5)
    prior = np.ones((belief.arms, 2)) if uniform else np.round(rng.uniform(0.5, 3, (belief.arms, 2)), 1)
    problem, lattice = Problem(np.ones(belief.arms), prior=prior, horizon=5), Lattice(belief.arms, 5)
    for made in (0, 3, 5):
        alone = layer_weights(belief.precise(), problem, lattice, made)
        together = layer_weights(belief, problem, lattice, made, workers=2, shared=True)
        ratio = together / alone
        assert ratio.max() / ratio.min() == pytest.approx(1, rel=1e-11)


def test_state_by_state_where_nodes_cannot_be_shared() -> None:
    bounded = Ladder(3, ((0, 1),), bounds=((0.1, 0.9),) * 3)
    problem, lattice = Problem([1, 1, 1], horizon=4), Lattice(3, 4)
    assert bounded.shared_ways(problem) is None
    contradiction = Problem([1, 1], prior=[[1, 600], [600, 1]], horizon=4)
    assert Ladder(2, ((0, 1),)).shared_ways(contradiction) is None
    alone = layer_weights(bounded, problem, lattice, 4)
    assert np.array_equal(layer_weights(bounded, problem, lattice, 4, shared=True), alone)


def test_announced_before_it_starts() -> None:
    problem = shop(GRID, SHARES["known"], 3)
    told = []
    evaluate(problem, ["commit", "thompson"], announce=told.append)
    assert told[0].states == estimate(problem).states
    without = Problem(problem.rewards, structure=GRID, horizon=3)
    one, two = [], []
    evaluate(without, [StateByState(make_policy("greedy", without))], announce=one.append)
    evaluate(problem, [StateByState(make_policy("greedy", problem))], announce=two.append)
    assert two[0].bytes > one[0].bytes  # what each segment pays is followed for itself


def test_always_one_arm_is_one_for_each_segment() -> None:
    problem = shop(GRID, SHARES["known"], 3, names=["new low", "new high", "old low", "old high"])
    assert choices(problem) == ((0, 2), (0, 3), (1, 2), (1, 3))
    assert choice_name(problem, 2) == "new high / old low"
    for given in ("2+3", "new high + old low", "new high / old low", (1, 2), [2, 1]):
        assert find_choice(problem, given) == 2
    found = evaluate(problem, ["greedy", "fixed:arm=2+3", "optimal"], against="1+4")
    row = found["fixed:arm=2+3"]
    assert found.gain(row).amount == 0
    assert str(row) == "always new high / old low"
    assert found.gain(row, "1+4").to_dict()["arm"] == [1, 4]
    told = found.to_dict()
    assert [single["arm"] for single in told["single_arms"]] == [[2, 3], [1, 4]]
    assert [part["segment"] for part in told["policies"][0]["by_segment"]] == ["new", "returning"]
    assert found.columns()["earnings_new"].shape == (3,)
    assert "returning earns" in found._repr_html_()
    for wrong, said in (
        ("2", "one arm for each segment"),
        ("1+2", "one arm for each segment"),
        ("9+3", "from 1 to 4"),
    ):
        with pytest.raises(InvalidInputError, match=said):
            find_choice(problem, wrong)


def test_many_segments_have_choices_that_differ_in_one() -> None:
    arms = 9
    problem = Problem(
        np.linspace(0.1, 1, 3 * arms), horizon=3, segments=np.arange(1, 28).reshape(3, 9).tolist()
    )
    known = choices(problem)
    assert len(known) == 1 + 3 * (arms - 1)
    assert known[0] == (8, 17, 26)
    assert all(sum(a != b for a, b in zip(choice, known[0], strict=True)) <= 1 for choice in known)
    with pytest.raises(InvalidInputError, match="for one segment"):
        find_choice(problem, "1+10+27")


def test_policies_on_layers_must_give_each_segment_an_arm_of_its_own() -> None:
    problem = shop(None, SHARES["known"], 3)

    class Wrong:
        reach = 0

        def decide(self, sweeps, layer):
            return np.zeros((2, layer.size), np.uint8)

    with pytest.raises(InvalidInputError, match="an arm of every segment"):
        evaluate(problem, Wrong())

    def one_for_all(state, step, rng):
        return np.zeros(state.shape, dtype=int)

    with pytest.raises(InvalidInputError, match="arms on offer"):
        evaluate(problem, one_for_all)
    assert isinstance(problem.belief, Independent)


def test_thompson_says_how_far_it_goes() -> None:
    with pytest.raises(InvalidInputError, match="in 2 segments needs P"):
        evaluate(shop(GRID, SHARES["known"], 13), ["thompson"])
