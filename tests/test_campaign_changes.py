"""Campaigns that change: voids, corrections, customers who come back, pauses, and the history of it all."""

import csv
import json
import re

import numpy as np
import pytest

from campaigns import chosen_again, shop
from commands import elsv
from elsv import Campaign, InvalidInputError, Problem, State
from elsv.beliefs import Independent
from elsv.beliefs.abilities import quantiles
from elsv.campaign import RefusedReportError, UnknownCampaignError
from elsv.campaign.copying import copy_campaigns
from elsv.campaign.opening import change, with_arm
from elsv.campaign.settings import Settings
from elsv.service.tokens import TokenFile
from pages import send, visit
from shops import SHOP
from shops import shop as service

QUICK = {"policy": "greedy"}


@pytest.fixture
def campaign(place, clock):
    with Campaign.open(
        place, "spring", shop(horizon=20), window="7 days", clock=clock, who="Ada", **QUICK
    ) as opened:
        yield opened


def run(*arguments, code=0):
    done = elsv("campaign", *arguments, code=code)
    return (done.stderr if code else done.stdout).strip()


def test_a_void_counts_as_nothing_and_gives_its_place_back(campaign, clock):
    made = campaign.decide(count=3)
    assert campaign.status().left == 17
    receipt = campaign.void(made[0])
    assert receipt.to_dict() == {"id": made[0].id, "status": "voided", "success": None, "counted": False}
    assert campaign.void(made[0].id).status == "duplicate"
    status = campaign.status()
    assert (status.decided, status.left, status.under_way, status.voided) == (2, 18, 2, 1)
    assert campaign.reward(made[0].id, success=True).status == "void"
    with pytest.raises(RefusedReportError, match="a void decision has no outcome"):
        campaign.correct(made[0], success=True)
    clock.pass_(8 * 86400)
    assert campaign.expire() == 2
    assert campaign.void(made[1]).status == "voided"  # nothing came, so that it had expired
    assert sum(arm.expired for arm in campaign.status().arms) == 1
    assert campaign.decide().number == 4
    assert campaign.status().decided == 2
    audit = campaign.audit()
    assert audit.exact
    assert (audit.voids, audit.decisions) == (2, 4)
    assert "2 voids" in str(audit)
    chosen_again(campaign)


def test_a_request_whose_answer_nobody_saw_is_void_by_its_key(campaign):
    made = campaign.decide("c-1", key="visit-1")
    assert campaign.void_request("visit-0") == []
    assert [one.status for one in campaign.void_request("visit-1")] == ["voided"]
    assert [one.status for one in campaign.void_request("visit-1")] == ["duplicate"]
    again = campaign.decide("c-1", key="visit-2")
    assert again.id != made.id
    assert campaign.decide("c-1", key="visit-3").id == again.id
    assert [one.status for one in campaign.void_request("visit-3")] == ["seen"]  # it was made before
    assert [one.status for one in campaign.void_request("visit-2")] == ["voided"]  # so nobody saw it
    other = campaign.decide(count=2, key="two")
    campaign.reward(other[0], success=True)
    assert [one.status for one in campaign.void_request("two")] == ["conflict", "voided"]
    assert campaign.audit().exact


def test_a_known_outcome_is_corrected_and_never_void(campaign):
    decision = campaign.decide()
    with pytest.raises(RefusedReportError, match=r"has none; report it \(reward\)"):
        campaign.correct(decision, success=True)
    campaign.reward(decision, success=True)
    with pytest.raises(RefusedReportError, match=r"is a success; correct the outcome instead \(correct\)"):
        campaign.void(decision)
    assert campaign.status().earned > 0
    receipt = campaign.correct(decision, success=False)
    assert (receipt.status, receipt.success, receipt.counted) == ("corrected", False, True)
    assert campaign.correct(decision, success=False).status == "duplicate"
    status = campaign.status()
    assert status.earned == 0
    assert [arm.failures for arm in status.arms if arm.decided] == [1]
    assert campaign.reward(decision, success=True).status == "conflict"
    assert campaign.correct(decision, success=True).status == "corrected"
    assert campaign.audit().corrections == 2
    assert campaign.audit().exact
    chosen_again(campaign)


@pytest.mark.parametrize(
    ("damage", "complaint"),
    [
        ("DELETE FROM elsv_void", "voided of arm"),
        ("UPDATE elsv_correction SET before = 1 - before", "does not follow from the outcome before"),
        ("UPDATE elsv_reward SET success = 1 - success", "not the one that it was corrected to"),
        ("UPDATE elsv_decision SET place = 7 WHERE number = 3", "takes place 7 and should take 2"),
        ("UPDATE elsv_tally SET rested = 1 WHERE arm = 3", "rested of arm 4"),
        ("INSERT INTO elsv_void VALUES (1, 2, 9, 0, NULL)", "is void and has an outcome"),
    ],
)
def test_an_audit_finds_damage(campaign, damage, complaint):
    made = campaign.decide(count=2)
    campaign.void(made[0])
    campaign.reward(made[1], success=True)
    campaign.correct(made[1], success=False)
    campaign.decide()
    campaign.correct(made[1], success=True)
    assert campaign.audit().exact
    with campaign.store.writing() as writing:
        writing.run(damage)
    assert complaint in str(campaign.audit())


def test_one_customer_one_arm_one_trial(campaign, clock):
    assert campaign.settings.sticky == "campaign"
    first = campaign.decide("c-1")
    campaign.reward(first, success=True)
    again = campaign.decide("c-1")
    assert (again.id, again.repeated) == (first.id, True)
    clock.pass_(30 * 86400)
    assert campaign.decide(["c-1", "c-2", "c-1"])[2].id == first.id
    assert campaign.status().decided == 2
    seen = campaign.decide("c-3")
    campaign.void(seen)  # the customer never saw it
    assert campaign.decide("c-3").id != seen.id
    assert campaign.audit().exact


def test_a_store_from_before_keeps_its_open_decisions_only(campaign):
    old = json.loads(campaign.settings.to_json())
    for key in ("ended", "withdrawn"):
        del old[key]
    for before, now in ((True, "open"), (False, "never")):
        assert Settings.from_json(json.dumps({**old, "sticky": before})).sticky == now
    del old["sticky"]
    assert Settings.from_json(json.dumps(old)).sticky == "open"


@pytest.mark.parametrize("sticky", ["open", "never", True, False])
def test_other_ways_to_be_sticky(place, sticky):
    with Campaign.open(place, "x", shop(), sticky=sticky, **QUICK) as campaign:
        first = campaign.decide("c")
        assert campaign.decide("c").repeated == (sticky in ("open", True))
        campaign.rewards((made, True) for made in (first, campaign.decide("c")) if not made.repeated)
        assert not campaign.decide("c").repeated
        with pytest.raises(InvalidInputError, match="sticky must be one of campaign, open, never, got 'x'"):
            Campaign.open(place, "x", sticky="x")


def test_a_forgotten_customer_leaves_the_counts(campaign):
    first = campaign.decide("Zoë", key="visit-of-Zoë")
    campaign.reward(first, success=True)
    before = campaign.status()
    assert campaign.forget("Zoë") == 1
    assert campaign.forget("Zoë") == 0
    after = campaign.status()
    assert after.arms == before.arms
    assert after.changes[-1].what == "forgot a customer (1 decision)"
    assert campaign.audit().exact
    with campaign.store.reading() as reading:
        for table in ("elsv_decision", "elsv_request", "elsv_forgotten"):
            assert "Zoë" not in str(reading.rows(f"SELECT * FROM {table}"))
    assert not campaign.decide("Zoë", key="visit-of-Zoë").repeated
    chosen_again(campaign)


def test_a_pause_uses_up_nothing(campaign):
    campaign.decide("c-1")
    campaign.pause()
    resting = campaign.decide(count=5)
    assert {one.reason for one in resting} == {"paused"}
    assert campaign.decide("c-1").repeated  # who has an arm keeps it
    campaign.reward(resting[0], success=True)
    status = campaign.status()
    assert (status.decided, status.left, status.rested, status.earned) == (1, 19, 5, 0.6)
    assert "1 of 20 customers have come, and 5 while it was paused." in status.sentences()[0]
    campaign.void(resting[1])
    assert campaign.status().rested == 4
    campaign.resume()
    assert campaign.decide().reason == "policy"
    assert campaign.status().decided == 2
    assert campaign.audit().exact
    chosen_again(campaign)


def test_an_end_is_over_at_once_and_stays(campaign):
    made = campaign.decide(count=3)
    campaign.end()
    assert campaign.phase == campaign.status().phase == "over"
    campaign.void(made[0])  # its place is given back, and the campaign is still over
    assert campaign.phase == campaign.status().phase == "over"
    assert campaign.status().left == 0
    assert campaign.decide().reason == "after"
    campaign.extend(10)
    assert (campaign.phase, campaign.decide().reason) == ("running", "policy")
    assert not campaign.settings.ended
    chosen_again(campaign)


def test_the_history_of_changes(campaign, clock):
    clock.pass_(60)
    campaign.decide()
    campaign.pause()
    campaign.by("Bob").resume()
    campaign.extend(50)
    Campaign.open(
        campaign.store, "spring", floor=0.02, control="full price", window="3 days", clock=clock, who="Eve"
    )
    campaign.end()
    status = campaign.status()
    assert [(change.who, change.what) for change in status.changes] == [
        ("Ada", "begun"),
        ("Ada", "paused"),
        ("Bob", "resumed"),
        ("Ada", "extended from 20 to 50 customers"),
        ("Eve", "window: 7 days → 3 days; floor: 0.0 → 0.02; control: none → full price"),
        ("Ada", "ended after 1 customer"),
    ]
    assert (status.created, status.started) == ("1970-01-12T13:46:40+00:00", "1970-01-12T13:47:40+00:00")
    assert status.ended == status.changes[-1].at
    assert [change.kinds for change in status.changes][3:] == [("extended",), ("settings",) * 3, ("ended",)]
    assert "Bob  resumed" in str(status)
    assert status.to_dict()["changes"][2] == {
        "at": status.started,
        "who": "Bob",
        "what": "resumed",
        "kinds": ("resumed",),
    }


def test_corrections_of_one_day_are_one_change_on_every_store(campaign, clock):
    clock.now = 20 * 86_400 + 10 * 3600
    made = campaign.decide(count=2)
    campaign.rewards([(one, True) for one in made])
    campaign.correct(made[0], False)
    clock.pass_(4 * 3600)  # past noon: a database that rounds would begin another day
    campaign.correct(made[1], False)
    assert [change.what for change in campaign.status().changes] == ["begun", "corrected 2 outcomes"]


def test_the_command_line(tmp_path):
    shop(horizon=20).save(tmp_path / "shop.toml")
    db = tmp_path / "shop.db"
    assert "Not begun" in run("new", db, "spring", tmp_path / "shop.toml", "-p", "greedy")
    made = [json.loads(run("decide", db, "spring", "--customer", f"c-{k}", "--json"))["id"] for k in range(3)]
    assert run("void", db, "spring", made[0]) == "voided"
    assert run("reward", db, "spring", made[1], "--success") == "recorded"
    assert "correct the outcome instead" in run("void", db, "spring", made[1], code=2)
    assert "is a success" in run("reward", db, "spring", made[1], "--failure", "--strict", code=2)
    assert run("correct", db, "spring", made[1], "--failure") == "corrected"
    assert run("forget", db, "spring", "c-1") == "removed the name from 1 decisions"
    assert run("end", db, "spring") == "spring: over, planned for 2 customers"
    rows = tmp_path / "returns.csv"
    rows.write_text(f"decision,kind,success\n{made[1]},correction,1\n{made[2]},void,\n{made[0]},void,\n")
    assert run("import", db, "spring", rows) == "3 rows: 1 corrected, 1 voided, 1 duplicate"
    rows.write_text(f"decision\n{made[1]}\n")
    assert run("import", db, "spring", rows, "--as", "void") == "1 rows: 1 conflict"
    assert "nothing was taken" in run("import", db, "spring", rows, "--as", "void", "--strict", code=2)
    rows.write_text(f"decision,kind\n{made[1]},gift\n")
    assert "kind must be one of outcome, correction, void, got 'gift' in line 2" in run(
        "import", db, "spring", rows, code=2
    )
    run("export", db, "spring", tmp_path / "all.csv")
    exported = list(csv.DictReader((tmp_path / "all.csv").read_text().splitlines()))
    assert [row["outcome"] for row in exported] == ["void", "success", "void"]
    assert exported[1]["corrected_at"] > exported[1]["outcome_at"]
    assert json.loads(run("audit", db, "spring", "--json"))["exact"]


def test_over_http_each_change_has_the_name_of_its_token(tmp_path):
    tokens = TokenFile(tmp_path / "tokens.json", must_exist=False)
    keys = {name: tokens.new(name, role) for name, role in (("boss", "admin"), ("till", "write"))}
    with service(tmp_path / "shop.db", tokens) as opened:

        def ask(method, path, body=None, who="till"):
            return opened.ask(method, path, body, headers={"Authorization": f"Bearer {keys[who]}"})

        assert ask("PUT", "/campaigns/spring", SHOP, "boss").status_code == 201
        made = ask("POST", "/campaigns/spring/decisions", {"count": 3}).json()["decisions"]
        void, correction = (f"/decisions/{made[0]['id']}/{what}" for what in ("void", "correction"))
        assert ask("POST", void).json()["status"] == "voided"
        assert ask("POST", void).json()["status"] == "duplicate"
        assert ask("POST", correction, {"success": True}).status_code == 409
        other = f"/decisions/{made[1]['id']}"
        assert ask("POST", f"{other}/reward", {"success": True}).json()["status"] == "recorded"
        refused = ask("POST", f"{other}/void")
        assert refused.status_code == 409
        assert refused.json()["remedy"] == "correct the outcome instead (correct)"
        assert ask("POST", f"{other}/correction", {"success": False}).json()["status"] == "corrected"
        assert ask("POST", "/decisions/nobody/void").status_code == 404
        assert ask("POST", "/campaigns/spring/decisions/void", {"key": "k"}).json() == {"receipts": []}
        assert ask("PATCH", "/campaigns/spring", {"ended": True}, "boss").json()["ended"]
        again = ask("PATCH", "/campaigns/spring", {"ended": False}, "boss")
        assert (again.status_code, "extend it" in again.text) == (422, True)
        assert ask("POST", "/campaigns/spring/forget", {"customer": "c"}).status_code == 403
        assert ask("POST", "/campaigns/spring/forget", {"customer": "c"}, "boss").json() == {"decisions": 0}
        found = ask("GET", "/campaigns/spring").json()
        assert found["phase"] == "over"
        assert [(one["who"], one["what"]) for one in found["changes"]] == [
            ("boss", "begun"),
            ("till", "voided 1 decision"),
            ("till", "corrected 1 outcome"),
            ("boss", "ended after 2 customers"),
        ]
        assert ask("GET", "/campaigns/spring/audit").json()["corrections"] == 1


POLICIES = ["plan", "elsv", "thompson", "greedy", "top-two", "ids", "kg", "gittins", "random", "bayes-ucb"]
PROBLEMS = {
    "order": {},
    "independent": {"order": None},
    "peak": {"order": None, "structure": {"unimodal": True}},
    "segments": {"order": None, "segments": {"new": [1, 2], "old": [3, 4]}},
    "grid": {
        "order": None,
        "structure": {"grid": [2, 2]},
        "segments": {"new": [1, 2], "old": [3, 4]},
        "segment_shares": [0.5, 0.5],
    },
}


@pytest.mark.parametrize("kind", PROBLEMS)
@pytest.mark.parametrize("policy", POLICIES)
def test_a_withdrawn_arm_is_never_given_and_still_teaches(tmp_path, policy, kind):
    problem = shop(horizon=30, **PROBLEMS[kind])
    who = {"segment": "old"} if "segments" in PROBLEMS[kind] else {}
    with Campaign.open(tmp_path / "s.db", "x", problem, policy=policy, seed=2, floor=0.1) as campaign:
        before = [campaign.decide(**who) for _ in range(6)]  # a batch is not chosen one by one
        for k, decision in enumerate(before[:4]):
            campaign.reward(decision, success=k % 2 == 0)
        campaign.withdraw("15 % off")
        assert campaign.settings.withdrawn == (2,)
        after = [campaign.decide(**who) for _ in range(4)]
        assert all(decision.arm != 2 for decision in after)
        assert "15 % off" not in {arm.name for arm in campaign.explain(*who.values()).arms}
        status = campaign.status()
        assert [arm.withdrawn for arm in status.arms] == [False, False, True, False]
        assert status.arms[2].best == 0
        assert status.leader.name != "15 % off"
        for decision in before[4:]:  # awaited, and counted
            assert campaign.reward(decision, success=True).status == "recorded"
        campaign.decide(**who)
        campaign.restore("15 % off")
        campaign.decide(**who)
        campaign.decide(**who)
        assert [change.what for change in campaign.status().changes] == [
            "begun",
            "withdrew 15 % off",
            "restored 15 % off",
        ]
        assert campaign.audit().exact
        chosen_again(campaign)


def test_the_belief_of_the_arms_on_offer_is_that_of_all_arms(tmp_path):
    with Campaign.open(tmp_path / "s.db", "x", shop(), policy="plan", seed=1, floor=0.2) as campaign:
        for k, decision in enumerate(campaign.decide(count=40)):
            campaign.reward(decision, success=k % 3 == 0)
        whole = campaign.status()
        campaign.withdraw("40 % off")
        campaign.withdraw("15 % off")
        part, told = campaign.status(), campaign.explain()
        for arm, same in zip(whole.arms, part.arms, strict=True):
            assert (arm.conversion, arm.low, arm.high) == (same.conversion, same.low, same.high)
        assert [arm.arm for arm in told.arms] == [1, 3]
        for arm in told.arms:
            assert arm.mean == pytest.approx(whole.arms[arm.arm].conversion, abs=1e-12)
            assert arm.best == pytest.approx(part.arms[arm.arm].best, abs=1e-4)
        assert sum(arm.best for arm in told.arms) == pytest.approx(1, abs=1e-4)


def test_what_cannot_be_withdrawn(campaign):
    for arm in ("40 % off", "30 % off", "15 % off"):
        campaign.withdraw(arm)
    with pytest.raises(InvalidInputError, match="at least one arm must stay on offer"):
        campaign.withdraw("full price")
    with pytest.raises(InvalidInputError, match="unknown arm '15 of'"):
        campaign.withdraw("15 of")
    campaign.restore("40 % off")
    with pytest.raises(InvalidInputError, match="held-out customers must get an arm on offer, got 15 % off"):
        Campaign.open(campaign.store, "spring", control="15 % off", holdout=0.1)
    campaign.pause()
    assert campaign.decide().name == "40 % off"  # the first on offer
    assert campaign.audit().exact


def test_going_on_with_a_policy_that_cannot_choose_among_the_arms_on_offer_is_refused(campaign, place):
    """As a change of settings is: else neither the next customer nor the status would be answered."""
    campaign.decide()
    campaign.withdraw("40 % off")
    with pytest.raises(InvalidInputError, match="the arm that the policy fixed gives is withdrawn"):
        Campaign.open(place, "spring", policy="fixed:arm=1")
    assert campaign.settings.policy == "greedy"


def test_a_campaign_whose_belief_cannot_be_made_does_not_begin(place):
    """Whatever its policy looks at: customers under way are expected by the belief, and so is the status."""
    stated = {"mixture": [[0.5, {"order": [[1, 2]], "method": "gibbs"}], [0.5, "free"]]}
    for policy in ("kl-ucb", "random"):
        with pytest.raises(InvalidInputError, match="every part of a mixture"):
            Campaign.open(place, "spring", Problem([1, 2], horizon=9, structure=stated), policy=policy)
    with pytest.raises(UnknownCampaignError):
        Campaign.open(place, "spring")


def test_who_had_a_withdrawn_arm_gets_a_new_decision(campaign):
    first = campaign.decide("c-1")
    campaign.withdraw(first.arm)
    second = campaign.decide("c-1")
    assert (second.repeated, second.arm != first.arm) == (False, True)
    assert campaign.decide("c-1").id == second.id
    campaign.restore(first.arm)
    assert campaign.decide("c-1").id == second.id
    assert campaign.audit().exact


def test_a_policy_of_your_own_sees_all_arms(tmp_path):
    seen = []

    def greedy(state, step, rng):
        seen.append(state.alpha.shape[-1])
        return 3

    with Campaign.open(tmp_path / "s.db", "x", shop(), policy=greedy) as campaign:
        campaign.withdraw(0)
        assert campaign.decide().arm == 3
        assert set(seen) == {4}
        campaign.withdraw("full price")
        with pytest.raises(InvalidInputError, match="got full price, which is withdrawn; give the policy"):
            campaign.decide()


def test_fixed_keeps_its_arm(tmp_path):
    with Campaign.open(tmp_path / "s.db", "x", shop(), policy="fixed:arm=3") as campaign:
        campaign.withdraw(0)
        assert campaign.decide().arm == 2
        with pytest.raises(InvalidInputError, match="change the policy first"):
            campaign.withdraw(2)


def test_arms_are_withdrawn_by_command_and_over_http(tmp_path):
    shop(horizon=20).save(tmp_path / "shop.toml")
    db = tmp_path / "shop.db"
    run("new", db, "spring", tmp_path / "shop.toml", "-p", "greedy")
    assert (
        run("withdraw", db, "spring", "15 % off")
        == "spring: not begun, planned for 20 customers; withdrawn: 15 % off"
    )
    assert run("restore", db, "spring", "15 % off") == "spring: not begun, planned for 20 customers"
    assert json.loads(run("withdraw", db, "spring", "3", "--json"))["withdrawn"] == [3]
    assert "did you mean '15 % off'" in run("withdraw", db, "spring", "15% off", code=2)
    with service(db) as opened:
        assert opened.ask("PATCH", "/campaigns/spring", {"withdrawn": ["40 % off", 2]}).json()[
            "withdrawn"
        ] == [1, 2]
        assert opened.get("/campaigns/spring").json()["arms"][0]["withdrawn"] is True
        refused = opened.ask("PATCH", "/campaigns/spring", {"withdrawn": [1, 2, 3, 4]})
        assert (refused.status_code, "must stay on offer" in refused.text) == (422, True)
        assert opened.decide(count=1)[0]["arm"] in (3, 4)


def test_an_arm_is_added_and_all_others_keep_their_numbers(campaign, clock):
    for k in range(6):
        campaign.reward(campaign.decide(), success=k % 2 == 0)
    before = campaign.status()
    assert campaign.add("25 % off", reward=0.75, expect="20 to 60 %") == 4
    after = campaign.status()
    assert [arm.name for arm in after.arms] == [*shop().names, "25 % off"]
    assert [arm.successes for arm in after.arms] == [*(arm.successes for arm in before.arms), 0]
    assert campaign.problem.structure.to_dict() == {
        "order": [[1, 2], [2, 5], [5, 3], [3, 4]]
    }  # by its reward
    assert campaign.problem.prior[:4].tolist() == shop().prior.tolist()
    means = [after.arms[i].conversion for i in (0, 1, 4, 2, 3)]
    assert means == sorted(means, reverse=True)
    campaign.withdraw("25 % off")
    campaign.decide()
    campaign.restore("25 % off")
    made = [campaign.decide() for _ in range(5)]
    campaign.void(made[0])
    campaign.reward(made[1], success=True)
    assert campaign.status().changes[1].what == "added 25 % off (reward 0.75)"
    assert campaign.audit().exact
    chosen_again(campaign)
    # The problem's file does not know the new arm; opening with it goes on.
    again = Campaign.open(campaign.store, "spring", shop(horizon=20), clock=clock)
    assert again.problem.arms == 5
    with pytest.raises(InvalidInputError, match="names of arms must differ"):
        campaign.add("25 % off", reward=0.75)
    with pytest.raises(InvalidInputError, match="reward must be a positive number, got 0"):
        campaign.add("free", reward=0)


def test_a_new_arm_follows_one_that_there_is(tmp_path):
    """Also where arms are independent, and its place does not matter."""
    with Campaign.open(tmp_path / "shop.db", "spring", shop(order=None)) as campaign:
        with pytest.raises(InvalidInputError, match="an arm must be a name or a number from 0 to 3, got 99"):
            campaign.add("25 % off", 0.75, after=99)
        assert campaign.add("25 % off", 0.75, after=0) == 4


def test_where_a_new_arm_stands():
    rising = Problem(rewards=[10, 8, 6], order="increasing", horizon=9, names=["none", "5 %", "10 %"])
    nothing = np.zeros((3, 2))

    def order(problem, *arguments, **about):
        return with_arm(problem, nothing, "new", *arguments, **about).structure.to_dict()

    assert order(rising, 4) == {"order": "increasing"}
    assert order(rising, 9) == {"order": [[3, 2], [2, 4], [4, 1]]}
    assert order(rising, 6, after="none") == {"order": [[3, 2], [2, 4], [4, 1]]}
    twice = with_arm(rising, nothing, "new", 9.0)
    assert with_arm(twice, np.zeros((4, 2)), "newer", 1, after="none").structure.to_dict() == {
        "order": [[3, 2], [2, 4], [4, 5], [5, 1]]
    }
    falling = Problem(rewards=[1, 2, 3], order="decreasing", horizon=9)
    assert order(falling, 2.5, after="arm 3") == {"order": "decreasing"}
    soft = Problem(
        rewards=[1, 2, 3], horizon=9, structure={"mixture": [[0.9, {"order": "decreasing"}], [0.1, "free"]]}
    )
    assert order(soft, 0.5)["mixture"][0][1] == {"order": [[4, 1], [1, 2], [2, 3]]}
    assert order(Problem(rewards=[1, 1, 1], horizon=9), 7) == {}
    with pytest.raises(
        InvalidInputError, match="rewards do not tell which; say which arm it follows: after='arm 3'"
    ):
        order(Problem(rewards=[1, 1, 1], order="decreasing", horizon=9), 7)
    grid = Problem(rewards=[1, 1, 1, 1], horizon=9, structure={"grid": [2, 2]})
    with pytest.raises(InvalidInputError, match="say what is known of all arms then: structure="):
        with_arm(grid, np.zeros((4, 2)), "new", 1)
    made = with_arm(grid, np.zeros((4, 2)), "new", 1, structure={"order": [[1, 5]]})
    assert made.structure.to_dict() == {"order": [[1, 5]]}
    parts = Problem(rewards=[1, 2, 3], horizon=9, segments={"a": [1, 2], "b": [3]}, segment_shares=[0.4, 0.6])
    assert with_arm(parts, nothing, "new", 1, segment="b").segments.groups == ((0, 1), (2, 3))


def test_the_row_of_a_new_arm_follows_its_neighbours_or_what_is_expected():
    seen = np.array([[30, 770], [40, 560]], dtype=float)
    problem = Problem(rewards=[10, 9], order="increasing", horizon=99, names=["none", "5 %"])
    made = with_arm(problem, seen, "10 %", 8)
    now = made.with_prior(np.vstack([problem.prior + seen, made.prior[-1:]]))
    mean = now.belief.mean(State.initial(now))
    assert 0.07 < mean[-1] < 0.09  # 30 of 800, 40 of 600: near 8 %
    said = with_arm(Problem(rewards=[1, 2], horizon=99), seen, "new", 3, expect="5 to 15 %")
    low, high = quantiles(Independent(), State(*said.prior[-1:].T), (0.05, 0.95))[:, 0]
    assert (low, high) == (pytest.approx(0.05, abs=1e-4), pytest.approx(0.15, abs=1e-4))
    assert with_arm(Problem(rewards=[1, 2], horizon=9), np.zeros((2, 2)), "new", 3).prior[-1].tolist() == [
        1,
        1,
    ]


def test_arms_are_added_by_command_and_over_http(tmp_path):
    shop(horizon=20).save(tmp_path / "shop.toml")
    db = tmp_path / "shop.db"
    run("new", db, "spring", tmp_path / "shop.toml", "-p", "greedy")
    assert run("add", db, "spring", "50 % off", "--reward", 0.5, "--expect", "30-70%").startswith(
        "added 50 % off as arm 5, prior row"
    )
    with service(db) as opened:
        body = {"name": "60 % off", "reward": 0.4, "after": "50 % off"}
        answer = opened.post("/campaigns/spring/arms", body)
        assert (answer.status_code, answer.json()["arm"]) == (201, 6)
        assert opened.post("/campaigns/spring/arms", body).status_code == 422
        assert len(opened.get("/campaigns/spring").json()["arms"]) == 6
        assert opened.decide(count=2)[0]["name"]
        assert opened.get("/campaigns/spring/audit").json()["exact"]


def test_an_arm_of_a_product_is_added_with_what_is_known_of_all(tmp_path):
    known = {"order": [[2, 1], [4, 3]]}  # coupons sell more, for mobile and for desktop
    names, shares = ["none", "5 % off"], {"mobile": 0.6, "desktop": 0.4}
    problem = Problem(rewards=[10, 9], names=names, order="increasing", horizon=20, segments=shares)
    problem.save(tmp_path / "shop.toml")
    db = tmp_path / "shop.db"
    run("new", db, "spring", tmp_path / "shop.toml", "-p", "greedy")
    remedy = (
        f"say what is known of all arms then: structure= (--structure), now {json.dumps(known)}; the new arm "
        "is number 5, and [1, 5] in an order says that arm 1 succeeds at least as often as arm 5"
    )
    with (
        Campaign.open(db, "spring") as campaign,
        pytest.raises(InvalidInputError, match=re.escape(remedy)),
    ):
        campaign.add("10 % off × mobile", 8, segment="mobile")
    more = {"order": [*known["order"], [5, 2]]}
    command = ("campaign", "add", db, "spring", "10 % off × mobile", "--reward", 8, "--segment", "mobile")
    assert remedy in " ".join(elsv(*command, code=2).stderr.split())
    assert "structure must be JSON" in " ".join(elsv(*command, "--structure", "{", code=2).stderr.split())
    assert "added 10 % off × mobile as arm 5" in elsv(*command, "--structure", json.dumps(more)).stdout
    with service(db) as opened:
        body = {"name": "10 % off × desktop", "reward": 8, "segment": "desktop"}
        refused = opened.post("/campaigns/spring/arms", body)
        assert refused.status_code == 422
        assert (
            f"structure= (--structure), now {json.dumps(more)}; the new arm is number 6"
            in refused.text.replace('\\"', '"')
        )
        last = {"order": [*more["order"], [6, 4]]}
        assert opened.post("/campaigns/spring/arms", body | {"structure": last}).status_code == 201
    with Campaign.open(db, "spring") as campaign:
        assert campaign.problem.segments.groups == ((0, 1, 4), (2, 3, 5))
        assert campaign.problem.structure.to_dict() == last


def test_an_end_among_other_changes_is_the_end(campaign, clock):
    campaign.decide()
    clock.pass_(60)
    change(campaign.store, campaign.name, {"withdraw": 2, "ended": True}, clock.now)
    status = campaign.status()
    assert status.changes[-1].what == "withdrew 15 % off; ended after 1 customer"
    assert status.changes[-1].kinds == ("withdrew", "ended")
    assert status.ended == status.changes[-1].at is not None
    assert "on 12 January" in status.sentences()[0]


def test_a_deleted_campaign_is_in_a_file(place, tmp_path):
    with Campaign.open(place, "spring", shop(), **QUICK) as campaign:
        first = campaign.decide("c", key="k")
        campaign.reward(first, success=True)
        campaign.correct(first, success=False)
        campaign.void(campaign.decide())
        campaign.add("50 % off", reward=0.5)
        campaign.forget("c")
        with Campaign.open(campaign.store, "other", shop(), **QUICK) as other:
            other.decide()
            with pytest.raises(InvalidInputError, match="the name must be typed again"):
                campaign.delete("sprin", tmp_path / "log.db")
            campaign.delete("spring", tmp_path / "log.db")
            with pytest.raises(UnknownCampaignError, match="there is no campaign 'spring'"):
                campaign.decide()
            assert other.audit().exact
            with other.store.reading() as reading:
                assert reading.rows("SELECT DISTINCT campaign FROM elsv_decision") == [(2,)]
    with pytest.raises(InvalidInputError, match="did you mean 'other'"):
        Campaign.open(place, "othr")
    copy_campaigns(tmp_path / "log.db", place)
    with Campaign.open(place, "spring") as campaign:
        assert campaign.audit().exact
        assert campaign.problem.arms == 5
        with pytest.raises(InvalidInputError, match="is there already"):
            campaign.delete("spring", tmp_path / "log.db")


def test_export_and_deletion_over_http_and_by_command(tmp_path):
    shop(horizon=20).save(tmp_path / "shop.toml")
    db = tmp_path / "shop.db"
    run("new", db, "spring", tmp_path / "shop.toml", "-p", "greedy")
    with service(db) as opened:
        opened.decide(count=3)
        table = opened.get("/campaigns/spring/export.csv")
        assert table.headers["content-type"] == "text/csv; charset=utf-8"
        assert len(list(csv.DictReader(table.text.splitlines()))) == 3
        assert opened.ask("DELETE", "/campaigns/spring", {"name": "sprin"}).status_code == 422
        answer = opened.ask("DELETE", "/campaigns/spring", {"name": "spring"}).json()
        assert opened.get("/campaigns/spring").status_code == 404
        assert opened.post("/campaigns/spring/decisions", {"count": 1}).status_code == 404
        opened.begin()
        assert opened.decide(count=1)[0]["number"] == 1
    assert "type its name again: --again 'spring'" in run("delete", db, "spring", code=2)
    done = run("delete", db, "spring", "--again", "spring", "--out", tmp_path / "log.db")
    assert done == f"deleted spring; its log is in {tmp_path / 'log.db'}"
    with Campaign.open(answer["file"], "spring") as campaign:
        assert campaign.audit().decisions == 3


@pytest.mark.parametrize("order", [("one", "two"), ("two", "one")])
def test_a_decision_that_two_requests_got_and_nobody_saw_is_void(tmp_path, order):
    """The first leaves it to the other; when none of them was seen the decision counts as nothing."""
    problem = Problem(rewards=[1.0, 2.0], horizon=50)
    with Campaign.open(tmp_path / "shop.db", "spring", problem, policy="greedy") as campaign:
        made = [campaign.decide("c-1", key=key) for key in ("one", "two")]
        assert made[0].id == made[1].id
        told = [campaign.void_request(key)[0].status for key in order]
        assert told == ["seen", "voided"]
        assert campaign.void_request(order[0]) == []
        assert campaign.status().voided == 1
        assert campaign.audit().exact


def test_the_buttons_of_the_page(tmp_path):
    db = tmp_path / "shop.db"
    with Campaign.open(db, "spring", shop(horizon=20), **QUICK) as campaign:
        campaign.decide()
        with visit(db) as client:
            page = "/ui/campaigns/spring"
            assert (
                send(client, f"{page}/withdraw", {"arm": "15 % off"}).headers["location"].endswith("withdraw")
            )
            assert campaign.settings.withdrawn == (2,)
            shown = client.get(page).text
            assert "withdrew 15 % off" in shown
            assert send(client, f"{page}/restore", {"arm": "15 % off"}).status_code == 303
            assert campaign.settings.withdrawn == ()
            fields = {"arm": "50 % off", "reward": "0.5", "expect": "30 to 70 %"}
            assert send(client, f"{page}/add", fields).status_code == 303
            assert campaign.problem.names[-1] == "50 % off"
            refused = send(client, f"{page}/add", fields)
            assert (refused.status_code, "names of arms must differ" in refused.text) == (422, True)
            ann, bob = campaign.decide("ann"), campaign.decide("bob")
            campaign.reward(ann, success=True)
            refused = send(client, f"{page}/void", {"decision": ann.id})
            assert (refused.status_code, "correct the outcome" in refused.text) == (422, True)
            assert send(client, f"{page}/correct", {"decision": ann.id, "success": "no"}).status_code == 303
            assert send(client, f"{page}/void", {"decision": bob.id}).headers["location"].endswith("void")
            assert (campaign.status().voided, sum(arm.successes for arm in campaign.status().arms)) == (1, 0)
            assert send(client, f"{page}/forget", {"customer": "ann"}).status_code == 303
            refused = send(client, f"{page}/forget", {"customer": "ann"})
            assert (refused.status_code, "no decision has the customer" in refused.text) == (422, True)
            assert send(client, f"{page}/void", {"decision": "nonsense"}).status_code == 422
            assert "corrected 1 outcome" in client.get(page).text
            assert send(client, f"{page}/end").status_code == 303
            assert campaign.phase == "over"
            assert client.get(f"{page}/export.csv").text.count("\n") >= 2
            wrong = send(client, f"{page}/delete", {"again": "sprin"})
            assert (wrong.status_code, "must be typed again" in wrong.text) == (422, True)
            assert send(client, f"{page}/delete", {"again": "spring"}).headers["location"] == "/?said=delete"
            assert "Its log is in a file" in client.get("/?said=delete").text
            assert client.get(page).status_code == 404
