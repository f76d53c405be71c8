"""Segments in live use: the bandit, explanations, `elsv check` and `elsv decide`."""

import json

import pytest

from commands import elsv
from elsv import Bandit, InvalidInputError, Problem, State, check
from test_segments import NAMES, shop


def bandit(**more):
    return Bandit(shop(structure={"grid": [2, 2]}, **more), seed=1)


def test_the_bandit_asks_who_has_come():
    live = bandit()
    arm = live.choose(segment="returning")
    assert arm in (2, 3)
    live.observe(arm, success=True)
    assert live.choose(segment=1) in (0, 1)
    assert repr(live) == "Bandit(4 arms in 2 segments, 'plan', step 2)"
    with pytest.raises(InvalidInputError, match="say whose turn it is, segment='new'; known: new, returning"):
        live.choose()
    with pytest.raises(InvalidInputError, match="unknown segment 'nwe': did you mean 'new'"):
        live.choose(segment="nwe")
    with pytest.raises(InvalidInputError, match="the problem has no segments, got segment 'new'"):
        Bandit(Problem([1, 1], horizon=3)).choose(segment="new")


def test_what_was_seen_of_segments_survives_a_restart(tmp_path):
    live = bandit(segment_shares=None)
    for name, success in (("new", True), ("new", False), ("returning", True)):
        live.observe(live.choose(segment=name), success)
    live.save(tmp_path / "shop.json")
    again = Bandit.load(tmp_path / "shop.json")
    assert again.problem == live.problem
    assert again.explain(segment="new") == live.explain(segment="new")
    assert again.explain(segment="new").share == pytest.approx(3 / 5)


@pytest.mark.parametrize("policy", ["plan", "elsv", "thompson", "ids", "gittins", "fixed:arm=2+4"])
def test_explanations_are_about_the_arms_on_offer(policy):
    live = Bandit(shop(), policy, seed=3)
    for g, name in enumerate(("new", "returning")):
        told = live.explain(segment=name)
        assert [a.arm for a in told.arms] == [2 * g, 2 * g + 1]
        assert told.chosen.arm == told.arm == live.choose(segment=name)
        assert sum(a.best for a in told.arms) == pytest.approx(1, abs=1e-3)
        assert told.segment == name
        text = str(told)
        assert f"step 1, {name} ({70 if g == 0 else 30} % of customers): pull arm {told.arm + 1}" in text
        assert NAMES[3 - 2 * g] not in text
        assert name in told._repr_html_()
        assert f"segment='{name}'" in repr(told)
        values = told.to_dict()
        assert (values["segment"], values["share"]) == (name, [0.7, 0.3][g])
    with pytest.raises(InvalidInputError, match="known: new, returning"):
        live.explain()


def test_without_segments_explanations_are_as_they_were():
    values = Bandit(Problem([0.5, 1.0], horizon=9)).explain().to_dict()
    assert "segment" not in values
    assert "share" not in values


def test_an_explanation_draws_itself():
    pytest.importorskip("matplotlib")
    axes = bandit().explain(segment="returning").plot()
    assert next(text.get_text() for text in axes.get_yticklabels()).startswith("returning")


def test_check_says_who_comes():
    found = check(shop())
    assert "segments  new (70 % of customers): new: 10 %, new: none;" in str(found)
    assert found.to_dict()["segments"].startswith("new (70 %")
    assert "Segments: new" in found.svg()
    plain = check(Problem([1, 1], horizon=3))
    assert "segments" not in plain.to_dict()
    assert "segments" not in str(plain)


def test_a_problem_shows_its_segments():
    assert "Segments: new (70 % of customers)" in shop()._repr_html_()


@pytest.fixture
def file(tmp_path):
    shop(structure={"grid": [2, 2]}).save(tmp_path / "shop.toml")
    return tmp_path / "shop.toml"


def test_decide_on_the_command_line(file):
    one = elsv("decide", file, "--segment", "returning").stdout
    assert "step 1, returning (30 % of customers): pull arm" in one
    assert elsv("decide", file).stdout.count("step 1, ") == 2
    told = json.loads(elsv("decide", file, "--segment", 2, "--json").stdout)
    assert told["segment"] == "returning"
    assert [arm["arm"] for arm in told["arms"]] == [3, 4]
    all_of_them = json.loads(elsv("decide", file, "--json").stdout)
    assert [one["segment"] for one in all_of_them["segments"]] == ["new", "returning"]


def test_decide_names_the_segments_that_there_are(file, tmp_path):
    assert "known: new, returning" in elsv("decide", file, "--segment", "old", code=2).stderr
    Problem([1, 1], horizon=3).save(tmp_path / "plain.toml")
    assert "has no segments" in elsv("decide", tmp_path / "plain.toml", "--segment", "new", code=2).stderr


def test_evidence_is_that_of_all_segments():
    live = Bandit(shop(structure={"grid": [2, 2]}, horizon=90), state=State([1, 9, 1, 9], [9, 1, 9, 1]))
    assert (
        live.explain(segment="new").evidence == live.explain(segment="returning").evidence == live.evidence()
    )
