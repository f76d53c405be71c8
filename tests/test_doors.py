"""What is bound to one problem is refused by another; no kernel meets a shape that it was not made for."""

import numpy as np
import pytest

import elsv
from elsv import Problem, State
from elsv.beliefs import Chain, Independent
from elsv.choice import best_arm
from elsv.errors import CorruptFileError, InvalidInputError
from elsv.exact import OptimalPolicy, evaluate, solve
from elsv.policies import Commit, Elsv, Fixed, Greedy, IndexPolicy, Random, Thompson, make_policy
from elsv.policies.layers import StateByState
from elsv.policies.optimal import Actions, pack
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


class OwnMean:
    """A mean and draws by which the last arm is always best."""

    def mean(self, state, rng=None):
        return np.linspace(0.1, 0.9, state.arms) + np.zeros(state.alpha.shape)

    def draw(self, state, rng):
        return self.mean(state)


class OwnIndependent(OwnMean, Independent):
    pass


class OwnChain(OwnMean, Chain):
    pass


@pytest.mark.parametrize("belief", [OwnIndependent(), OwnChain("decreasing")], ids=["independent", "chain"])
@pytest.mark.parametrize("make", [Greedy, Thompson, lambda p, b: Commit(p, CommitValue(p, b), b, 2)])
def test_a_belief_with_a_mean_of_its_own_is_evaluated_by_it(make, belief):
    policy = make(THREE, belief)
    own, asked = evaluate(THREE, [policy, StateByState(policy)])
    assert own.value == pytest.approx(asked.value, abs=1e-12)


def test_a_belief_with_a_mean_of_its_own_does_not_have_the_weights_of_its_parent():
    class Own(elsv.structure.Monotone):
        def belief(self):
            return OwnChain("decreasing")

    with pytest.raises(InvalidInputError, match="needs the weight W"):
        solve(Problem([0.4, 0.7, 1.0], horizon=3, structure=Own("decreasing")))


@pytest.mark.parametrize("depth", [1, 2])
@pytest.mark.parametrize("kind", [SeparableValue, CommitValue, BlockCommitValue])
def test_a_value_with_a_call_of_its_own_is_searched_by_it(kind, depth):
    class Own(kind):
        def __call__(self, state, step):
            return 5.0 * state.alpha[..., 2]

    def plain(state, step):
        return 5.0 * state.alpha[..., 2]

    value = Own(THREE, elsv.make_index("gittins")) if kind is SeparableValue else Own(THREE)
    policy = (Elsv if kind is SeparableValue else Commit)(THREE, value, THREE.belief, depth)
    start = State.initial(THREE)
    expected = elsv.lookahead(THREE, start, 1, plain, THREE.belief, depth)
    assert policy.scores(start, 1, RNG).tolist() == expected.tolist()
    own, asked = evaluate(THREE, [policy, StateByState(policy)])
    assert own.value == pytest.approx(asked.value, abs=1e-12)


CHOICES = {
    "no such arm": lambda size: np.full(size, 3),
    "negative": lambda size: np.full(size, -1),
    "too few": lambda size: np.zeros(1, int),
    "no whole numbers": lambda size: np.zeros(size),
    "chances of two arms": lambda size: np.full((2, size), 0.5),
    "chances above one": lambda size: np.full((3, size), 0.5),
    "NaN": lambda size: np.full((3, size), np.nan),
}


@pytest.mark.parametrize("choose", CHOICES.values(), ids=CHOICES)
def test_a_policy_on_layers_that_chooses_no_arm_is_refused(choose):
    class OnLayers:
        reach = 0

        def decide(self, sweeps, layer):
            return choose(layer.size)

    with pytest.raises(InvalidInputError, match="policy on layers must give each"):
        evaluate(THREE, OnLayers())


@pytest.mark.parametrize("arms", [np.full(1, 3), np.zeros(2)], ids=["no such arm", "too many"])
def test_optimal_arms_that_are_none_are_refused(arms):
    policy = OptimalPolicy(THREE, Actions(THREE, {step: pack(arms) for step in range(1, 9)}))
    for run in (lambda: policy(State.initial(THREE), 1), lambda: evaluate(THREE, policy)):
        with pytest.raises(CorruptFileError, match="not those of this problem"):
            run()


def test_exact_answers_refuse_more_arms_than_a_byte_can_name():
    many = Problem(np.ones(257), horizon=1)
    for run in (
        lambda: solve(many, keep=1),
        lambda: evaluate(many, "fixed:arm=257"),
        lambda: evaluate(many, "greedy"),
        lambda: evaluate(many, "thompson"),
    ):
        with pytest.raises(InvalidInputError, match="at most 256 arms"):
            run()


ONE = np.ones((1, 4)) / 4
POINTS = {
    "arms": (np.full((1, 4, 2), 0.5), ONE),
    "weights": (np.full((1, 4, 3), 0.5), np.ones((1, 5))),
    "none": (np.empty((1, 0, 3)), np.empty((1, 0))),
    "outside": (np.full((1, 4, 3), 1.5), ONE),
    "NaN": (np.full((1, 4, 3), np.nan), ONE),
    "negative": (np.full((1, 4, 3), 0.5), -ONE),
}


@pytest.mark.parametrize("points", POINTS.values(), ids=POINTS)
def test_points_that_a_search_cannot_use_are_refused(points):
    class Pointed(Independent):
        def points(self, state, count):
            return points

        def mean(self, state, rng=None):
            return state.mean

        some_points = arm_points = None

    with pytest.raises(InvalidInputError, match="points of a belief must"):
        Plan(THREE, belief=Pointed())(State.initial(THREE), 1)


class Narrow:
    """Means and draws of two arms, however many there are."""

    def mean(self, state, rng=None):
        return np.full((*state.shape, 2), 0.5)

    draw = mean


class NoDraws(Independent):
    draw = Narrow.draw
    points = some_points = arm_points = None


class Misled(elsv.structure.Free):
    def belief(self):
        return Narrow()


def test_means_and_draws_of_another_width_are_refused():
    start, misled = State.initial(THREE), Problem([0.4, 0.7, 1.0], horizon=8, structure=Misled())
    for run, problem in (
        (lambda: Plan(THREE, belief=Narrow())(start, 1), "one mean for each arm"),
        (lambda: Plan(THREE, belief=NoDraws())(start, 1), "draw one mean for each arm"),
        (lambda: Plan(THREE, belief=5)(start, 1), "a belief must have mean"),
        (lambda: elsv.Bandit(misled, "random").explain(), "one mean for each arm"),
    ):
        with pytest.raises(InvalidInputError, match=problem):
            run()


def test_weights_of_a_wrong_shape_are_refused():
    class Weighed(Chain):
        def layer_weights(self, arms, lattice, made, workers):
            return np.ones(3)

    class Own(elsv.structure.Monotone):
        def belief(self):
            return Weighed("decreasing")

    with pytest.raises(InvalidInputError, match="layer_weights of a belief must be a number for each state"):
        solve(Problem([0.4, 0.7, 1.0], horizon=3, structure=Own("decreasing")))


@pytest.mark.parametrize("scores", [[], 1.0, np.empty((4, 0))])
def test_scores_without_arms_are_refused(scores):
    with pytest.raises(InvalidInputError, match="arms as their last axis"):
        best_arm(scores)


def test_a_belief_with_a_mean_of_its_own_is_explained_by_it():
    class Own(elsv.structure.Monotone):
        def belief(self):
            return OwnChain("decreasing")

    bandit = elsv.Bandit(Problem([0.4, 0.7, 1.0], horizon=3, structure=Own("decreasing")), "random")
    assert [arm.mean for arm in bandit.explain().arms] == pytest.approx([0.1, 0.5, 0.9])
