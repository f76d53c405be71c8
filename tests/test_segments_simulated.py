"""Simulations where customers come from segments: the same for every policy, beside exact values."""

import json
import shlex
from pathlib import Path

import numpy as np
import pytest

from commands import elsv
from elsv import InvalidInputError, Problem, compare, compare_sharing, evaluate, make_policy, rehearse
from elsv.policies.library import Greedy
from elsv.policies.sharing import part_of, pooled_problem
from elsv.policies.single import choices, find_choice
from elsv.simulation.engine import Run, run_chunk
from elsv.simulation.instances import Arrivals, FromPrior, GivenMeans, delays_of
from elsv.state import State

NAMES = ("greedy", "thompson", "fixed:arm=2+3", "elsv", "gittins", "random")


def shop(horizon: int = 6, known: bool = True, **more: object) -> Problem:
    shares = {"segment_shares": [0.7, 0.3]} if known else {"segment_prior": [3, 1]}
    groups = {"new": [1, 2], "returning": [3, 4]}
    given = {"structure": {"grid": [2, 2]}, "rewards": [0.6, 1, 0.5, 0.9], **shares, **more}
    return Problem(horizon=horizon, segments=groups, **given)


def a_run(problem: Problem, policies: tuple[object, ...], instances: int = 8, **more: object) -> Run:
    given = {"checkpoints": np.array([problem.steps]), "source": FromPrior(problem), "seed": 4} | more
    return Run(problem=problem, policies=policies, instances=instances, horizon=problem.steps, **given)


@pytest.mark.parametrize("known", [True, False])
def test_simulated_means_are_the_exact_ones(known: bool) -> None:
    problem = shop(6, known)
    found, exact = compare(problem, NAMES, 3000, seed=2), evaluate(problem, NAMES)
    for name in NAMES:
        result, row = found[name], exact[name]
        assert abs(result.earnings[-1] - row.value) < 2 * result.earnings_ci95[-1], name
        assert abs(result.mean[-1] - row.regret) < 2 * result.ci95[-1], name
        gain = found.gain(name)
        assert abs(gain.amount - exact.gain(name).amount) <= 2 * gain.ci95 + 1e-12, name
        for part, own in zip(result.by_segment, row.by_segment, strict=True):
            assert part.segment == own.segment
            assert abs(part.earnings - own.value) < 2 * part.earnings_ci95, name
            assert abs(part.regret - own.regret) < 2 * part.ci95, name
        assert sum(p.earnings for p in result.by_segment) == pytest.approx(result.earnings[-1])
        assert sum(p.regret for p in result.by_segment) == pytest.approx(result.mean[-1])
        assert sum(p.customers for p in result.by_segment) == pytest.approx(6)


def test_who_comes_is_a_function_of_its_place() -> None:
    segments = shop().segments
    seed = np.random.SeedSequence(7)
    first = Arrivals.of(segments, 5000, 6, seed)
    again = Arrivals.of(segments, 5000, 6, seed)
    assert all(np.array_equal(first.at(t), again.at(t)) for t in (6, 1, 3))
    assert np.array_equal(first.counts().sum(axis=1), np.full(5000, 6))
    assert first.counts().mean(axis=0) / 6 == pytest.approx([0.7, 0.3], abs=0.02)
    assert not np.array_equal(first.at(1), first.at(2))
    learnt = Arrivals.of(shop(known=False).segments, 5000, 6, seed)
    assert learnt.shares.mean(axis=0) == pytest.approx([0.75, 0.25], abs=0.02)
    assert learnt.shares.sum(axis=1) == pytest.approx(np.ones(5000))


def test_every_policy_meets_the_same_customers() -> None:
    problem, seen = shop(5), []

    def spy(state, step, rng, segment=None):
        seen.append(np.array(segment))
        return np.array([1, 2])[segment]

    spy.__name__ = "spy"
    run_chunk(a_run(problem, (spy, "greedy", spy.__call__)), 0)
    first, second = seen[:5], seen[5:]
    assert len(second) == 5
    assert all(np.array_equal(a, b) for a, b in zip(first, second, strict=True))


def test_regret_is_against_the_best_arm_of_who_came() -> None:
    problem, means = shop(6), np.array([[0.9, 0.2, 0.8, 0.1]])
    source = GivenMeans(means, 4)
    tally = run_chunk(a_run(problem, ("fixed:arm=2+4",), source=source, keep_raw=True), 0)
    seed = np.random.SeedSequence(4, spawn_key=(0,)).spawn(4)[3]
    came = Arrivals.of(problem.segments, 8, 6, seed)
    gap = np.array([0.6 * 0.9 - 0.2, 0.5 * 0.8 - 0.9 * 0.1])
    expected = np.cumsum([gap[came.at(t)] for t in range(1, 7)], axis=0)
    assert tally.curves[0] * a_run(problem, ()).unit == pytest.approx(expected)
    best = np.array([0.6 * 0.9, 0.5 * 0.8])
    earned = sum(best[came.at(t)] - gap[came.at(t)] for t in range(1, 7))
    assert tally.earnings[0, 0, -1] * a_run(problem, ()).unit == pytest.approx(earned.sum())
    assert tally.by_segment[0, 4] == pytest.approx(came.counts().sum(axis=0))


@pytest.mark.parametrize("late", [{"delay": 3}, {"batch": 4}, {"delay": "geometric:2", "lost": 0.2}])
@pytest.mark.parametrize("known", [True, False])
def test_outcomes_that_come_late(late: dict[str, object], known: bool) -> None:
    problem = shop(8, known)
    names = ("greedy", "gittins", "thompson", "commit:pending=ignore", "fixed:arm=2+3")
    found = compare(problem, names, 60, seed=1, **late)
    assert all(np.isfinite(found[name].mean).all() for name in names)
    fixed = compare(problem, names[-1:], 60, seed=1)
    assert fixed[names[-1]].mean[-1] == pytest.approx(found[names[-1]].mean[-1])


def test_outcomes_known_at_once_are_a_delay_of_none() -> None:
    problem = shop(6)
    run = a_run(problem, ("gittins", "greedy"), 40)
    none = a_run(problem, ("gittins", "greedy"), 40, delays=delays_of(0, batch=2))
    at_once = run_chunk(run, 0)
    assert run_chunk(none, 0).regret[0, 0, 0] == at_once.regret[0, 0, 0]


def test_workers_do_not_matter_and_a_run_resumes(tmp_path: Path) -> None:
    problem = shop(5)
    one = compare(problem, ["greedy", "thompson"], 600, seed=5, jobs=1)
    two = compare(problem, ["greedy", "thompson"], 600, seed=5, jobs=2, out=tmp_path / "run")
    again = compare(problem, ["greedy", "thompson"], 600, seed=5, out=tmp_path / "run", resume=True)
    for other in (two, again):
        for name in one.names:
            assert np.array_equal(one[name].mean, other[name].mean)
            assert one[name].by_segment == other[name].by_segment
        assert np.array_equal(one.totals.singles.gains, other.totals.singles.gains)
    assert one.totals.singles.arms.shape == (len(choices(problem)),)


def test_rehearsal_keeps_an_arm_for_every_segment() -> None:
    found = rehearse(shop(), [5, 60], policies=["greedy", "gittins"], against="2+3", instances=40)
    assert found.to_dict()["against"] == [2, 3]
    assert "always arm 2 / arm 3" in str(found)
    small, large = (row for row in found.outcomes if row.policy == "greedy")
    assert small.exact
    assert large.gain > small.gain


@pytest.mark.parametrize("late", [None, 7])
def test_scores_are_asked_for_once_for_all_who_may_come(late: int | None) -> None:
    problem, asked = shop(60), []

    class Once(Greedy):
        deterministic = True

        def scores(self, state: State, step: int, rng: np.random.Generator) -> np.ndarray:
            asked.append(step)
            return super().scores(state, step, rng)

    def own(*given: object, segment: object) -> object:
        return Greedy(problem, problem.belief)(*given, segment)

    policies = (Once(problem, problem.belief), own)
    run = a_run(problem, policies, patience=3, keep_raw=True, delays=delays_of(late, None, None))
    one, other = run_chunk(run, 0).curves
    assert (one == other).all()
    assert len(asked) == len(set(asked)) == sum(map(run.asks, range(1, 61)))


def test_parts_have_what_is_known_of_their_own_arms() -> None:
    problem = Problem(
        [0.6, 0.8, 1] * 2,
        structure={"grid": [2, 3], "bounds": [[0, 0.9]] * 3 + [[]] * 3},
        horizon=9,
        segments={"new": [1, 2, 3], "old": [4, 5, 6]},
        segment_shares=[0.7, 0.3],
    )
    first = part_of(problem, (0, 1, 2))
    assert first.order is None
    assert first.structure.to_dict()["order"] == "decreasing"
    assert first.names == problem.names[:3]
    assert part_of(problem, (3, 4, 5)).order == "decreasing"
    assert pooled_problem(problem).order == "decreasing"
    free = Problem([1, 1, 1, 1], discount=0.9, segments=[[1, 2], [3, 4]], segment_shares=[0.25, 0.75])
    assert part_of(free, (0, 1)).discount == pytest.approx(0.25 * 0.9 / (1 - 0.75 * 0.9))
    assert pooled_problem(free).discount == 0.9
    with pytest.raises(InvalidInputError, match="as many arms in every segment, got a 1, b 3"):
        pooled_problem(Problem([1] * 4, horizon=5, segments={"a": [1], "b": [2, 3, 4]}))
    with pytest.raises(InvalidInputError, match="separate needs segments"):
        make_policy("separate", Problem([1, 1], horizon=5))


def test_separate_and_pooled_choose_as_their_own_bandits() -> None:
    problem = shop(20, rewards=[0.6, 1, 0.6, 1])
    rng = np.random.default_rng(0)
    state = State([3.0, 1.0, 1.0, 4.0], [1.0, 2.0, 1.0, 1.0])  # 3 customers of each segment
    separate = make_policy("separate:policy=commit", problem)
    ends = 3 + round(0.7 * 14), 3 + round(0.3 * 14)
    for g, (arms, end) in enumerate(zip(((0, 1), (2, 3)), ends, strict=True)):
        own = make_policy("commit", part_of(problem, arms).with_horizon(end))
        sub = State(state.alpha[list(arms)], state.beta[list(arms)])
        assert separate(state, 7, rng, g) == arms[int(own(sub, 4, rng))]
    pooled = make_policy("pooled:policy=commit", problem)
    levels = make_policy("commit", pooled_problem(problem))
    together = State([3.0, 4.0], [1.0, 2.0])
    level = int(levels(together, 7, rng))
    assert pooled(state, 7, rng, 1) == (2, 3)[level]
    assert pooled(State.initial(problem, (2,)), 1, rng, np.array([0, 1])).tolist() in ([0, 2], [1, 3])


@pytest.mark.parametrize("form", ["separate", "pooled"])
def test_bandits_that_draw_have_the_same_numbers_on_any_number_of_threads(form: str) -> None:
    """They called themselves deterministic, so that idle threads shared one generator."""
    problem = Problem([0.6, 1.0, 0.6, 1.0], horizon=12, segments=[[1, 2], [3, 4]])
    name = f"{form}:policy=thompson"
    assert not make_policy(name, problem).deterministic
    assert make_policy(f"{form}:policy=commit", problem).deterministic
    found = [compare(problem, [name], 64, seed=3, jobs=jobs)[name].mean for jobs in (1, 4, 4)]
    assert np.array_equal(found[0], found[1])
    assert np.array_equal(found[1], found[2])


def test_separate_bandits_are_as_good_where_nothing_is_shared() -> None:
    problem = shop(5, structure=None)
    found = evaluate(problem, ["optimal", "separate:policy=commit", "pooled:policy=commit", "commit"])
    assert found["separate:policy=commit"].value <= found["optimal"].value + 1e-12
    assert found["separate:policy=commit"].value > found["pooled:policy=commit"].value


def test_what_sharing_is_worth() -> None:
    found = compare_sharing(shop(30, rewards=[0.6, 1, 0.6, 1]), "greedy", instances=400, seed=3)
    assert found.comparison.names == ("shared", "separate", "pooled")
    earned = found.comparison.earnings()
    for lead in found.leads():
        assert lead.amount == pytest.approx(earned["shared"][0] - earned[lead.over][0])
        assert lead.ci95 > 0
    assert "a bandit for each segment" in found.verdict()
    told = found.to_dict()["sharing"]
    assert [lead["over"] for lead in told["leads"]] == ["separate", "pooled"]
    assert "pooled" in str(found)
    assert "who comes" in found._repr_html_()
    uneven = Problem([1, 1, 0.5], horizon=5, segments=[[1], [2, 3]])
    assert compare_sharing(uneven, "greedy", 20).comparison.names == ("shared", "separate")
    with pytest.raises(InvalidInputError, match="needs segments"):
        compare_sharing(Problem([1, 1], horizon=5), "greedy", 20)


@pytest.mark.parametrize("arms", ["2+4", "2+6", "3+6"])
def test_the_command_that_repeats_a_run_names_one_arm_for_each_segment(arms: str) -> None:
    from elsv.report.comparison import repeat_command

    problem = Problem([0.6, 0.8, 1, 0.6, 0.8, 1], horizon=5, segments=[[1, 2, 3], [4, 5, 6]])
    found = compare(problem, ["greedy"], 10, against=arms, progress=False)
    said = shlex.split(repeat_command(found))
    assert find_choice(problem, said[said.index("--against") + 1]) == found.against


def test_reports_show_the_segments(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    from elsv.report.comparison import comparison_page, draw
    from elsv.report.figures import to_svg

    found = compare(shop(5), ["greedy", "thompson"], 60, seed=1, against="1+4")
    svgs = {name: [to_svg(figure)] for name, figure in draw(found).items()}
    page = comparison_page(found, svgs, "elsv compare").html()
    assert "By segment" in page
    assert "returning regret" in page
    told = found.to_dict()
    assert [part["segment"] for part in told["policies"][0]["by_segment"]] == ["new", "returning"]
    assert [single["arm"] for single in told["single_arms"]] == [[2, 3], [1, 4]]
    json.dumps(told)


def test_command_line(tmp_path: Path) -> None:
    file = tmp_path / "shop.toml"
    shop(4, names=["new low", "new high", "old low", "old high"]).save(file)
    assert "first   new: new high; returning: old low" in elsv("solve", file).stdout
    exact = elsv("evaluate", file, "-p", "greedy", "-p", "thompson", "--against", "1+4").stdout
    assert "returning earns" in exact
    assert "always new high / old low" in exact
    shown = elsv("compare", file, "-p", "greedy", "--instances", 40, "--delay", 2).stdout
    assert "the same under every policy" in shown
    shared = elsv("compare", file, "--sharing", "-p", "greedy", "--instances", 40, "--json").stdout
    assert json.loads(shared)["sharing"]["policy"] == "greedy"
    told = elsv("compare", file, "--sharing", "-p", "greedy", "-p", "thompson", code=2).stderr
    assert "compares one policy with itself" in told
    rehearsed = elsv("rehearse", file, "--customers", 20, "-p", "greedy", "--instances", 20).stdout
    assert "always new high / old low" in rehearsed
