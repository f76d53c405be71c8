"""What is bound to one problem is refused by another; no kernel meets a shape that it was not made for."""

import numpy as np
import pytest

import elsv
from elsv import Problem, State
from elsv.beliefs import Independent
from elsv.choice import best_arm
from elsv.errors import InvalidInputError
from elsv.exact import OptimalPolicy, evaluate, solve
from elsv.policies import Commit, Elsv, Fixed, Greedy, IndexPolicy, Random, Thompson, make_policy
from elsv.policies.layers import StateByState
from elsv.policies.plan import Plan
from elsv.values import BlockCommitValue, CommitValue, SeparableValue

THREE = Problem([0.4, 0.7, 1.0], "decreasing", 8)
FIVE = Problem([0.2, 0.4, 0.6, 0.8, 1.0], "decreasing", 8)
NAMES = ["plan", "elsv", "elsv:depth=2", "commit", "block", "thompson", "greedy", "gittins", "fixed"]
RNG = np.random.default_rng(0)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("run", [elsv.compare, evaluate, lambda p, policy: elsv.Bandit(p, policy)])
def test_a_policy_of_another_problem_is_refused(name, run):
    stranger = make_policy(name, FIVE)
    with pytest.raises(InvalidInputError, match="bound to another problem"):
        run(THREE, stranger)


def test_a_policy_of_a_problem_that_differs_in_names_alone_is_not():
    named = Problem([0.4, 0.7, 1.0], "decreasing", 8, names=["a", "b", "c"])
    assert evaluate(named, make_policy("greedy", THREE))[0].value > 0


@pytest.mark.parametrize("name", NAMES)
def test_a_policy_refuses_a_state_of_other_arms(name):
    policy, wide = make_policy(name, THREE), State.initial(FIVE)
    with pytest.raises(InvalidInputError, match="must have 3 arms"):
        policy(wide, 1, RNG)
    if hasattr(policy, "scores"):
        with pytest.raises(InvalidInputError, match="must have 3 arms"):
            policy.scores(wide, 1, RNG)


@pytest.mark.parametrize(
    "value",
    [SeparableValue(THREE, elsv.make_index("gittins")), CommitValue(THREE), BlockCommitValue(THREE)],
    ids=lambda value: type(value).__name__,
)
def test_a_value_refuses_a_state_of_other_arms(value):
    with pytest.raises(InvalidInputError, match="must have 3 arms"):
        value(State.initial(FIVE), 1)
    with pytest.raises(InvalidInputError, match="must have 3 arms"):
        elsv.lookahead(THREE, State.initial(FIVE), 1, value, Independent())


def test_a_policy_refuses_a_value_of_another_problem():
    with pytest.raises(InvalidInputError, match="bound to another problem"):
        Elsv(THREE, SeparableValue(FIVE, elsv.make_index("gittins")), Independent())
    with pytest.raises(InvalidInputError, match="bound to another problem"):
        Commit(THREE, CommitValue(FIVE), Independent())


def test_one_step_refuses_means_of_another_shape():
    value = SeparableValue(THREE, elsv.make_index("gittins"))
    with pytest.raises(InvalidInputError, match="mean must have one number for each arm"):
        value.one_step(State.initial(THREE), 1, np.full(2, 0.5))


def test_optimal_arms_of_another_problem_are_refused(tmp_path):
    path = tmp_path / "arms"
    actions = solve(Problem([0.4, 0.7, 1.0], "decreasing", 8), save=path).policy
    other = Problem([1.0, 0.7, 0.4], "decreasing", 8)
    for source in (path, actions):
        with pytest.raises(InvalidInputError, match="another problem"):
            OptimalPolicy(other, source)
    with pytest.raises(InvalidInputError, match="another problem"):
        evaluate(other, OptimalPolicy(THREE, actions))


@pytest.mark.parametrize("scores", [np.zeros(2), np.zeros((4, 3)), 1.0, [[0.0] * 4]])
def test_scores_of_a_wrong_width_are_refused(scores):
    class Wrong(elsv.policies.BestScore):
        problem = THREE

        def scores(self, state, step, rng):
            return scores

    with pytest.raises(InvalidInputError, match="one number for each arm"):
        Wrong()(State.initial(THREE), 1, RNG)
    with pytest.raises(InvalidInputError, match="one number for each arm"):
        elsv.compare(THREE, {"wrong": Wrong()}, instances=600)


@pytest.mark.parametrize("answer", [7, -1, 1.0, [0, 1], None])
def test_arms_that_are_none_are_refused(answer):
    def wrong(state, step, rng):
        return answer

    for run in (
        lambda: elsv.compare(THREE, {"wrong": wrong}, instances=600),
        lambda: evaluate(THREE, wrong),
        lambda: elsv.Bandit(THREE, wrong).choose(),
    ):
        with pytest.raises(InvalidInputError, match="whole numbers from 0 to 2"):
            run()


def subclass(kind):
    """Return a subclass that pulls the last arm by scores of its own."""

    class Last(kind):
        def scores(self, state, step, rng):
            return np.arange(state.arms) + np.zeros(state.alpha.shape)

    return Last


@pytest.mark.parametrize(
    "policy",
    [
        subclass(IndexPolicy)(THREE, elsv.make_index("gittins")),
        subclass(Elsv)(THREE, SeparableValue(THREE, elsv.make_index("gittins")), THREE.belief),
        subclass(Commit)(THREE, CommitValue(THREE), THREE.belief),
        subclass(Thompson)(THREE, THREE.belief),
        subclass(Greedy)(THREE, THREE.belief),
        subclass(Plan)(THREE),
    ],
    ids=lambda policy: type(policy).__mro__[1].__name__,
)
def test_a_subclass_with_scores_of_its_own_acts_as_itself(policy):
    own, last = evaluate(THREE, [policy, "fixed:arm=3"])
    assert own.value == pytest.approx(last.value, abs=1e-12)
    simulated = elsv.compare(THREE, {"own": policy, "last": "fixed:arm=3"}, instances=300)
    assert simulated.difference("own", "last") == (0.0, 0.0)


@pytest.mark.parametrize(
    ("kind", "made"), [(Fixed, lambda k: k(THREE, 0)), (Random, lambda k: k(THREE))], ids=["fixed", "random"]
)
def test_a_subclass_with_a_call_of_its_own_acts_as_itself(kind, made):
    class Last(kind):
        def __call__(self, state, step, rng):
            return np.full(state.shape, 2)

    own, last = evaluate(THREE, [made(Last), "fixed:arm=3"])
    assert own.value == pytest.approx(last.value, abs=1e-12)


@pytest.mark.parametrize("value", [CommitValue, BlockCommitValue])
@pytest.mark.parametrize("belief", [Independent(), THREE.belief], ids=["independent", "ordered"])
@pytest.mark.parametrize("own", [None, Independent()], ids=["value ordered", "value independent"])
def test_a_value_keeps_its_own_belief_when_the_search_has_another(value, belief, own):
    policy = Commit(THREE, value(THREE, belief=own), belief, 2)
    layers, states = evaluate(THREE, [policy, StateByState(policy)])
    assert layers.value == pytest.approx(states.value, abs=1e-9)


def test_ones_own_scores_are_kept():
    class Mine:
        def scores(self, state, step, rng):
            return np.broadcast_to([0.1, 0.3, 0.2], state.alpha.shape)

        def __call__(self, state, step, rng):
            return best_arm(self.scores(state, step, rng))

    explained = elsv.Bandit(THREE, Mine()).explain()
    assert [arm.q for arm in explained.arms] == [0.1, 0.3, 0.2]
    assert explained.arm == 1
