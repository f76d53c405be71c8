"""A campaign against a ten-line model: any order of decisions, outcomes, expirations and restarts."""

import tempfile

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, rule

from campaigns import Clock, shop
from elsv import Campaign

WINDOW = 100.0


class Model:
    """What must be so: the outcome that counts of every decision, by its id."""

    def __init__(self):
        self.outcome, self.reported, self.expires, self.accept_late = {}, {}, {}, True

    def pass_time(self, now):
        for ident, due in self.expires.items():
            if due <= now and self.outcome[ident] == "open":
                self.outcome[ident] = "expired"

    def reward(self, ident, success):
        if ident in self.reported:
            return "duplicate" if self.reported[ident] == success else "conflict"
        self.reported[ident] = success
        late = self.outcome[ident] == "expired"
        if not late or self.accept_late:
            self.outcome[ident] = "success" if success else "failure"
        return "recorded" if not late else "late" if self.accept_late else "too late"


class Machine(RuleBasedStateMachine):
    decisions = Bundle("decisions")

    def __init__(self):
        super().__init__()
        self.directory = tempfile.TemporaryDirectory()
        self.clock, self.model = Clock(), Model()
        self.arms, self.customers, self.keys, self.horizon = {}, {}, {}, 12
        self.open(shop(horizon=12), window=WINDOW, policy="thompson", floor=0.05, seed=1)

    def open(self, *arguments, **settings_):
        place = f"{self.directory.name}/shop.db"
        self.campaign = Campaign.open(place, "x", *arguments, clock=self.clock, **settings_)

    def note(self, made):
        if not made.repeated:
            assert made.id not in self.model.outcome
            self.model.outcome[made.id] = "open"
            self.model.expires[made.id] = made.expires.timestamp()
            self.arms[made.id] = made.arm
        assert self.arms[made.id] == made.arm
        return made.id

    @rule(target=decisions)
    def decide(self):
        self.model.pass_time(self.clock.now)
        return self.note(self.campaign.decide())

    @rule(target=decisions, customer=st.sampled_from("abc"))
    def decide_for(self, customer):
        self.model.pass_time(self.clock.now)
        before = self.customers.get(customer)
        made = self.campaign.decide(customer)
        assert made.repeated == (before is not None and self.model.outcome[before] == "open")
        assert not made.repeated or made.id == before
        self.customers[customer] = made.id
        return self.note(made)

    @rule(target=decisions, key=st.sampled_from("kl"))
    def decide_with_key(self, key):
        self.model.pass_time(self.clock.now)
        made = self.campaign.decide(key=key)
        assert self.keys.setdefault(key, made.id) == made.id
        return self.note(made)

    @rule(count=st.integers(1, 5))
    def decide_many(self, count):
        self.model.pass_time(self.clock.now)
        for made in self.campaign.decide(count=count):
            self.note(made)

    @rule(ident=decisions, success=st.booleans())
    def reward(self, ident, success):
        self.model.pass_time(self.clock.now)
        receipt = self.campaign.reward(ident, success=success)
        assert receipt.status == self.model.reward(ident, success)
        assert receipt.success == self.model.reported[ident]

    @rule(seconds=st.sampled_from([1.0, 30.0, 99.0, 100.0, 250.0, -50.0]))
    def pass_time(self, seconds):
        self.clock.pass_(seconds)

    @rule(paused=st.booleans())
    def pause(self, paused):
        (self.campaign.pause if paused else self.campaign.resume)()

    @rule(more=st.integers(1, 20))
    def extend(self, more):
        self.horizon += more
        self.campaign.extend(self.horizon)

    @rule(accept=st.booleans(), floor=st.sampled_from([0.0, 0.01, 0.2]))
    def reopen(self, accept, floor):
        self.campaign.close()
        self.open(accept_late=accept, floor=floor)
        self.model.accept_late = accept

    @invariant()
    def counts_are_those_of_the_model(self):
        self.model.pass_time(self.clock.now)
        status = self.campaign.status()
        kept = {"success": "successes", "failure": "failures", "expired": "expired", "open": "under_way"}
        for arm in status.arms:
            mine = [self.model.outcome[ident] for ident, i in self.arms.items() if i == arm.arm]
            for outcome, field in kept.items():
                assert getattr(arm, field) == mine.count(outcome), (arm, outcome)
        assert status.left == max(0, self.horizon - len(self.arms))
        assert self.campaign.settings.horizon == self.horizon

    def teardown(self):
        audit = self.campaign.audit()
        assert audit.exact, audit
        self.campaign.close()
        self.directory.cleanup()


TestCampaign = Machine.TestCase
TestCampaign.settings = settings(max_examples=20, stateful_step_count=20, deadline=None)
