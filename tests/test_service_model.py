"""Requests in any order against the model of a campaign: the same machine that tests the library."""

import asyncio
from types import SimpleNamespace

import httpx
import pytest
from hypothesis import settings

from campaigns import chosen_again
from elsv import Campaign
from elsv.errors import InvalidInputError
from test_campaign_log import Machine, RefusedReportError

pytest.importorskip("starlette")

from elsv.service.app import create_app
from elsv.service.settings import ServiceSettings
from elsv_client import values


class InProcess:
    """The application without a network: an event loop that runs while a request does."""

    def __init__(self, app):
        self.runner = asyncio.Runner()
        self.lifespan = app.router.lifespan_context(app)
        self.runner.run(self.begin(app))

    async def begin(self, app):
        await self.lifespan.__aenter__()
        self.client = httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost")
        while (answer := await self.client.get("/readyz")).status_code != 200:
            assert answer.status_code == 503, answer.text
            await asyncio.sleep(0.01)

    async def end(self):
        await self.client.aclose()
        await self.lifespan.__aexit__(None, None, None)

    def request(self, method, path, **options):
        return self.runner.run(self.client.request(method, path, **options))

    def close(self):
        self.runner.run(self.end())
        self.runner.close()


class Remote:
    """A campaign behind HTTP, called as a `Campaign` is."""

    def __init__(self, http):
        self.http, self.place = http, "/campaigns/x"

    def ask(self, method, path, body=None, **headers):
        sent = {} if body is None else {"json": body}
        answer = self.http.request(method, path, headers=headers, **sent)
        assert answer.status_code < 300, answer.text
        return answer.json()

    def decide(self, customer=None, key=None, count=None, segment=None):
        about = {"customer": customer, "count": count, "segment": segment}
        body = {k: v for k, v in about.items() if v is not None}
        headers = {} if key is None else {"idempotency-key": key}
        made = self.ask("POST", f"{self.place}/decisions", body, **headers)["decisions"]
        decisions = [values.read(values.Decision, one) for one in made]
        return decisions if count is not None else decisions[0]

    def reward(self, ident, success):
        return values.read(
            values.RewardReceipt, self.ask("POST", f"/decisions/{ident}/reward", {"success": success})
        )

    def report(self, ident, what, body=None):
        answer = self.http.request("POST", f"/decisions/{ident}/{what}", json=body)
        if answer.status_code == 409:
            raise RefusedReportError(f"{answer.json()['detail']}; {answer.json()['remedy']}")
        assert answer.status_code == 200, answer.text
        return values.read(values.RewardReceipt, answer.json())

    def void(self, ident):
        return self.report(ident, "void")

    def correct(self, ident, success):
        return self.report(ident, "correction", {"success": success})

    def forget(self, customer):
        return self.ask("POST", f"{self.place}/forget", {"customer": customer})["decisions"]

    def accepted(self, method, path, body):
        answer = self.http.request(method, path, json=body)
        if answer.status_code == 422:
            raise InvalidInputError(answer.json()["detail"])
        assert answer.status_code in (200, 201), answer.text
        return answer.json()

    def end(self):
        self.accepted("PATCH", self.place, {"ended": True})

    def offer(self, change):
        """Change the set of withdrawn arms, from 0; over HTTP it is a whole list, from 1."""
        withdrawn = {arm.arm for arm in self.status().arms if arm.withdrawn}
        self.accepted("PATCH", self.place, {"withdrawn": sorted(arm + 1 for arm in change(withdrawn))})

    def withdraw(self, arm):
        self.offer(lambda withdrawn: withdrawn | {arm})

    def restore(self, arm):
        self.offer(lambda withdrawn: withdrawn - {arm})

    def add(self, name, reward, expect=None, segment=None):
        body = {"name": name, "reward": reward, "expect": expect, "segment": segment}
        return self.accepted("POST", f"{self.place}/arms", body)["arm"] - 1

    @property
    def problem(self):
        return SimpleNamespace(names=[arm.name for arm in self.status().arms])

    def change(self, **changes):
        return values.read(values.Settings, self.accepted("PATCH", self.place, changes))

    def pause(self):
        self.change(paused=True)

    def resume(self):
        self.change(paused=False)

    def extend(self, horizon):
        assert self.change(horizon=horizon).horizon == horizon

    def status(self):
        return values.read(values.Status, self.ask("GET", self.place))

    @property
    def settings(self):
        return SimpleNamespace(**self.ask("GET", self.place)["settings"])

    def close(self):
        self.http.close()

    def audit(self):
        return values.read(values.Audit, self.ask("GET", f"{self.place}/audit"))


class Served(Machine):
    """The machine, whose every call is a request; reopening is a new server."""

    decide_as_planned = None  # a batch planned before its transaction is what the server does by itself

    def choose_again(self):
        """Choose anew from the log itself."""
        with Campaign.open(f"{self.directory.name}/shop.db", "x") as campaign:
            chosen_again(campaign)

    def open(self, problem=None, **changes):
        options = ServiceSettings(db=f"{self.directory.name}/shop.db")
        http = InProcess(create_app(options, clock=self.clock))
        self.campaign = Remote(http)
        if problem is not None:
            body = {"problem": problem.to_dict(), **changes}
            assert [http.request("PUT", "/campaigns/x", json=body).status_code for _ in range(2)] == [
                201,
                200,
            ]
        else:
            self.campaign.change(**changes)


TestService = Served.TestCase
TestService.settings = settings(max_examples=10, stateful_step_count=20, deadline=None)
