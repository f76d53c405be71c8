"""A policy's digest: the same in another process, another for another policy, and honest about the rest."""

import functools
import itertools
import logging
import os
import random
import subprocess
import sys
import threading
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

from elsv.indices import make_index
from elsv.policies import Fixed, make_policy
from elsv.policies.library import Elsv, IndexPolicy
from elsv.policies.registry import policy_names
from elsv.problem import Problem
from elsv.simulation.store import UnknownIdentityError, digest_of
from elsv.state import State

PROBLEM = Problem([0.8, 0.9, 1.0], order="decreasing", horizon=12)
THRESHOLD = 0.5
log = logging.getLogger("mine")


def closure(threshold):
    return lambda state, step, rng: (state.mean > threshold).argmax(axis=-1)


def default(threshold):
    def policy(state, step, rng, level=threshold):
        return (state.mean > level).argmax(axis=-1)

    return policy


def keyword(threshold):
    def policy(state, step, rng, *, level=threshold):
        return (state.mean > level).argmax(axis=-1)

    return policy


def by_global(threshold):
    space = {"THRESHOLD": threshold, "__name__": "somewhere"}
    exec("def policy(state, step, rng):\n    return (state.mean > THRESHOLD).argmax(axis=-1)", space)
    return space["policy"]


def by_helper(threshold):
    space = {"LEVEL": threshold, "__name__": "somewhere"}
    exec("def level(): return LEVEL\npolicy = lambda state, step, rng: state.mean > level()", space)
    return space["policy"]


def by_inner(threshold):
    space = {"THRESHOLD": threshold, "__name__": "somewhere"}
    exec("def policy(s, t, rng):\n    def inner(): return THRESHOLD\n    return inner()", space)
    return space["policy"]


def constant(threshold):
    return eval(f"lambda state, step, rng: state.mean > {threshold}")


def partial(threshold):
    return functools.partial(default(0.0), level=threshold)


def array(threshold):
    return closure(np.full(3, threshold))


class Plain:
    def __init__(self, threshold):
        self.threshold = threshold

    def __call__(self, state, step, rng):
        return (state.mean > self.threshold).argmax(axis=-1)


class Slotted:
    __slots__ = ("threshold",)

    def __init__(self, threshold):
        self.threshold = threshold

    def __call__(self, state, step, rng):
        return 0


@dataclass(frozen=True)
class Frozen:
    threshold: float
    others: list = field(default_factory=list)

    def __call__(self, state, step, rng):
        return 0


def method(threshold):
    return Plain(threshold).__call__


def by_class(threshold):
    body = {"threshold": threshold, "__call__": Plain.__call__, "__module__": __name__}
    return type("Made", (), body)()


def cached(threshold):
    return functools.lru_cache(default(threshold))


def from_elsv(threshold):
    return IndexPolicy(PROBLEM, make_index("ucb", scale=threshold))


def from_elsv_with_a_function(threshold):
    return IndexPolicy(PROBLEM, make_index(closure(threshold)))


def by_fixed_arm(threshold):
    return Fixed(PROBLEM, int(4 * threshold) - 1)


def nested(threshold):
    return closure([{"a": (threshold, {"b": deque([threshold])})}])


MAKERS = [
    closure, default, keyword, by_global, by_helper, by_inner, constant, partial, array, Plain, Slotted,
    Frozen, method, by_class, cached, from_elsv, from_elsv_with_a_function, by_fixed_arm, nested,
]  # fmt: skip


@pytest.mark.parametrize("make", MAKERS)
def test_the_same_again_and_another(make):
    assert digest_of(make(0.5)) == digest_of(make(0.5))
    assert digest_of(make(0.5)) != digest_of(make(0.75))


def test_all_makers_differ():
    found = [digest_of(make(0.5)) for make in MAKERS]
    assert len(set(found)) == len(found)


def test_types_and_signs_count():
    values = [1, 1.0, True, "1", b"1", None, 0.0, -0.0, (1,), [1], {1}, frozenset({1}), {1: 1}, np.int64(1)]
    values += [np.ones(1), np.ones(1, np.float32), np.ones((1, 1)), "ab", ("a", "b"), Path("ab"), range(1)]
    for one, other in itertools.combinations(values, 2):
        assert digest_of(closure(one)) != digest_of(closure(other)), (one, other)


def test_a_place_does_not_count():
    one, other = {}, {}
    exec("def policy(state, step, rng): return 0", one)
    exec("\n\n\ndef policy(state, step, rng): return 0", other)
    assert digest_of(one["policy"]) == digest_of(other["policy"])


@pytest.mark.parametrize("name", ["optimal", *policy_names(PROBLEM)])
def test_policies_by_name(name, tmp_path):
    if name == "optimal":
        from elsv.exact import solve

        found = set()
        for rewards in ([0.8, 0.9, 1.0], [0.1, 0.2, 1.0]):
            problem = Problem(rewards, order="decreasing", horizon=4)
            solve(problem, save=tmp_path / "best")
            found.add(digest_of(make_policy(f"optimal:file={tmp_path / 'best'}", problem)))
        assert len(found) == 2
        return
    policy = make_policy(name, PROBLEM)
    before = digest_of(policy)
    state = State.initial(PROBLEM)
    policy(state, 1, np.random.default_rng(0))  # what it keeps to save time does not count
    assert digest_of(policy) == before == digest_of(make_policy(name, PROBLEM))
    assert digest_of(make_policy(name, Problem([1.0, 1.0, 2.0], order="decreasing", horizon=12))) != before


def test_a_subclass_is_its_code():
    def subclass(arm):
        class Mine(Elsv):
            def scores(self, state, step, rng):
                return np.eye(3)[arm]

        made = make_policy("elsv", PROBLEM)
        return Mine(made.problem, made.value, made.belief)

    assert digest_of(subclass(0)) == digest_of(subclass(0))
    assert len({digest_of(subclass(0)), digest_of(subclass(1)), digest_of(make_policy("elsv", PROBLEM))}) == 3


def test_functions_that_name_themselves_and_each_other():
    def make(stop):
        def even(n):
            return n == stop or odd(n - 1)

        def odd(n):
            return n != stop and even(n - 1)

        return even

    assert digest_of(make(0)) == digest_of(make(0)) != digest_of(make(1))


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: np.random.default_rng(1), "a Generator"),
        (lambda: random.Random(1), "a Random"),
        (lambda: random.random, "a Random"),
        (threading.Lock, "lock"),
        (lambda: (k for k in range(3)), "generator"),
        (lambda: open(os.devnull), "TextIOWrapper"),  # noqa: SIM115
    ],
)
def test_what_cannot_be_told_is_said(make, words):
    held = make()
    for policy in (closure([held]), Plain(held)):
        with pytest.raises(UnknownIdentityError, match=words):
            digest_of(policy)
    if hasattr(held, "close"):
        held.close()


def test_an_object_that_cannot_be_looked_at():
    class Odd:
        @property
        def py_func(self):
            raise ZeroDivisionError

        def __call__(self, state, step, rng):
            return 0

    with pytest.raises(UnknownIdentityError, match="ZeroDivisionError"):
        digest_of(Odd())


def test_a_logger_is_its_name():
    digest_of(lambda state, step, rng: log.info("pull"))


def test_what_is_installed_is_its_name():
    digest_of(lambda state, step, rng: np.argmax(np.add(state.mean, 1), axis=-1))
    argmax, add, sqrt = np.argmax, np.add, __import__("math").sqrt
    digest_of(lambda state, step, rng: argmax(add(state.mean, sqrt(step))))


MODULE = """
from dataclasses import dataclass
import numpy as np, helper

@dataclass
class Mine:
    names: frozenset
    def __call__(self, state, step, rng):
        return helper.pick(state) if step in {1, 2, 3, "a", "b"} else np.argmax(state.mean)

policy = Mine(frozenset({"a", "b", "c", "d"}))
"""


def test_another_process_finds_the_same_and_sees_a_helper_change(tmp_path):
    (tmp_path / "mine.py").write_text(MODULE)

    def run(seed):
        program = "import mine; from elsv.simulation.store import digest_of; print(digest_of(mine.policy))"
        environment = os.environ | {"PYTHONHASHSEED": str(seed)}
        path = os.pathsep.join([str(tmp_path), str(Path(__import__("elsv").__file__).parent.parent)])
        done = subprocess.run(
            [sys.executable, "-c", program],
            env=environment | {"PYTHONPATH": path},
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout

    (tmp_path / "helper.py").write_text("def pick(state): return 0\n")
    assert len({run(seed) for seed in range(3)}) == 1
    before = run(0)
    (tmp_path / "helper.py").write_text("def pick(state): return 1 + 0\n")
    assert run(0) != before
