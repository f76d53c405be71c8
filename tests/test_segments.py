"""Segments: who comes and what is on offer to them."""

import numpy as np
import pytest

from elsv import Bandit, InvalidInputError, Problem
from elsv.segments import Segments
from elsv.state import State

NAMES = ["new: 10 %", "new: none", "returning: 10 %", "returning: none"]


def shop(**more):
    given = {
        "rewards": [0.9, 1.0, 0.9, 1.0],
        "horizon": 20,
        "names": NAMES,
        "segments": {"new": NAMES[:2], "returning": NAMES[2:]},
        "segment_shares": [0.7, 0.3],
    }
    return Problem(**given | more)


def test_segments_are_values():
    segments = shop().segments
    assert segments == shop(segments={"new": [1, 2], "returning": [4, 3]}).segments
    assert segments.names == ("new", "returning")
    assert segments.groups == ((0, 1), (2, 3))
    assert segments.of_arm.tolist() == [0, 0, 1, 1]
    assert segments.count == 2
    assert segments.number("returning") == segments.number(2) == 1
    assert segments.masks[0].tolist() == [True, True, False, False]


def test_without_segments_one_holds_all_arms():
    plain = Problem(rewards=[1, 1, 1], horizon=3)
    everyone = plain.segments
    assert (everyone.names, everyone.turns) == ((), (None,))
    assert shop().segments.names == ("new", "returning")
    assert shop().segments.turns == tuple(range(shop().segments.count))
    assert everyone.count == 1
    assert everyone.groups == ((0, 1, 2),)
    assert everyone.number(None) == 0
    assert everyone.chances(np.zeros((2, 3))).tolist() == [[1], [1]]
    assert "segments" not in plain.to_dict()
    assert Problem.from_dict(plain.to_dict()).segments == plain.with_prior([[2, 1]] * 3).segments == everyone
    with pytest.raises(InvalidInputError, match="the problem has no segments, got segment 1; leave it out"):
        everyone.number(1)


def test_segments_need_no_names():
    segments = shop(segments=[[1, 4], [2, 3]]).segments
    assert segments.names == ("segment 1", "segment 2")
    assert segments.of_arm.tolist() == [0, 1, 1, 0]


def test_known_shares_do_not_change():
    assert shop().segments.chances(np.ones((5, 4))).tolist() == [[0.7, 0.3]] * 5
    assert shop(segment_shares={"returning": 0.3, "new": 0.7}).segments.shares == (0.7, 0.3)


def test_shares_are_learnt_from_who_comes():
    segments = shop(segment_shares=None).segments
    assert segments.chances(np.zeros(4)).tolist() == [0.5, 0.5]
    assert segments.chances([[2, 1, 0, 0], [0, 0, 0, 1]]).tolist() == [[4 / 5, 1 / 5], [1 / 3, 2 / 3]]
    asked = shop(segment_shares=None, segment_prior=[3, 1], prior=[[0.5, 1.7]] * 4)
    assert asked.segments.chances(np.zeros(4)).tolist() == [0.75, 0.25]
    seen = State.initial(asked).observe(3, True).observe(3, False)
    assert asked.segments.chances_in(seen, asked).tolist() == [0.5, 0.5]


@pytest.mark.parametrize("more", [{}, {"segments": [[1, 2], [3, 4]]}, {"segment_shares": None}])
@pytest.mark.parametrize("order", [None, "decreasing"])
def test_round_trips(tmp_path, more, order):
    known = None if order is None else {"order": order}
    problem = shop(structure=known, **more)
    problem.save(tmp_path / "shop.toml")
    assert Problem.load(tmp_path / "shop.toml") == problem
    assert Problem.load(tmp_path / "shop.toml").segments == problem.segments
    assert Problem.from_dict(problem.to_dict()) == problem == eval(repr(problem))
    assert Segments.from_dict(problem.to_dict(), NAMES) == problem.segments
    assert problem.with_horizon(5).segments == problem.segments
    bandit = Bandit(problem, "greedy")
    bandit.save(tmp_path / "bandit.json")
    assert Bandit.load(tmp_path / "bandit.json").problem == problem


def test_a_learnt_share_keeps_its_prior(tmp_path):
    problem = shop(segment_shares=None, segment_prior=[2, 1])
    problem.save(tmp_path / "shop.toml")
    assert Problem.load(tmp_path / "shop.toml").segments.share_prior == (2.0, 1.0)
    again = shop(segments=problem.segments, segment_shares=None)
    assert again == problem
    assert shop(segments=problem.segments).segments.shares == (0.7, 0.3)


def test_a_table_in_toml(tmp_path):
    text = (
        "rewards = [0.9, 1.0, 0.9, 1.0]\nhorizon = 20\nsegment_shares = [0.7, 0.3]\n"
        "[segments]\nnew = [1, 2]\nreturning = [3, 4]\n"
    )
    (tmp_path / "shop.toml").write_text(text)
    assert Problem.load(tmp_path / "shop.toml").segments == shop().segments


def test_without_segments_nothing_is_written():
    assert "segment" not in Problem(rewards=[1, 1], horizon=3).to_toml()


def test_words():
    assert shop().segments.describe(NAMES) == (
        "new (70 % of customers): new: 10 %, new: none; "
        "returning (30 % of customers): returning: 10 %, returning: none"
    )
    assert shop(segment_shares=None).segments.describe("abcd") == (
        "new: a, b; returning: c, d; shares learnt from who comes, equal at first"
    )
    assert (
        shop(segment_shares=None, segment_prior=[3, 1])
        .segments.describe("abcd")
        .endswith("at first 75 % / 25 %")
    )


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"segment_shares": [0.7, 0.4]}, r"segment_shares must sum to 1, got 0.7 \+ 0.4 = 1.1"),
        ({"segment_shares": [1.0, 0.0]}, "segment_shares must be positive, got 0 for segment 'returning'"),
        ({"segment_shares": [1.0]}, "one number for each of the 2 segments"),
        ({"segment_shares": {"new": 0.7}}, "got none for 'returning'"),
        ({"segment_shares": {"nwe": 0.7}}, "unknown segment 'nwe': did you mean 'new'"),
        ({"segment_shares": ["a", "b"]}, "segment_shares must be numbers"),
        ({"segment_prior": [1, 1]}, "either segment_shares"),
        ({"segments": [[1, 2], [2, 3, 4]]}, "got 'new: none' in 'segment 1' and 'segment 2'"),
        ({"segments": [[1, 2, 2], [3, 4]]}, "got 'new: none' twice in 'segment 1'"),
        ({"segments": [[1, 2], [3]]}, "got 'returning: none' in none"),
        ({"segments": [[1, 2], [3, 4, 5]]}, "number from 1 to 4, got 5"),
        ({"segments": {"new": ["new: 10%"]}}, "segment 'new' must name arms of the problem"),
        ({"segments": {"new": [1, 2, 3, 4], "old": []}}, "segment 'old' must have at least one arm"),
        ({"segments": {"": [1, 2, 3, 4]}}, "a segment must have a name"),
        ({"segments": []}, "at least one segment"),
        ({"segments": "new"}, "segments must be lists of arms"),
        ({"segments": {"new": "ab"}}, "must be a list of arms"),
        ({"segments": None}, "segment_shares needs segments"),
    ],
)
def test_what_is_wrong_is_said(more, message):
    with pytest.raises(InvalidInputError, match=message):
        shop(**more)


@pytest.mark.parametrize(
    ("segment", "message"),
    [
        ("nwe", "unknown segment 'nwe': did you mean 'new'"),
        (3, "a number from 1 to 2, got 3"),
        (0, "a number from 1 to 2, got 0"),
        (True, "got True"),
        (None, "say whose turn it is, segment='new'; known: new, returning"),
    ],
)
def test_a_segment_that_is_not_there(segment, message):
    with pytest.raises(InvalidInputError, match=message):
        shop().segments.number(segment)
