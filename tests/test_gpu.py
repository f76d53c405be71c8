"""The GPU's kernels: compiled for the CPU at short horizons, on a GPU where there is one."""

import numpy as np
import pytest
from benchmarks.long_plan import losses

from cuda_host import HostDevice, compile_kernels
from elsv import Problem, State, evaluate, make_index, make_policy, solve
from elsv.beliefs import Independent
from elsv.choice import TIE
from elsv.errors import InvalidInputError, MissingExtraError
from elsv.exact.cuda.run import (
    check_policy,
    evaluate_cost,
    room_for,
    root_scores,
    solve_cost,
    value_of,
)
from elsv.exact.cuda.sweeps import LayerSweeps, Numbering, Weights, find_device, source
from elsv.exact.evaluate import on_layers
from elsv.indices.tables import IndexTables
from elsv.lattice.numbering import Lattice
from elsv.policies.layers import Search
from elsv.values.commit import BlockCommitValue, CommitValue
from elsv.values.separable import SeparableValue

# rewards, order, prior, horizon on the host, horizon on a GPU
PROBLEMS = {
    "three in order": ([0.4, 0.7, 1], "decreasing", None, 12, 60),
    "three in order, near rewards": ([0.8, 0.9, 1], "decreasing", None, 11, 60),
    "three the other way round": ([1, 0.5, 0.3], "increasing", None, 10, 50),
    "three, real priors": ([0.9, 0.7, 1], "decreasing", [[0.5, 0.5], [1.5, 2], [1, 1]], 8, 40),
    "three, whole priors": ([0.6, 0.7, 1], "decreasing", [[2, 1], [1, 1], [1, 3]], 10, 50),
    "three, prior against the order": (
        [0.4, 0.7, 1],
        "decreasing",
        [[1, 300], [150, 150], [300, 1]],
        6,
        20,
    ),
    "three free": ([0.4, 0.7, 1], None, None, 12, 60),
    "three equal": ([1, 1, 1], None, [[0.3, 2], [1, 1], [5, 2]], 10, 40),
    "two in order": ([0.6, 1], "decreasing", None, 12, 60),
    "two free": ([0.6, 1], None, None, 12, 60),
    "one step": ([0.6, 1], "decreasing", None, 1, 1),
    "two steps": ([0.6, 0.8, 1], "decreasing", None, 2, 2),
}
POLICIES = (
    *("optimal", "gittins", "ucb", "bayes-ucb", "finite-gittins", "elsv", "elsv:index=ucb", "greedy"),
    *("commit:depth=1", "commit:depth=3", "fixed:arm=2", "plan", "plan:effort=10", "plan:effort=40"),
    *("plan:effort=10,far=3000",),
)


def silent(done: int, total: int) -> None:
    pass


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    return compile_kernels(tmp_path_factory.mktemp("kernels"))


@pytest.fixture(scope="module")
def card():
    try:
        return find_device()
    except (InvalidInputError, MissingExtraError) as error:
        pytest.skip(str(error))


def made(name: str, on_card: bool) -> Problem:
    rewards, order, prior, short, long = PROBLEMS[name]
    more = {} if prior is None else {"prior": prior}
    return Problem(rewards, order, long if on_card else short, **more)


def same_as_on_the_cpu(problem: Problem, device: object) -> None:
    known = solve(problem)
    np.testing.assert_allclose(root_scores(problem, device, silent), known.scores, rtol=1e-9, atol=0)
    whole = [on_layers(problem, name) for name in POLICIES]
    for name, policy, row in zip(POLICIES, whole, evaluate(problem, POLICIES), strict=True):
        check_policy(problem, policy, name)
        value = value_of(problem, policy, device, silent)
        assert value == pytest.approx(row.value, rel=1e-9), name


@pytest.mark.parametrize("name", PROBLEMS)
def test_the_same_numbers_as_on_the_cpu(name, library):
    same_as_on_the_cpu(made(name, on_card=False), HostDevice(library))


@pytest.mark.parametrize("name", PROBLEMS)
def test_the_same_numbers_on_a_gpu(name, card):
    same_as_on_the_cpu(made(name, on_card=True), card)


def test_evaluate_and_solve_go_through_the_device(library, monkeypatch):
    for module in ("run", "sweeps"):
        monkeypatch.setattr(f"elsv.exact.cuda.{module}.find_device", lambda memory: HostDevice(library))
    problem, names, done, said = (
        made("three in order", False),
        ["optimal", "plan:effort=10", "fixed:arm=2"],
        [],
        [],
    )
    report = lambda *steps: done.append(steps)  # noqa: E731
    found = evaluate(problem, names, device="cuda", progress=report, announce=said.append)
    for row, known in zip(found, evaluate(problem, names), strict=True):
        assert (row.name, row.value) == (known.name, pytest.approx(known.value, rel=1e-9))
        assert row.seconds >= 0
    assert done[-1] == (2 * problem.steps, 3 * problem.steps)  # nothing is swept for a fixed arm
    assert said[0].states == evaluate_cost(problem, [], HostDevice(library)).states
    assert solve(problem, device="cuda").value == pytest.approx(solve(problem).value, rel=1e-9)


@pytest.mark.parametrize("name", ["three in order", "three free", "two in order"])
def test_little_memory_means_several_batches_and_the_same_numbers(name, library):
    problem = made(name, on_card=False)
    known, least = solve(problem).scores, room_for(problem, 0).bytes
    seen = set()
    for memory in (least, least + 8 * 300, least + 8 * 3000, 1 << 33):
        device = HostDevice(library, memory)
        np.testing.assert_allclose(root_scores(problem, device, silent), known, rtol=1e-12)
        seen.add(len(device.launched))
    assert len(seen) > (1 if problem.arms == 3 else 0)


def test_weights_of_groups_are_those_of_the_lattice(library):
    problem = Problem([0.4, 0.7, 1], "decreasing", 7)
    numbering = Numbering(3, 7)
    lattice = Lattice(3, 7)
    known = problem.belief.layer_weights(problem, lattice, 7)
    weights = Weights(HostDevice(library), problem, numbering, 700)
    for first, stop in ((0, 2), (1, 4), (3, 5), (5, 8), (0, 1)):
        found, begin = weights.of(7, first, stop)
        end = int(numbering.groups[7, stop])
        assert begin == lattice.layer(7).starts[lattice.layer(7).groups[first]]
        np.testing.assert_allclose(found[: end - begin], known[begin:end], rtol=1e-11)


def test_a_sweep_writes_its_own_states_only(library):
    problem = Problem([0.4, 0.7, 1], "decreasing", 6)
    sweeps = LayerSweeps(HostDevice(library), problem, 5000)
    groups = sweeps.numbering.groups[5]
    low, high = int(groups[2]), int(groups[4])
    out = np.full(high - low + 20, -7.0)
    sweeps.sweep("sweep_best", 5, (2, 4), 0, out[10:-10])
    assert (out[:10] == -7).all()
    assert (out[-10:] == -7).all()
    assert (out[10:-10] > 0).all()


def test_what_simulated_decisions_lose_is_what_the_policy_earns_less(library):
    problem = Problem([0.4, 0.7, 1], "decreasing", 12)
    rng = np.random.default_rng(5)
    means = problem.belief.draw(State.trusted(np.ones((4000, 3)), np.ones((4000, 3))), rng)
    policy = make_policy("commit:depth=1", problem)
    wins, pulls = np.zeros((13, 4000, 3), np.int64), np.zeros((13, 4000, 3), np.int64)
    arms = np.zeros((12, 4000), np.int64)
    each = np.arange(4000)
    for t in range(12):
        arms[t] = policy(State.trusted(1.0 + wins[t], 1.0 + pulls[t] - wins[t]), t + 1, None)
        wins[t + 1], pulls[t + 1] = wins[t], pulls[t]
        wins[t + 1][each, arms[t]] += rng.random(4000) < means[each, arms[t]]
        pulls[t + 1][each, arms[t]] += 1
    lost, best = losses(problem, HostDevice(library), wins[:12], pulls[:12], arms, silent)
    optimum, row = evaluate(problem, ["optimal", "commit:depth=1"])
    assert best == pytest.approx(optimum.value, rel=1e-12)
    assert (lost >= -1e-12).all()
    error = lost.std() / np.sqrt(len(lost))
    assert abs(lost.mean() - (optimum.value - row.value)) < 4 * error
    assert error < 0.01 * optimum.regret
    with pytest.raises(InvalidInputError, match="paths of 12 steps"):
        losses(problem, HostDevice(library), wins, pulls, arms, silent)


def test_what_it_cannot_do_is_refused_with_a_remedy(library):
    device = HostDevice(library)
    order = Problem([0.4, 0.7, 1], "decreasing", 6)
    with pytest.raises(InvalidInputError, match="not 'thompson'; use device='cpu'"):
        check_policy(order, on_layers(order, "thompson"), "thompson")
    with pytest.raises(InvalidInputError, match="2 and 3 arms, got 4"):
        solve_cost(Problem([1, 1, 1, 1], None, 5), device)
    with pytest.raises(InvalidInputError, match="not this structure"):
        solve_cost(Problem([1, 1, 1], {"order": [[1, 2], [1, 3]]}, 5), device)
    with pytest.raises(
        InvalidInputError, match=r"GB on the GPU, where 0\.0 GB are free \(host\); use a shorter"
    ):
        solve_cost(order, HostDevice(library, 1000))
    with pytest.raises(InvalidInputError, match="keeps no arms"):
        solve(order, device="cuda", keep=2)
    with pytest.raises(InvalidInputError, match="must be 'cpu' or 'cuda', got 'tpu'"):
        solve(order, device="tpu")
    with pytest.raises(InvalidInputError, match="must be 'cpu' or 'cuda', got 'tpu'"):
        evaluate(order, "greedy", device="tpu")


def test_the_tie_rule_of_the_kernels_is_that_of_all_others():
    assert source().startswith(f"#define TIE {TIE!r}\n")
    assert source().count("define TIE") == 1


def test_every_kernel_that_a_policy_names_is_there(library):
    problem = Problem([0.4, 0.7, 1], "decreasing", 6)
    sweeps = LayerSweeps(HostDevice(library), problem, 5000)
    for name in ("optimal", "fixed:arm=2", "gittins", "elsv"):
        named = on_layers(problem, name).kernel(problem, 3)
        assert getattr(library, sweeps.kernel(named, 2)[0])
    assert on_layers(problem, "commit:depth=3").kernel(problem, 3).steps == (1, 1, 1)
    assert on_layers(problem, "thompson").kernel(problem, 3) is None


def test_a_value_names_the_kernel_of_a_search_on_it():
    class Mine(CommitValue):
        def __call__(self, state, step):
            return super().__call__(state, step) / 2

    problem = Problem([0.4, 0.7, 1], "decreasing", 6)

    def named(value, depth=1, **more):
        return Search(value, problem.belief, depth, **more).kernel(problem, 3)

    assert named(CommitValue(problem), 2).steps == (1, 1)
    assert named(CommitValue(problem), 9).steps == (1, 1, 1, 1)  # no further than the horizon
    assert named(SeparableValue(problem, make_index("gittins"))).name == "gain"
    assert named(SeparableValue(problem, make_index("gittins")), 2) is None
    assert named(BlockCommitValue(problem)) is None
    assert named(Mine(problem)) is None  # its own value, not that of the kernel
    assert named(CommitValue(problem, Independent())) is None  # another belief than the problem's
    first = IndexTables(problem, make_index("ucb"), 6)
    assert named(CommitValue(problem), first=first) is None  # which would pass infinite indices by
    assert Search(CommitValue(problem), Independent()).kernel(problem, 3) is None


def test_the_announcement_grows_with_the_work(library):
    device = HostDevice(library, 1 << 40)
    costs = [solve_cost(Problem([0.8, 0.9, 1], "decreasing", t), device) for t in (100, 200, 290)]
    assert costs[0].bytes < costs[1].bytes < costs[2].bytes
    problem = Problem([0.8, 0.9, 1], "decreasing", 100)
    several = evaluate_cost(problem, [on_layers(problem, n) for n in ("optimal", "greedy", "plan")], device)
    assert several.bytes > costs[0].bytes


def test_the_papers_horizon_fits_on_a_card_of_141_gigabytes():
    problem = Problem([0.8, 0.9, 1], "decreasing", 290)
    free = 149_000_000_000
    assert room_for(problem, free).bytes <= free
