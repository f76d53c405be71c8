import numpy as np
import pytest

from elsv.errors import CorruptFileError, InvalidInputError
from elsv.problem import Problem


def test_defaults_are_uniform_priors_and_rewards_of_one():
    problem = Problem(prior=[[1, 1], [2, 3]], horizon=5)
    assert problem.rewards.tolist() == [1, 1]
    assert problem.names == ("arm 1", "arm 2")
    assert Problem(rewards=[2.0], discount=0.9).prior.tolist() == [[1, 1]]


def test_toml_round_trip(tmp_path):
    problem = Problem(
        rewards=[0.8, 1 / 3, 1e-9],
        order="decreasing",
        horizon=50,
        prior=[[0.5, 2], [1e6, 3], [1, 1]],
        names=['20 "percent"\\', "zehn\tProzent", "ohne Rabatt – nichts"],
    )
    path = tmp_path / "discounts.toml"
    problem.save(path)
    assert Problem.load(path) == problem
    assert hash(Problem.load(path)) == hash(problem)
    discounted = Problem(rewards=[1], discount=0.99)
    discounted.save(path)
    assert Problem.load(path) == discounted
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"horizon": 5}, "rewards or prior"),
        ({"rewards": [], "horizon": 5}, "at least one arm"),
        ({"rewards": [1, -0.2], "horizon": 5}, "rewards must be positive, got -0.2 for arm 2"),
        ({"rewards": [1, float("nan")], "horizon": 5}, "got nan for arm 2"),
        ({"rewards": [1, float("inf")], "horizon": 5}, "got inf for arm 2"),
        ({"rewards": [[1]], "horizon": 5}, "1 dimension"),
        ({"rewards": "abc", "horizon": 5}, "rewards must be numbers"),
        ({"rewards": ["1", "2"], "horizon": 5}, "rewards must be numbers, got '1'"),
        ({"rewards": [True, 2], "horizon": 5}, "rewards must be numbers, got True"),
        ({"rewards": np.array([True, True]), "horizon": 5}, "rewards must be numbers"),
        ({"rewards": [[1, 2], [1]], "horizon": 5}, "rewards must be numbers"),
        ({"rewards": [None], "horizon": 5}, "rewards must be numbers"),
        ({"rewards": [10**400], "horizon": 5}, "rewards must be numbers up to 1e308, got .1000"),
        ({"rewards": [10**5000], "horizon": 5}, "rewards must be numbers up to 1e308"),
        ({"prior": [[1, "1"]], "horizon": 5}, "prior must be numbers, got '1'"),
        ({"prior": [[1, False]], "horizon": 5}, "prior must be numbers, got False"),
        ({"rewards": [1], "prior": [[1, 0]], "horizon": 5}, "prior must be positive, got 0 for arm 1"),
        ({"rewards": [1], "prior": [[1, 1], [1, 1]], "horizon": 5}, "one row"),
        ({"rewards": [1]}, "neither"),
        ({"rewards": [1], "horizon": 5, "discount": 0.9}, "both"),
        ({"rewards": [1], "horizon": 0}, "at least 1, got 0"),
        ({"rewards": [1], "horizon": 2.5}, "whole number"),
        ({"rewards": [1], "horizon": True}, "whole number"),
        ({"rewards": [1], "discount": 1.0}, "strictly between 0 and 1"),
        ({"rewards": [1], "discount": "x"}, "discount must be a number"),
        ({"rewards": [1], "horizon": 5, "order": "decresing"}, "did you mean 'decreasing'"),
        ({"rewards": [1], "horizon": 5, "names": ["a", "b"]}, "one entry"),
        ({"rewards": [1, 1], "horizon": 5, "names": ["a", "a"]}, "differ"),
        ({"rewards": [1, 1], "horizon": 5, "names": "ab"}, "names must be a list .*, got 'ab'"),
        ({"rewards": [1, 1], "horizon": 5, "names": 3}, "names must be a list .*, got 3"),
        ({"rewards": [1, 1], "horizon": 5, "names": {"a": 1, "b": 2}}, "names must be a list"),
        ({"rewards": [1, 1], "horizon": 5, "names": ["a", ["b"]]}, "names must be text, got .'b'"),
        ({"rewards": [1, 1], "horizon": 10**15 + 1}, "at most 1,000,000,000,000,000 pulls"),
        ({"rewards": [1, 1], "horizon": 10**5000}, "at most 1,000,000,000,000,000 pulls"),
        ({"rewards": [1, 1], "discount": 10**5000}, "strictly between 0 and 1"),
    ],
)
def test_bad_problems_are_refused_with_the_rule_and_the_value(arguments, words):
    with pytest.raises(InvalidInputError, match=words.replace("(", r"\(")):
        Problem(**arguments)


def test_files_that_are_missing_damaged_or_foreign(tmp_path):
    with pytest.raises(InvalidInputError, match="cannot read"):
        Problem.load(tmp_path / "missing.toml")
    path = tmp_path / "p.toml"
    path.write_text("rewards = [1,")
    with pytest.raises(CorruptFileError, match="not a TOML file"):
        Problem.load(path)
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(CorruptFileError):
        Problem.load(path)
    path.write_text("rewards = [1]\nhorizont = 5\n")
    with pytest.raises(InvalidInputError, match="did you mean 'horizon'"):
        Problem.load(path)


def test_a_problem_cannot_be_changed():
    source = np.array([1.0, 2.0])
    problem = Problem(rewards=source, horizon=5)
    source[0] = 7
    assert problem.rewards[0] == 1
    with pytest.raises(ValueError, match="read-only"):
        problem.rewards[0] = 3
    with pytest.raises(AttributeError):
        problem.horizon = 6


def test_writing_where_it_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InvalidInputError, match="cannot write"):
        Problem(rewards=[1], horizon=5).save(tmp_path / "file" / "p.toml")
