"""Every policy goes to step 3,000, one customer at a time, and nobody waits for a table."""

from __future__ import annotations

import numpy as np
import pytest

from elsv import Bandit, Campaign, Problem, State, make_policy, policy_names
from elsv._base import cache
from elsv.indices import INDEX_NAMES, _gittins_solver, _gittins_tables
from elsv.structure.evidence import contradiction, evidence
from elsv.values import SeparableValue

STEPS = 3000
PROBLEM = Problem([0.8, 1.0], order="decreasing", horizon=STEPS)
TABLED = ("elsv:tolerance=0.001,discount=0.9", *INDEX_NAMES)
OTHERS = (*tuple(sorted(set(policy_names(PROBLEM)) - {"elsv", "block", *INDEX_NAMES})), "block:blocks=2")
NEAR = (1, 2, 31, 1023, 1024, 1025, 1026, 2047, 2048, 2049, 2999, 3000)


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("ELSV_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("ELSV_CACHE_DISK", "0")
    cache.memory.clear()


class Watch:
    """Counts blocks that were begun, and the most work on tables within one step, in sweeps."""

    def __init__(self, monkeypatch):
        self.blocks, self.begun, self.most, self._spent, self._steps = [], [], 0.0, 0.0, 0
        rounds = _gittins_solver.LevelSolver._rounds

        def counted(solver):
            self.blocks.append((solver.first, solver.levels))
            self.begun.append(self._steps)
            for took in rounds(solver):
                self._spent += took
                yield took

        monkeypatch.setattr(_gittins_solver.LevelSolver, "_rounds", counted)

    def step(self):
        self.most, self._spent, self._steps = max(self.most, self._spent), 0.0, self._steps + 1


def walk(bandit, steps, after=lambda: None):
    rng, chosen = np.random.default_rng(3), []
    for _ in range(steps):
        arm = bandit.choose()
        bandit.observe(arm, rng.random() < (0.5, 0.45)[arm])
        chosen.append(arm)
        after()
    return chosen


@pytest.mark.parametrize("name", TABLED)
def test_a_policy_with_tables_walks_to_the_end_step_by_step(name, monkeypatch):
    """Blocks of levels are solved once each, ahead, and no step does more than a share of one."""
    monkeypatch.setattr(_gittins_tables, "solve_levels", _only_the_first_block)
    if name.startswith("elsv"):
        monkeypatch.setattr(
            "elsv.indices._gittins_solver.one_state", lambda *_: pytest.fail("solved one state")
        )
    watch = Watch(monkeypatch)
    bandit = Bandit(PROBLEM, name, seed=1)
    walk(bandit, STEPS, watch.step)
    if name.startswith("elsv"):
        assert watch.blocks[:9] == [(0, 8), *((2**k, 2 ** (k + 1)) for k in range(3, 11))]
        assert watch.blocks[9:] == [(2048, 2862), (2862, 3491)]
        assert watch.most < 400  # of some 10,000 for a block
        assert watch.begun == [3 * first // 4 for first, _ in watch.blocks]
    else:
        assert len(watch.blocks) <= 2 * 32  # of the finite horizon, where few pulls are made and left
        assert max((stop for _, stop in watch.blocks), default=0) <= 32


def _only_the_first_block(*given):
    assert given[1] == 0
    assert given[2] <= 128
    return _gittins_solver.solve_levels(*given)


@pytest.mark.parametrize("name", OTHERS)
def test_every_other_policy_walks_to_the_end_step_by_step(name):
    """A walk leaves nothing behind in a policy: a fresh one chooses the same arm."""
    bandit = Bandit(PROBLEM, name, seed=1)
    fresh = make_policy(name, PROBLEM)
    met = []

    def after():
        if bandit.step in NEAR and fresh.deterministic:
            met.append(bandit.step)
            assert fresh(bandit.state, bandit.step, None) == bandit.choose()

    chosen = walk(bandit, STEPS - 1, after)
    assert len(chosen) + 1 == bandit.step == STEPS
    assert set(chosen) <= {0, 1}
    assert met == (list(NEAR[1:]) if fresh.deterministic else [])


def test_a_value_step_by_step_is_the_value_at_once():
    """Past 1,024 pulls too, where one form solved single states and the other did not."""
    problem = Problem([1.0], horizon=STEPS)
    index = make_policy("gittins:tolerance=0.001,discount=0.9", problem).index
    walked, leaps = SeparableValue(problem, index), SeparableValue(problem, index)
    for step in range(1, 1101):
        bonus = walked.bonus(step, range(step - 1, step), 0)
        walked.table(step)
    assert (leaps.bonus(1100, range(1100), 0)[-1100:] == bonus).all()
    np.testing.assert_allclose(walked.table(1100), leaps.table(1100), rtol=0, atol=1e-11)


@pytest.mark.parametrize("name", [*TABLED, *OTHERS])
def test_a_campaign_with_every_policy_goes_to_3000_customers(tmp_path, name, monkeypatch):
    monkeypatch.setattr(_gittins_tables, "solve_levels", _only_the_first_block)
    watch = Watch(monkeypatch)
    with Campaign.open(tmp_path / "shop.db", "spring", PROBLEM, policy=name, seed=1) as campaign:
        for _ in range(STEPS // 100):
            made = campaign.decide(count=100)
            campaign.rewards([(decision, k % 2 == 0) for k, decision in enumerate(made)])
        assert campaign.status().decided == STEPS
        assert campaign.audit().exact
    assert len(watch.blocks) == len(set(watch.blocks))
    assert len(watch.blocks) <= (2 * 32 if name == "finite-gittins" else 11)


@pytest.mark.parametrize("truth", [(0.5, 0.45), (0.1, 0.9)])
def test_the_look_at_what_is_assumed_says_what_the_evidence_says(truth, monkeypatch):
    """A look on the way takes no time for the Bayes factor."""
    rng, bandit, said = np.random.default_rng(5), Bandit(PROBLEM, "ucb1", seed=1), []
    monkeypatch.setattr("elsv.live.bandit.say_once", said.append)
    for _ in range(40):
        arm = bandit.choose()
        bandit.observe(arm, rng.random() < truth[arm])
        assert contradiction(PROBLEM, bandit.state) == bandit.evidence().warning()
    monkeypatch.setattr("elsv.structure.evidence.log_weight", lambda *_: pytest.fail("weighed"))
    assert bool(said) == (contradiction(PROBLEM, bandit.state) is not None) == (truth[0] < truth[1])


@pytest.mark.parametrize("won", [(14, 13), (12, 14), (14, 12)])
def test_a_look_fits_nothing_where_one_rate_for_all_arms_does(won, monkeypatch):
    state = State(1.0 + np.array(won), 31.0 - np.array(won))
    said = evidence(PROBLEM, state).warning()
    monkeypatch.setattr("elsv.structure.evidence.closest", lambda *_: pytest.fail("fitted"))
    assert contradiction(PROBLEM, state) == said
