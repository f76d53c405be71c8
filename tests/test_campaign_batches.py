"""Many callers in one transaction: planned before or inside it, commits that threads share."""

import threading
from functools import partial

import pytest

from campaigns import Clock, shop
from elsv import Campaign
from elsv.campaign import UnknownCampaignError
from elsv.campaign.batches import Asked, UnknownDecisionError
from elsv.campaign.changing import BegunOtherwiseError, OtherVersionError, begin_once, change
from elsv.campaign.listing import campaigns_of
from elsv.campaign.opening import open_store
from elsv.stores.base import StoreError
from elsv.stores.group_commit import SharedCommits, run_together
from elsv.stores.pool import Apart, Pool


def opened(path, policy="thompson", clock=None, **settings):
    return Campaign.open(
        path, "spring", shop(), policy=policy, seed=5, clock=clock or Clock(), window=100, **settings
    )


def settled(campaign, asked, draft=None, outcomes=()):
    (found,) = run_together(
        campaign._store, [lambda writing: campaign.settle(writing, asked, draft, outcomes)]
    )
    if isinstance(found, Exception):
        raise found
    return found


ASKED = [
    Asked(["a"]),
    Asked([None, None]),
    Asked(["a"], "k1"),
    Asked(["b"], "k2"),
    Asked(["b"], "k2"),
    Asked([None]),
]


@pytest.mark.parametrize("policy", ["thompson", "greedy", "elsv"])
def test_a_batch_is_decided_like_one_after_the_other(tmp_path, policy):
    """The same arms, probabilities and numbers, whether planned before or inside."""
    answers = []
    for way in ("alone", "inside", "before"):
        campaign = opened(tmp_path / f"{way}.db", policy, floor=0.02)
        campaign.rewards([(one, k % 2 == 0) for k, one in enumerate(campaign.decide(count=12))])
        if way == "alone":
            found = [settled(campaign, [one])[0][0] for one in ASKED]
        else:
            draft = campaign.draft(ASKED) if way == "before" else None
            found = settled(campaign, ASKED, draft)[0]
        answers.append(
            [[(d.number, d.arm, d.propensity, d.customer, d.repeated) for d in one] for one in found]
        )
        assert campaign.audit().exact
        campaign.close()
    assert answers[0] == answers[1] == answers[2]


def test_a_draft_that_was_overtaken_is_made_anew(tmp_path):
    first, second = opened(tmp_path / "shop.db"), opened(tmp_path / "shop.db")
    draft = first.draft([Asked(["a"]), Asked([None])])
    overtaking = second.decide(customer="a")
    found, _ = settled(first, [Asked(["a"]), Asked([None])], draft)
    assert (found[0][0].id, found[0][0].repeated) == (overtaking.id, True)
    assert found[1][0].number == 2
    assert first.audit().exact


def test_what_is_due_expires_before_a_draft(tmp_path):
    clock = Clock()
    campaign = opened(tmp_path / "shop.db", clock=clock)
    decision = campaign.decide("a")
    draft = campaign.draft([Asked(["a"])])
    clock.pass_(200)
    assert campaign.draft([Asked(["a"])]) is None
    (again,), _ = settled(campaign, [Asked(["a"])], draft)
    assert again[0].id == decision.id  # at the time of the draft it was open
    (later,), _ = settled(campaign, [Asked(["a"])])
    assert later[0].id != decision.id
    assert campaign.audit().expirations == 1


def test_outcomes_are_all_or_none_for_each_request(tmp_path):
    campaign = opened(tmp_path / "shop.db")
    first, second = campaign.decide(count=2)
    decisions, receipts = settled(
        campaign, [Asked([None])], None, [[(first.id, True)], [(second.id, True), ("nobody", True)]]
    )
    assert len(decisions) == 1
    assert receipts[0][0].status == "recorded"
    assert isinstance(receipts[1], UnknownDecisionError)
    assert campaign.audit().rewards == 1


def test_work_that_fails_is_undone_alone(tmp_path):
    campaign = opened(tmp_path / "shop.db")

    def broken(writing):
        campaign.settle(writing, [Asked([None])])
        raise ValueError("on purpose")

    def works(writing):
        return campaign.settle(writing, [Asked([None])])[0]

    found = run_together(campaign._store, [works, broken, works])
    assert isinstance(found[1], ValueError)
    assert [found[0][0][0].number, found[2][0][0].number] == [1, 2]
    assert campaign.audit().exact


def test_threads_share_commits_and_get_their_own_answers(tmp_path):
    campaigns = [opened(tmp_path / "shop.db", "greedy") for _ in range(8)]
    commits, found = SharedCommits(campaigns[0]._store, most=3), {}

    def run(k):
        for n in range(10):
            work = partial(campaigns[k].settle, asked=[Asked([f"c-{k}-{n}"])])
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


def test_a_store_that_fails_fails_for_all_who_share_the_commit(tmp_path):
    campaign = opened(tmp_path / "shop.db")
    campaign.decide()
    connection = campaign._store._connection
    connection.execute(f"PRAGMA max_page_count = {connection.execute('PRAGMA page_count').fetchone()[0]}")
    asked = [Asked([f"c-{k}" * 20]) for k in range(400)]

    def fill():
        for _ in range(20):
            settled(campaign, asked)

    with pytest.raises(StoreError, match="full"):
        fill()
    connection.execute("PRAGMA max_page_count = 1000000")
    assert campaign.audit().exact


def test_a_pool_and_a_store_in_two_parts(tmp_path):
    writer = open_store(tmp_path / "shop.db")
    store = Apart(Pool(lambda: open_store(tmp_path / "shop.db"), 2, 1.0), writer)
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


def test_a_batch_of_several_segments_is_decided_like_one_after_the_other(tmp_path):
    asked = [
        Asked(["a"], None, "new"),
        Asked([None, None], None, "old"),
        Asked(["a"], None, "old"),  # another decision: other arms are on offer
        Asked(["a"], "k1", "new"),
        Asked([None], None, "2"),
    ]
    answers = []
    for way in ("alone", "inside", "before"):
        problem = shop(order=None, segments={"new": [1, 2], "old": [3, 4]}, segment_shares=[0.5, 0.5])
        campaign = Campaign.open(
            tmp_path / f"{way}.db", "spring", problem, policy="thompson", seed=5, clock=Clock(), floor=0.02
        )
        for segment in ("new", "old"):
            made = campaign.decide(count=6, segment=segment)
            campaign.rewards([(one, k % 2 == 0) for k, one in enumerate(made)])
        if way == "alone":
            found = [settled(campaign, [one])[0][0] for one in asked]
        else:
            found = settled(campaign, asked, campaign.draft(asked) if way == "before" else None)[0]
        answers.append([(d.number, d.arm, d.propensity, d.segment, d.repeated) for one in found for d in one])
        assert campaign.audit().exact
        campaign.close()
    assert answers[0] == answers[1] == answers[2]
    assert [one[3] for one in answers[0]] == ["new", "old", "old", "old", "new", "old"]
    assert [one[4] for one in answers[0]] == [False, False, False, False, True, False]


@pytest.mark.parametrize(
    ("policy", "arms", "propensities"),
    [
        ("elsv", "012200001102010021121012222222112220112212100221", [8.0] * 6),
        ("plan", "121211110002000222222222222222022222202000000222", [8.0] * 6),
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
