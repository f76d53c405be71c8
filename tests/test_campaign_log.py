"""A campaign against a small model: any order of all that a log can hold, on both stores, and replayed."""

import tempfile

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, multiple, precondition, rule

from campaigns import Clock, chosen_again, shop
from elsv import Campaign, InvalidInputError, Problem
from elsv.campaign import RefusedReportError
from elsv.campaign.batches import DecisionRequest

WINDOW = 100.0
PART = st.integers(0, 1)  # which segment, where there are some


@pytest.fixture(scope="module", autouse=True)
def _server(postgres):
    OnPostgres.server = postgres


class Model:
    """What must be so: the outcome that counts of every decision, by its id."""

    def __init__(self):
        self.outcome, self.reported, self.expires, self.accept_late = {}, {}, {}, True

    def pass_time(self, now):
        for ident, due in self.expires.items():
            if due <= now and self.outcome[ident] == "open":
                self.outcome[ident] = "expired"

    def reward(self, ident, success):
        if self.outcome[ident] == "void":
            return "void"
        if ident in self.reported:
            return "duplicate" if self.reported[ident] == success else "conflict"
        self.reported[ident] = success
        late = self.outcome[ident] == "expired"
        if not late or self.accept_late:
            self.outcome[ident] = "success" if success else "failure"
        return "recorded" if not late else "late" if self.accept_late else "too late"

    def void(self, ident):
        if ident in self.reported:
            return None
        again, self.outcome[ident] = self.outcome[ident] == "void", "void"
        return "duplicate" if again else "voided"

    def correct(self, ident, success):
        if ident not in self.reported:
            return None
        if self.reported[ident] == success:
            return "duplicate"
        self.reported[ident] = success
        if self.outcome[ident] in ("success", "failure"):
            self.outcome[ident] = "success" if success else "failure"
        return "corrected"


class Machine(RuleBasedStateMachine):
    decisions = Bundle("decisions")
    policy = "thompson"
    ordered = True
    groups = ((None, (0, 1, 2, 3)),)  # the arms of each segment
    rewards = (0.6, 0.7, 0.85, 1.0)

    def __init__(self):
        super().__init__()
        self.clock, self.model, self.sticky = Clock(), Model(), "campaign"
        self.arms, self.customers, self.keys, self.horizon = {}, {}, {}, 12
        self.paused, self.ended, self.rested = False, False, set()
        self.rewards, self.withdrawn, self.floor = list(self.rewards), set(), 0.05
        self.groups = {segment: list(arms) for segment, arms in self.groups}
        self.place = self.make_place()
        self.open(self.problem(), window=WINDOW, policy=self.policy, floor=self.floor, seed=1)

    def problem(self):
        return shop(horizon=12)

    def segment(self, place):
        return list(self.groups)[place % len(self.groups)]

    def make_place(self):
        self.directory = tempfile.TemporaryDirectory()
        return f"{self.directory.name}/shop.db"

    def open(self, *arguments, **settings_):
        self.campaign = Campaign.open(self.place, "x", *arguments, clock=self.clock, **settings_)

    def note(self, made):
        if not made.repeated:
            assert made.id not in self.model.outcome
            self.model.outcome[made.id] = "open"
            self.model.expires[made.id] = made.expires.timestamp()
            self.arms[made.id] = made.arm
            assert (made.reason == "paused") == self.paused
            assert made.arm not in self.withdrawn
            if self.paused:
                self.rested.add(made.id)
        assert self.arms[made.id] == made.arm
        return made.id

    def used(self):
        taken = [ident for ident, became in self.model.outcome.items() if became != "void"]
        return len([ident for ident in taken if ident not in self.rested])

    def kept(self, customer, segment):
        """The decision that a customer of a segment must get again."""
        if self.sticky == "never":
            return None
        known = [
            ident
            for ident in self.customers.get(customer, [])
            if self.arms[ident] in self.groups[segment]
            if self.model.outcome[ident] != "void" and self.arms[ident] not in self.withdrawn
        ]
        if self.sticky == "open":
            known = [ident for ident in known if self.model.outcome[ident] == "open"]
        return known[-1] if known else None

    @rule(target=decisions, part=PART)
    def decide(self, part):
        self.model.pass_time(self.clock.now)
        return self.note(self.campaign.decide(segment=self.segment(part)))

    @rule(target=decisions, customer=st.sampled_from("abc"), part=PART)
    def decide_for(self, customer, part):
        self.model.pass_time(self.clock.now)
        segment = self.segment(part)
        before = self.kept(customer, segment)
        return self.note_for(customer, before, self.campaign.decide(customer, segment=segment))

    def note_for(self, customer, before, made):
        assert (made.id == before) if before is not None else not made.repeated
        if not made.repeated:
            self.customers.setdefault(customer, []).append(made.id)
        return self.note(made)

    @rule(
        target=decisions,
        customers=st.lists(st.sampled_from([None, None, "a", "b", "c"]), min_size=1, max_size=12),
        between=st.sampled_from(["nothing", "a decision", "a pause"]),
        part=PART,
    )
    def decide_as_planned(self, customers, between, part):
        """Plan a batch before the transaction, as a server does; what comes between makes it plan anew."""
        self.model.pass_time(self.clock.now)
        segment = self.segment(part)
        batches, requests = self.campaign._batches, [DecisionRequest(customers, segment=segment)]
        plan = batches.plan(requests)
        if between == "a decision":
            self.note(self.campaign.decide(segment=self.segment(part + 1)))
        elif between == "a pause":
            self.pause(not self.paused)

        def append():
            with self.campaign.store.writing() as writing:
                return batches.append(writing, requests, plan)[0][0]

        decided = batches.prepared(append)
        assert between != "nothing" or [one.id for one in decided] == [one.id for one in plan.decisions[0]]
        found = []
        for customer, made in zip(customers, decided, strict=True):
            if customer is None:
                assert not made.repeated
                found.append(self.note(made))
            else:
                found.append(self.note_for(customer, self.kept(customer, segment), made))
        return multiple(*found)

    @rule(customer=st.sampled_from("abc"))
    def forget(self, customer):
        assert self.campaign.forget(customer) == len(self.customers.pop(customer, []))

    @rule(target=decisions, key=st.sampled_from("kl"))
    def decide_with_key(self, key):
        self.model.pass_time(self.clock.now)
        made = self.campaign.decide(key=key, segment=self.segment(ord(key)))
        assert self.keys.setdefault(key, made.id) == made.id
        return self.note(made)

    @rule(count=st.integers(1, 5), part=PART)
    def decide_many(self, count, part):
        self.model.pass_time(self.clock.now)
        for made in self.campaign.decide(count=count, segment=self.segment(part)):
            self.note(made)

    @rule(ident=decisions, success=st.booleans())
    def reward(self, ident, success):
        self.model.pass_time(self.clock.now)
        receipt = self.campaign.reward(ident, success=success)
        assert receipt.status == self.model.reward(ident, success)
        assert receipt.success == self.model.reported.get(ident)

    @rule(ident=decisions)
    def void(self, ident):
        self.model.pass_time(self.clock.now)
        wanted = self.model.void(ident)
        if wanted is None:
            with pytest.raises(RefusedReportError, match="correct the outcome"):
                self.campaign.void(ident)
        else:
            assert self.campaign.void(ident).status == wanted

    @rule(ident=decisions, success=st.booleans())
    def correct(self, ident, success):
        self.model.pass_time(self.clock.now)
        wanted = self.model.correct(ident, success)
        if wanted is None:
            with pytest.raises(RefusedReportError, match=r"was voided|report it"):
                self.campaign.correct(ident, success=success)
        else:
            assert self.campaign.correct(ident, success=success).status == wanted

    @rule(seconds=st.sampled_from([1.0, 30.0, 99.0, 100.0, 250.0, -50.0]))
    def pass_time(self, seconds):
        self.clock.pass_(seconds)

    @rule(paused=st.booleans())
    def pause(self, paused):
        (self.campaign.pause if paused else self.campaign.resume)()
        self.paused = paused

    @rule(more=st.integers(1, 20))
    def extend(self, more):
        self.horizon, self.ended = self.horizon + more, False
        self.campaign.extend(self.horizon)

    @rule()
    def end(self):
        self.model.pass_time(self.clock.now)
        if not self.used():
            with pytest.raises(InvalidInputError, match="cannot end"):
                self.campaign.end()
            return
        self.campaign.end()
        self.horizon, self.ended, self.paused = min(self.horizon, self.used()), True, False
        assert self.campaign.status().phase == "over"

    @rule(place=st.integers(0, 9))
    def withdraw(self, place):
        arm = place % len(self.rewards)
        if any(self.withdrawn | {arm} >= {*arms} for arms in self.groups.values()):
            with pytest.raises(InvalidInputError, match="must stay on offer"):
                self.campaign.withdraw(arm)
            return
        self.campaign.withdraw(arm)
        self.withdrawn.add(arm)

    @rule(place=st.integers(0, 9))
    def restore(self, place):
        arm = place % len(self.rewards)
        self.campaign.restore(arm)
        self.withdrawn.discard(arm)

    @precondition(lambda self: len(self.rewards) < 6)
    @rule(
        reward=st.sampled_from([0.5, 0.65, 0.85, 1.2]), expect=st.sampled_from([None, "5 to 40 %"]), part=PART
    )
    def add(self, reward, expect, part):
        name, arm, segment = f"new {reward}", len(self.rewards), self.segment(part)
        sizes = [len(arms) + (one == segment) for one, arms in self.groups.items()]
        refused = "names of arms" if name in self.campaign.problem.names else None
        if self.ordered and reward in self.rewards:
            refused = refused or "must have a place"
        elif self.floor * max(sizes) >= 1:
            refused = refused or "must leave room"
        if refused:
            with pytest.raises(InvalidInputError, match=refused):
                self.campaign.add(name, reward, expect, segment=segment)
            return
        assert self.campaign.add(name, reward, expect, segment=segment) == arm
        self.rewards.append(reward)
        self.groups[segment].append(arm)

    @rule(
        accept=st.booleans(),
        floor=st.sampled_from([0.0, 0.01, 0.2]),
        sticky=st.sampled_from(["campaign", "open", "never"]),
    )
    def reopen(self, accept, floor, sticky):
        self.campaign.close()
        if floor * max(map(len, self.groups.values())) >= 1:
            with pytest.raises(InvalidInputError, match="must leave room"):
                self.open(accept_late=accept, floor=floor, sticky=sticky)
            return
        self.open(accept_late=accept, floor=floor, sticky=sticky)
        self.model.accept_late, self.sticky, self.floor = accept, sticky, floor

    @invariant()
    def counts_are_those_of_the_model(self):
        self.model.pass_time(self.clock.now)
        status = self.campaign.status()
        kept = {"success": "successes", "failure": "failures", "expired": "expired", "open": "under_way"}
        for arm in status.arms:
            mine = [self.model.outcome[ident] for ident, i in self.arms.items() if i == arm.arm]
            for outcome, field in (kept | {"void": "voided"}).items():
                assert getattr(arm, field) == mine.count(outcome), (arm, outcome)
        assert [arm.reward for arm in status.arms] == self.rewards
        assert {arm.arm for arm in status.arms if arm.withdrawn} == self.withdrawn
        assert status.decided == self.used()
        assert status.left == (0 if self.ended else max(0, self.horizon - self.used()))
        assert self.campaign.settings.horizon == self.horizon

    def teardown(self):
        audit = self.campaign.audit()
        assert audit.exact, audit
        self.choose_again()
        self.campaign.close()
        self.clean()

    def choose_again(self):
        chosen_again(self.campaign)

    def clean(self):
        self.directory.cleanup()


class ByPlan(Machine):
    policy = "plan"


class InSegments(Machine):
    ordered = False
    groups = (("mobile", (0, 1)), ("desktop", (2, 3)))
    rewards = (1.0, 0.8, 1.0, 0.8)

    def problem(self):
        return Problem([1.0, 0.8], names=["none", "5 % off"], horizon=12, segments=list(self.groups))


class OnPostgres(Machine):
    server = None

    def make_place(self):
        return self.server.new_database()

    def clean(self):
        pass


TestCampaign = Machine.TestCase
TestCampaign.settings = settings(max_examples=12, stateful_step_count=25, deadline=None)
TestPlan = ByPlan.TestCase
TestPlan.settings = settings(max_examples=8, stateful_step_count=20, deadline=None)
TestSegments = InSegments.TestCase
TestSegments.settings = settings(max_examples=10, stateful_step_count=20, deadline=None)
TestPostgres = OnPostgres.TestCase
TestPostgres.settings = settings(max_examples=6, stateful_step_count=20, deadline=None)
