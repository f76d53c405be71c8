"""`Campaign`: live decisions whose outcomes come late, kept in one file or database.

The log is the truth: decisions, rewards, expirations, settings and history are appended, and the counts that
decisions are made from are brought up to date in the same transaction. Any number of processes may share a
campaign; each call is one transaction.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from copy import copy
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from threading import Thread
from typing import Any, overload

from elsv._base.files import write_text
from elsv._base.numbers import whole
from elsv.campaign import records
from elsv.campaign.audit import Audit, replay
from elsv.campaign.batches import Batches, DecisionRequest, UnknownDecisionError, check_taken, time_by
from elsv.campaign.choosing import Chooser, policy_stream
from elsv.campaign.copying import Copied, delete
from elsv.campaign.exchange import Imported, export_log, import_file
from elsv.campaign.history import Measured, measure, past_of
from elsv.campaign.log import Log, appending, reading
from elsv.campaign.opening import Stated, add, begin, change, open_store
from elsv.campaign.records import Decision, Outcome, RewardReceipt, Tally, id_of, text_of, truth_of
from elsv.campaign.settings import Settings, as_kept
from elsv.campaign.standing import status_of
from elsv.campaign.status import Status
from elsv.campaign.views import report_page
from elsv.errors import ElsvError, InvalidInputError
from elsv.live.explain import Explanation, explain
from elsv.policies import Policy
from elsv.prior.expectations import Interval
from elsv.problem import Problem
from elsv.stores.base import Store, StoreError

Names = list[str] | tuple[str, ...]
_LONG = 100_000  # decisions: reading more takes a part of a second
_REST = 20.0  # a log is read at most this share of the time where nobody waits for it
KEEP: Any = type("Keep", (), {"__repr__": lambda _: "as it is"})()
"""Stands for a setting that is not given: a new campaign has its default, an old one keeps its own."""


@dataclass(frozen=True)
class _Said:
    """What a log says, and from when on it may be read again where nobody waits for it."""

    of: tuple[int, int]  # campaign and event
    again: float
    measured: Measured


class Campaign:
    """Decisions, outcomes and what follows from them; make one with `Campaign.open`.

    Examples
    --------
    >>> import tempfile
    >>> problem = Problem(rewards=[0.8, 0.9, 1.0], order="decreasing", horizon=50)
    >>> campaign = Campaign.open(tempfile.mkdtemp() + "/shop.db", "spring", problem, window="7 days")
    >>> decision = campaign.decide(customer="c-17")
    >>> campaign.reward(decision.id, success=True).status
    'recorded'
    >>> campaign.reward(decision.id, success=True).status
    'duplicate'
    >>> campaign.audit().exact
    True
    """

    def __init__(self, batches: Batches, who: str | None = None) -> None:
        self.name, self.who = batches.name, who
        self._batches, self.store, self._now = batches, batches.store, batches.now
        self._said: _Said | None = None  # what the log says, at which event
        self._reading = False  # whether it is being read beside

    @classmethod
    def open(
        cls,
        store: str | Path | Store,
        name: str,
        problem: Problem | None = None,
        *,
        policy: str | Policy = KEEP,
        window: str | float | timedelta | None = KEEP,
        accept_late: bool = KEEP,
        sticky: str | bool = KEEP,
        floor: float = KEEP,
        holdout: float = KEEP,
        control: str | int | Sequence[str | int] | None = KEEP,
        fallback: str | int | Sequence[str | int] | None = KEEP,
        unit: str = KEEP,
        timezone: str = KEEP,
        seed: int | None = None,
        who: str | None = None,
        clock: Callable[[], float] = time.time,
    ) -> Campaign:
        """Begin a campaign, or go on with one.

        Parameters
        ----------
        store
            The path of an SQLite file, or a URL ``postgresql://user@host/database`` (extra ``postgres``).
        name
            Of the campaign; a store may hold several.
        problem
            What to choose among; may be left out to go on. Other arms, priors or structures than before are
            refused once there are decisions; a longer horizon is taken over.
        policy
            A name such as ``"plan"`` or a function ``(state, step, rng) -> arm``.
        window
            How long to wait for an outcome, such as ``"7 days"``; then it counts as a failure.
        accept_late
            Whether an outcome after that corrects the failure (default) or is kept without counting.
        sticky
            For how long a customer gets the same decision again: ``"campaign"`` (default: one customer, one
            arm, one trial, as long as the arm is on offer), ``"open"`` (until its outcome is in) or
            ``"never"``.
        floor
            Least probability of every arm on offer, 0 by default: the planner alone.
        holdout, control
            Share of customers who get the arm `control` (its name or its number from 0), to measure against;
            with segments a list of arms, one for each.
        fallback
            The arm while the campaign is paused; default: the control arm, or the first.
        unit
            Of the rewards, such as ``"EUR"``.
        timezone
            Whose days are the campaign's, such as ``"Europe/Berlin"``; default: that of the machine.
        seed
            For what is drawn; kept by the campaign. Default: fresh.
        who
            Your name, which the log keeps with all that you change.
        clock
            Returns seconds since 1970; for tests and simulations.
        """
        text_of("name of a campaign", name)
        if who is not None:
            text_of("who", who)
        opened = open_store(store, problem is not None) if isinstance(store, str | Path) else store
        own = policy if policy is not KEEP and not isinstance(policy, str) else None
        given: dict[str, Any] = {"policy": policy, "window": window, "accept_late": accept_late}
        given |= {"sticky": sticky, "floor": floor, "holdout": holdout, "unit": unit}
        given |= {"control": control, "fallback": fallback, "timezone": timezone}
        wanted = as_kept({key: value for key, value in given.items() if value is not KEEP})
        begin(opened, name, problem, seed, wanted, time_by(clock), who)
        return cls(Batches(opened, name, clock, own), who)

    def __repr__(self) -> str:
        return f"Campaign({self.name!r}, {self.store.place!r})"

    @property
    def settings(self) -> Settings:
        """The present settings."""
        with self._log() as log:
            return log.settings

    @property
    def phase(self) -> str:
        """What the campaign is doing: not begun, running, paused or over."""
        with self._log() as log:
            return log.settings.phase(log.used())

    @property
    def version(self) -> int:
        """The number of the present version of the settings."""
        with self._log() as log:
            return log.version

    @property
    def problem(self) -> Problem:
        """What is chosen among: the arms that the campaign was begun with, the present horizon."""
        with self._log() as log:
            problem, horizon = log.problem, log.settings.horizon
        return problem if horizon is None else problem.with_horizon(horizon)

    @overload
    def decide(
        self, customer: str | None = None, *, key: str | None = None, segment: str | int | None = None
    ) -> Decision: ...

    @overload
    def decide(
        self, customer: Names, *, key: str | None = None, segment: str | int | None = None
    ) -> list[Decision]: ...

    @overload
    def decide(
        self, *, key: str | None = None, count: int, segment: str | int | None = None
    ) -> list[Decision]: ...

    def decide(
        self,
        customer: str | Names | None = None,
        *,
        key: str | None = None,
        count: int | None = None,
        segment: str | int | None = None,
    ) -> Decision | list[Decision]:
        """Choose the arm for a customer, or for several one after the other; logged before it returns.

        Parameters
        ----------
        customer
            Any text that tells customers apart, or several of them. One who comes back gets the same
            decision again (`sticky`) and is no new customer. Default: a customer who is not known.
        key
            Names this request, such as a visit. A retry with the same key returns the first answer; the key
            with another customer, number of customers or segment is a `KeyReusedError`.
        count
            Decide for so many customers who are not known.
        segment
            Who has come, by name or number from 1, where customers are of segments; of all customers of the
            call. One who had an open decision as a customer of another segment gets a new one.
        """
        requests = [DecisionRequest(records.customers_of(customer, count), key, segment)]
        if key is not None:
            text_of("key", key)

        def work() -> list[Decision]:
            with self.store.writing() as writing:
                return self._batches.append(writing, requests)[0][0]

        found = self._batches.prepared(work)
        return found[0] if count is None and (customer is None or isinstance(customer, str)) else found

    def reward(self, decision: str | Decision, success: bool) -> RewardReceipt:
        """Record the outcome of a decision, by its id; on disk before it returns.

        The same outcome twice is a duplicate and another one a conflict: both change nothing. After the
        window an outcome is late and takes the failure back, unless the campaign does not accept late ones.
        """
        return self.rewards([(decision, success)])[0]

    def rewards(self, outcomes: Iterable[tuple[str | Decision, bool]]) -> list[RewardReceipt]:
        """Record many outcomes, all or none; an unknown decision is an error."""
        return self._report([Outcome(id_of(decision), truth_of(won)) for decision, won in outcomes])

    def void(self, decision: str | Decision) -> RewardReceipt:
        """Take back a decision that the customer never saw, such as one that came too late for the page.

        It counts neither as a success nor as a failure, and its place among the customers planned for is free
        again. The same again is a duplicate. A decision whose outcome is known is refused: see `correct`.
        """
        return check_taken(self._report([Outcome(id_of(decision), None, who=self.who)])[0])

    def void_request(self, key: str) -> list[RewardReceipt]:
        """Take back what a request with this key decided, because its answer came too late to be seen.

        A decision that another request got too stays (``seen``) until that request is taken back as well. One
        whose outcome is known stays too (``conflict``). Empty if no request had this key.
        """
        text_of("key", key)
        with appending(self.store, self.name) as log:
            now = self._now()
            log.expire(now)
            return log.append_unseen(key, now, self.who)

    def correct(self, decision: str | Decision, success: bool) -> RewardReceipt:
        """Replace the outcome of a decision, as after a return or a cancelled order; the log keeps both."""
        told = Outcome(id_of(decision), truth_of(success), corrects=True, who=self.who)
        return check_taken(self._report([told])[0])

    def _report(self, outcomes: list[Outcome]) -> list[RewardReceipt]:
        with self.store.writing() as writing:
            _, (receipts,) = self._batches.append(writing, [], outcomes=[outcomes])
            if isinstance(receipts, UnknownDecisionError):
                raise receipts
        return receipts

    def status(self, patient: bool = True) -> Status:
        """Return how the campaign stands, for people: ``print(campaign.status())``.

        If the log has gone on since the last status, all of it is read. Give ``patient=False`` where nobody
        should wait for that: a long log is then read in a thread, and the status says so or is a little old.
        """
        with self._moment() as (chooser, tallies, log):
            known = self._said
            if known is not None and len(known.measured.recent) != len(tallies):
                known = None  # an arm was added since
            if known is None or known.of != (log.id, log.events):
                if patient or log.decisions <= _LONG:
                    known = self._read_log(log)
                elif not self._reading and (known is None or time.monotonic() >= known.again):
                    self._reading = True
                    Thread(target=self._read_beside, daemon=True).start()
            past = past_of(log)
        measured = None if known is None else known.measured
        return status_of(self.name, chooser, tallies, self._now(), measured, past)

    def _read_beside(self) -> None:
        with suppress(ElsvError), closing(self.store.another()) as other, reading(other, self.name) as log:
            self._read_log(log)
        self._reading = False

    def _read_log(self, log: Log) -> _Said:
        began = time.monotonic()
        found = measure(log, self._now())
        now = time.monotonic()
        self._said = _Said((log.id, log.events), now + _REST * (now - began), found)
        return self._said

    def explain(self, segment: str | int | None = None) -> Explanation:
        """Return what the next customer would get, and why; at any time, also while paused or at the end.

        Where customers are of segments, `segment` says of which one the next is.
        """
        with self._moment() as (chooser, tallies, log):
            rng = policy_stream(log.seed, log.decisions + 1)
        step = 1 + sum(t.used for t in tallies)
        policy, reason = chooser.acting(step)
        name = {
            "paused": "the campaign is paused",
            "after": "after the last customer: the arm that is best by now",
        }.get(reason, chooser.settings.policy or "a policy of your own")
        planned, state = chooser.planned(tallies, step, rng), chooser.state_on_offer(tallies)
        about = chooser.problem, chooser.state(tallies)
        found = explain(chooser.asked, policy, state, step, rng, name, planned, segment, about)
        own = chooser.arms
        arms = tuple(replace(arm, arm=own[arm.arm]) for arm in found.arms)
        return replace(found, arm=own[found.arm], arms=arms)

    def report(self, path: str | Path) -> Path:
        """Write the report, one self-contained page (extra ``plot``)."""
        status = self.status()
        with self._moment() as (chooser, tallies, _):
            page = report_page(status, chooser, tallies)
        write_text(path, page)
        return Path(path)

    def export(self, path: str | Path) -> int:
        """Write all decisions with their outcomes to a .csv or .parquet file; return how many."""
        with self._log() as log:
            return export_log(log, path)

    def import_outcomes(self, path: str | Path, strict: bool = False, kind: str = "outcome") -> Imported:
        """Take outcomes from a .csv or .parquet file.

        With columns ``decision, success``: outcomes of decisions of this campaign, as for `reward`. They
        are corrections or voids if `kind`, or a column ``kind``, says ``correction`` or ``void``. What
        contradicts the log is counted and changes nothing; with `strict` it is an error, as are unknown
        decisions, and nothing is taken.

        With columns ``arm, success`` or ``arm, successes, failures`` (arms by name, or numbered from 1):
        history from before the campaign. It is added to the prior, once for a file, and earns nothing.
        """
        with appending(self.store, self.name) as log:
            now = self._now()
            log.expire(now)
            found = import_file(log, path, kind, self.who, now)
            if strict:
                found.check(path)
        return found

    def forget(self, customer: str) -> int:
        """Remove a customer's name, and the keys of the requests that came with it, from the whole log.

        The decisions and counts stay, without the name. Returns how many decisions there were. Who comes back
        under that name is a new customer.
        """
        name = text_of("customer", customer)
        with appending(self.store, self.name) as log:
            return log.forget(name, self._now(), self.who)

    def by(self, who: str | None) -> Campaign:
        """Return the same campaign, with `who` behind all that is changed."""
        same = copy(self)
        same.who = who
        return same

    def withdraw(self, arm: str | int) -> None:
        """Take an arm, by name or number from 0, off the offer; what is known of it still teaches.

        Its open decisions are awaited. Whoever had it and comes back gets a new decision. The last arm on
        offer cannot be withdrawn.
        """
        self._change(withdraw=arm)

    def restore(self, arm: str | int) -> None:
        """Put an arm that was withdrawn on offer again."""
        self._change(restore=arm)

    def add(
        self,
        arm: str,
        reward: float,
        expect: Interval | None = None,
        *,
        after: str | int | None = None,
        segment: str | int | None = None,
        structure: Stated | None = None,
    ) -> int:
        """Add an arm and return its number, from 0; all others keep theirs.

        Parameters
        ----------
        arm, reward
            Its name, and what a success pays.
        expect
            Its rate, such as ``"5 to 15 %"`` or ``0.1``; default: its odds are near its neighbour's.
        after
            The arm that it follows in the order of the arms; default: by its reward, where rewards rise or
            fall along that order.
        segment
            To whom it is on offer, where customers are of segments.
        structure
            What is known of all arms now, where they are not independent or in one order.
        """
        about = {"expect": expect, "after": after, "segment": segment, "structure": structure}
        return add(self.store, self.name, self._now(), self.who, arm, reward, **about)[0]

    def delete(self, again: str, path: str | Path) -> Copied:
        """Remove the campaign; its whole log goes to the SQLite file `path` first.

        `elsv copy` brings it back from there. `again` is the name once more, so that nothing is removed by
        mistake.
        """
        return delete(self.store, self.name, again, path)

    def pause(self) -> None:
        """Give the fallback arm to new customers until `resume`.

        They do not count among the customers planned for. Outcomes are still taken, and whoever has an arm
        keeps it.
        """
        self._change(paused=True)

    def resume(self) -> None:
        """Let the policy choose again."""
        self._change(paused=False)

    def extend(self, customers: int) -> None:
        """Plan for `customers` in all, more than before."""
        total, settings = whole("customers", customers), self.settings
        if settings.horizon is None:
            raise InvalidInputError("a campaign with a discount has no last customer; nothing to extend")
        if total <= settings.horizon:
            raise InvalidInputError(
                f"customers must be more than the {settings.horizon:,} that are planned for, got {total:,}; "
                "give how many there will be in all"
            )
        self._change(horizon=total)

    def end(self) -> None:
        """Let the customers so far be the last that are planned for: all others get the best arm by now.

        `extend` goes on with the campaign.
        """
        self._change(ended=True)

    def expire(self) -> int:
        """Count open decisions whose window has passed as failures; every other call does so too."""
        return self._batches.expire(self._now())

    def audit(self) -> Audit:
        """Replay the whole log and compare every count with what is stored, exactly."""
        with self._log() as log:
            return replay(log)

    def __enter__(self) -> Campaign:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Give the file or connection back; the next call opens it again."""
        self.store.close()

    def _change(self, **changes: Any) -> None:
        change(self.store, self.name, changes, self._now(), who=self.who)

    def _log(self) -> AbstractContextManager[Log]:
        return reading(self.store, self.name)

    @contextmanager
    def _moment(self) -> Iterator[tuple[Chooser, list[Tally], Log]]:
        """Begin to read how things stand, with what is due expired if the store can be written."""
        with self._log() as log:
            due = log.is_due(self._now())
        if due:
            with suppress(StoreError):  # a read-only copy can still be looked at
                self.expire()
        with self._log() as log:
            tallies = log.tallies()
            yield self._batches.chooser(log, tallies), tallies, log
