"""Many callers in one transaction: planned before or inside it, commits that threads share."""

import threading
from functools import partial

import pytest

from campaigns import Clock, shop
from elsv import Campaign
from elsv.campaign import UnknownCampaignError, log
from elsv.campaign.batches import DecisionRequest, UnknownDecisionError
from elsv.campaign.opening import (
    BegunOtherwiseError,
    OtherVersionError,
    begin_once,
    campaigns_of,
    change,
    open_store,
)
from elsv.campaign.records import Outcome
from elsv.stores.sharing import Pool, SharedCommits, run_together


def opened(path, policy="thompson", clock=None, **settings):
    return Campaign.open(
        path, "spring", shop(), policy=policy, seed=5, clock=clock or Clock(), window=100, **settings
    )


def settled(campaign, asked, plan=None, outcomes=()):
    (found,) = run_together(
        campaign.store, [lambda writing: campaign._batches.append(writing, asked, plan, outcomes)]
    )
    if isinstance(found, Exception):
        raise found
    return found


ASKED = [
    DecisionRequest(["a"]),
    DecisionRequest([None, None]),
    DecisionRequest(["a"], "k1"),
    DecisionRequest(["b"], "k2"),
    DecisionRequest(["b"], "k2"),
    DecisionRequest([None]),
]
OF_SEGMENTS = [
    DecisionRequest(["a"], None, "new"),
    DecisionRequest([None, None], None, "old"),
    DecisionRequest(["a"], None, "old"),  # another decision: other arms are on offer
    DecisionRequest(["a"], "k1", "new"),
    DecisionRequest([None], None, "2"),
]
SEGMENTS = {"order": None, "segments": {"new": [1, 2], "old": [3, 4]}, "segment_shares": [0.5, 0.5]}


@pytest.mark.parametrize(
    ("policy", "asked", "changes", "repeated"),
    [
        *((policy, ASKED, {}, (0, 0, 0, 1, 0, 1, 0)) for policy in ("thompson", "greedy", "elsv")),
        ("thompson", OF_SEGMENTS, SEGMENTS, (0, 0, 0, 0, 1, 0)),
    ],
    ids=["thompson", "greedy", "elsv", "segments"],
)
def test_a_batch_is_decided_like_one_after_the_other(tmp_path, policy, asked, changes, repeated):
    """The same arms, probabilities and numbers, whether planned before or inside."""
    answers, turns = [], ["new", "old"] if changes else [None]
    for way in ("alone", "inside", "before"):
        given = {"policy": policy, "seed": 5, "clock": Clock(), "window": 100, "floor": 0.02}
        campaign = Campaign.open(tmp_path / f"{way}.db", "spring", shop(**changes), **given)
        for turn in turns:
            made = campaign.decide(count=12, segment=turn)
            campaign.rewards([(one, k % 2 == 0) for k, one in enumerate(made)])
        if way == "alone":
            found = [settled(campaign, [one])[0][0] for one in asked]
        else:
            found = settled(campaign, asked, campaign._batches.plan(asked) if way == "before" else None)[0]
        own = ("number", "arm", "propensity", "customer", "segment", "repeated")
        answers.append([[getattr(one, name) for name in own] for many in found for one in many])
        assert campaign.audit().exact
        campaign.close()
    assert answers[0] == answers[1] == answers[2]
    assert tuple(one[-1] for one in answers[0]) == repeated


def test_a_plan_that_was_overtaken_is_made_anew(tmp_path):
    first, second = opened(tmp_path / "shop.db"), opened(tmp_path / "shop.db")
    plan = first._batches.plan([DecisionRequest(["a"]), DecisionRequest([None])])
    overtaking = second.decide(customer="a")
    found, _ = settled(first, [DecisionRequest(["a"]), DecisionRequest([None])], plan)
    assert (found[0][0].id, found[0][0].repeated) == (overtaking.id, True)
    assert found[1][0].number == 2
    assert first.audit().exact


@pytest.mark.parametrize("event", ["outcome", "settings", "history"])
def test_a_plan_is_made_anew_after_any_event_of_another_process(tmp_path, event):
    """Nothing is appended that does not follow from the log as it is by then."""
    first, second = opened(tmp_path / "shop.db"), opened(tmp_path / "shop.db")
    waiting = second.decide(count=3)
    plan = first._batches.plan([DecisionRequest([None])])
    if event == "outcome":
        second.rewards([(decision.id, False) for decision in waiting])
    elif event == "settings":
        Campaign.open(tmp_path / "shop.db", "spring", floor=0.1)
    else:
        (tmp_path / "history.csv").write_text("arm,successes,failures\n1,0,50\n")
        second.import_outcomes(tmp_path / "history.csv")
    (made,), _ = settled(first, [DecisionRequest([None])], plan)
    fresh = opened(tmp_path / "shop.db")
    assert plan.rows[0].propensities != log_row(fresh).propensities
    assert made[0].propensity == log_row(fresh).propensity
    assert first.audit().exact


def log_row(campaign):
    """The latest decision as the log has it."""
    with campaign.store.reading() as reading:
        return max(log.find(reading, "spring").decisions_where("number", range(99)))


def test_what_is_due_expires_before_a_plan(tmp_path):
    clock = Clock()
    campaign = opened(tmp_path / "shop.db", clock=clock, sticky="open")
    decision = campaign.decide("a")
    plan = campaign._batches.plan([DecisionRequest(["a"])])
    clock.pass_(200)
    (again,), _ = settled(campaign, [DecisionRequest(["a"])], plan)
    assert again[0].id == decision.id  # at the time of the plan it was open
    later = campaign._batches.plan([DecisionRequest(["a"])])
    assert campaign.audit().expirations == 1
    assert later.decisions[0][0].id != decision.id
    (made,), _ = settled(campaign, [DecisionRequest(["a"])], later)
    assert made == later.decisions[0]
    assert campaign.audit().exact


def test_outcomes_are_all_or_none_for_each_request(tmp_path):
    campaign = opened(tmp_path / "shop.db")
    first, second = campaign.decide(count=2)
    decisions, receipts = settled(
        campaign,
        [DecisionRequest([None])],
        None,
        [[Outcome(first.id, True)], [Outcome(second.id, True), Outcome("nobody", True)]],
    )
    assert len(decisions) == 1
    assert receipts[0][0].status == "recorded"
    assert isinstance(receipts[1], UnknownDecisionError)
    assert campaign.audit().rewards == 1


def test_work_that_fails_is_undone_alone(tmp_path):
    campaign = opened(tmp_path / "shop.db")

    def broken(writing):
        campaign._batches.append(writing, [DecisionRequest([None])])
        raise ValueError("on purpose")

    def works(writing):
        return campaign._batches.append(writing, [DecisionRequest([None])])[0]

    found = run_together(campaign.store, [works, broken, works])
    assert isinstance(found[1], ValueError)
    assert [found[0][0][0].number, found[2][0][0].number] == [1, 2]
    assert campaign.audit().exact


def test_threads_share_commits_and_get_their_own_answers(tmp_path):
    campaigns = [opened(tmp_path / "shop.db") for _ in range(8)]
    commits, found = SharedCommits(campaigns[0].store, most=3), {}

    def run(k):
        for n in range(10):
            work = partial(campaigns[k]._batches.append, requests=[DecisionRequest([f"c-{k}-{n}"])])
            found[k, n] = commits.run(work)[0][0][0]

    threads = [threading.Thread(target=run, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(one.number for one in found.values()) == list(range(1, 81))
    assert all(one.customer == f"c-{k}-{n}" for (k, n), one in found.items())
    assert campaigns[0].audit().exact
    with pytest.raises(ZeroDivisionError):
        commits.run(lambda writing: 1 / 0)


def test_a_pool_that_writes_by_another_connection(tmp_path):
    writer = open_store(tmp_path / "shop.db")
    store = Pool(lambda: open_store(tmp_path / "shop.db"), 2, 1.0, writer)
    campaign = Campaign.open(store, "spring", shop(), policy="greedy")
    campaign.reward(campaign.decide().id, success=True)
    assert campaign.status().decided == 1
    assert [one.to_dict()["phase"] for one in campaigns_of(store)] == ["running"]
    store.close()
    writer.close()


def test_begun_once_and_changed_by_version(tmp_path):
    store = open_store(tmp_path / "shop.db")
    given = {"policy": "greedy", "floor": 0.01}
    assert begin_once(store, "spring", shop(), 3, given, 1.0)
    assert not begin_once(store, "spring", shop(), None, given, 2.0)
    settings, version = change(store, "spring", {"horizon": 900, "control": "full price"}, 3.0, expected=1)
    assert (settings.horizon, settings.control, version) == (900, 3, 2)
    assert not begin_once(store, "spring", shop(), 3, given, 4.0)
    for problem, seed, other in (
        (shop(301), 3, given),
        (shop(rewards=[0.6, 0.7, 0.85, 1.1]), 3, given),
        (shop(), 4, given),
        (shop(), 3, {"policy": "greedy"}),
    ):
        with pytest.raises(BegunOtherwiseError, match="something else"):
            begin_once(store, "spring", problem, seed, other, 5.0)
    with pytest.raises(OtherVersionError, match="version 1"):
        change(store, "spring", {"floor": 0.0}, 6.0, expected=1)
    assert change(store, "spring", {"floor": 0.01}, 7.0) == (settings, 2)
    with pytest.raises(UnknownCampaignError):
        change(store, "autumn", {"floor": 0.0}, 8.0)
    campaign = Campaign.open(store, "spring")
    campaign.decide()
    with pytest.raises(ValueError, match="only grow"):
        change(store, "spring", {"horizon": 800}, 9.0)
    assert campaign.version == 2
    assert campaign.audit().exact
    campaign.close()


@pytest.mark.parametrize(
    ("policy", "arms", "propensities"),
    [
        ("elsv", "012200001102010021121012222222112220112212100221", [8.0] * 6),
        ("plan", "112110000100000011000000100000000000000000000000", [8.0] * 6),
        (
            "thompson",
            "101011031002010022001010122211000202201010122010",
            [2.74769, 3.405058, 2.564807, 2.520458, 2.461892, 2.596166],
        ),
    ],
)
def test_the_same_seed_gives_the_same_decisions_for_ever(tmp_path, policy, arms, propensities):
    campaign = opened(tmp_path / "shop.db", policy)
    found, sums = "", []
    for _ in propensities:
        made = campaign.decide(count=8)
        found += "".join(str(decision.arm) for decision in made)
        sums.append(sum(decision.propensity for decision in made))
        campaign.rewards([(one, (7 * one.number + 3 * one.arm) % 5 < 2) for one in made[:6]])
    assert found == arms
    assert sums == pytest.approx(propensities, abs=1e-6)
