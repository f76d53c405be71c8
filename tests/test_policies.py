import numpy as np
import pytest

from elsv.choice import best_arm
from elsv.errors import InvalidInputError
from elsv.indices import INDEX_NAMES
from elsv.names import parse
from elsv.policies import Elsv, IndexPolicy, make_policy, policy_names
from elsv.problem import Problem
from elsv.state import State

ORDERED = Problem(rewards=[0.8, 0.9, 1.0], order="decreasing", horizon=40)
FREE = Problem(rewards=[0.8, 0.9, 1.0], horizon=40)
EXAMPLES = (
    *("ucb:scale=0.4", "bayes-ucb", "thompson", "thompson:order=false", "thompson:belief=rejection"),
    *("gittins:discount=0.99", "elsv:index=gittins,discount=0.99,depth=1"),
    *("elsv:index=ucb,scale=1,count_prior=true,weight=0.4", "elsv:index=ucb"),
    *("elsv:index=gittins,belief=rejection,draws=100", "elsv:index=bayes-ucb,depth=2", "commit:depth=2"),
    *("block:blocks=1+3", "greedy", "greedy:order=false", "fixed:arm=2", "random"),
)


def play(problem, policy, instances=6, steps=12, seed=0):
    """Run a policy on a batch; return the arms, [steps, instances]."""
    rng, outcomes = np.random.default_rng(seed), np.random.default_rng(99)
    state, arms = State.initial(problem, (instances,)), []
    for t in range(1, steps + 1):
        arm = policy(state, t, rng)
        assert arm.shape == (instances,)
        assert arm.dtype == np.int64
        arms.append(arm)
        state = state.observe(arm, outcomes.random(instances) < 0.4)
    return np.array(arms)


@pytest.mark.parametrize("problem", [ORDERED, FREE], ids=["ordered", "free"])
@pytest.mark.parametrize("name", sorted({*EXAMPLES, *policy_names(FREE)}))
def test_every_policy_plays_batches_and_repeats(name, problem):
    first = play(problem, make_policy(name, problem))
    assert first.min() >= 0
    assert first.max() < 3
    assert (first == play(problem, make_policy(name, problem))).all()


@pytest.mark.parametrize("name", INDEX_NAMES)
def test_elsv_at_depth_1_without_an_order_is_the_index_policy_to_the_last_step(name):
    problem = Problem(rewards=[0.8, 0.9, 1.0], horizon=12)
    index = play(problem, make_policy(name, problem), instances=40)
    assert (index == play(problem, make_policy(f"elsv:index={name}", problem), instances=40)).all()


def test_an_arm_with_an_infinite_bonus_is_pulled_first_at_any_depth():
    for depth in (1, 3):
        arms = play(ORDERED, make_policy(f"elsv:index=ucb,depth={depth}", ORDERED))
        assert (arms[:3] == [[0], [1], [2]]).all()


def test_the_order_matters_only_where_it_is_used():
    """r = (.2, .3, .4), uniform arms in decreasing order: the first greedy step is a tie."""
    problem = Problem(rewards=[0.2, 0.3, 0.4], order="decreasing", horizon=40)
    state, rng = State.initial(problem), np.random.default_rng(0)
    assert make_policy("greedy", problem)(state, 1, rng) == 0
    assert make_policy("greedy:order=false", problem)(state, 1, rng) == 2
    increasing = Problem(rewards=[0.4, 0.3, 0.2], order="increasing", horizon=40)
    assert make_policy("greedy", increasing)(state, 1, rng) == 1


def test_weight_multiplies_the_value():
    state, rng = State([3, 2, 1], [1, 4, 2]), np.random.default_rng(0)
    q = {
        w: make_policy(f"elsv:index=ucb,count_prior=true,weight={w}", ORDERED).scores(state, 10, rng)
        for w in (0, 1, 2)
    }
    np.testing.assert_allclose(q[2] - q[1], q[1] - q[0], atol=1e-12)
    greedy = make_policy("greedy", ORDERED).scores(state, 10, rng)
    np.testing.assert_allclose(q[0], greedy, atol=1e-12)


def test_a_discount_of_the_problem_is_the_default_of_gittins():
    state, rng = State([3, 2, 1], [1, 4, 2]), np.random.default_rng(0)
    problem = Problem(rewards=[1, 1, 1], discount=0.9)
    own = make_policy("gittins", problem).scores(state, 8, rng)
    named = make_policy("gittins:discount=0.9", FREE).scores(state, 8, rng) / FREE.rewards
    np.testing.assert_allclose(own, named, atol=3e-6)


def test_a_plain_function_is_a_policy():
    def alternate(state, step, rng):
        return step % 3

    arms = play(FREE, make_policy(alternate, FREE), steps=3)
    assert arms[:, 0].tolist() == [1, 2, 0]
    built = make_policy("greedy", FREE)
    assert make_policy(built, FREE) is built
    for wrong in (lambda s, t, r: 3, lambda s, t, r: 0.5, lambda s, t, r: "a", lambda s, t, r: []):
        with pytest.raises(InvalidInputError, match="whole numbers from 0 to 2"):
            make_policy(wrong, FREE)(State.initial(FREE), 1, np.random.default_rng(0))
    with pytest.raises(InvalidInputError, match="name or a function"):
        make_policy(7, FREE)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("gitins", "did you mean 'gittins'"),
        ("ucb:scale", "NAME"),
        (":scale=1", "NAME"),
        ("ucb:scale=1,scale=2", "twice"),
        ("ucb:skale=1", "did you mean 'scale'"),
        ("ucb:scale=big", "must be a number"),
        ("ucb:count_prior=maybe", "true or false"),
        ("ucb:scale=-1", "scale"),
        ("random:seed=1", "no parameters"),
        ("fixed:arm=4", "from 1 to 3, got 4"),
        ("fixed:arm=0", "from 1 to 3, got 0"),
        ("elsv:depth=0", "depth"),
        ("elsv:index=nothing", "unknown index"),
        ("elsv:belief=guess", "unknown belief"),
        ("elsv:draws=100", "belief=rejection"),
        ("gittins:discount=1", "discount"),
        ("optimal", "optimal:file=FILE"),
        ("block:blocks=a", "joined by"),
    ],
)
def test_bad_names_are_refused(name, words):
    with pytest.raises(InvalidInputError, match=words):
        make_policy(name, ORDERED)


def test_names_have_one_form():
    assert str(parse(" ucb: scale = 0.4 , count_prior=true ")) == "ucb:scale=0.4,count_prior=true"
    assert str(parse("greedy")) == "greedy"


def test_scores_decide():
    state, rng = State([3, 2, 1], [1, 4, 2]), np.random.default_rng(0)
    for name in ("gittins", "elsv"):
        policy = make_policy(name, ORDERED)
        assert isinstance(policy, Elsv | IndexPolicy)
        assert policy(state, 8, rng) == best_arm(policy.scores(state, 8, rng))
