"""The pages: login, the list, a campaign with the forms that change it, and the form of a new one."""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any
from urllib.parse import quote

from starlette.responses import RedirectResponse, Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from elsv.assumptions import check
from elsv.campaign import Campaign, UnknownCampaignError
from elsv.campaign.opening import BegunOtherwiseError, Listed
from elsv.campaign.settings import local_zone
from elsv.campaign.status import Status
from elsv.campaign.views import method_of, reasons_of
from elsv.errors import ElsvError, InvalidInputError
from elsv.service.api import CSV, HTML, REPORT_POLICY, check_role, file_of
from elsv.service.errors import RefusedError, refusal_of
from elsv.service.page import browser, forms
from elsv.service.page.browser import HEADERS, Visit, form_of, inner_address, logged_in, page
from elsv.service.service import Service
from elsv.service.tokens import Role, page_of

Handler = Callable[[Visit], Awaitable[Response]]
MOST_DAYS = 62  # in the table
SECONDS = 3  # between two looks of a page
MOST_LISTED = 100
MOST_JOBS = 20  # rehearsals that are remembered
SOON = 0.5  # seconds after which a server that is getting ready shows counts alone
FRESH = 4.0  # seconds that a line of the list is good for while no customer comes and no setting changes
SAID = {
    "begun": "The campaign has begun. Ask for decisions with POST /campaigns/NAME/decisions.",
    "pause": "The campaign is paused.",
    "resume": "The campaign goes on.",
    "floor": "The floor is changed.",
    "extend": "The campaign is extended.",
    "withdraw": "The arm is withdrawn. What is known of it still teaches.",
    "restore": "The arm is on offer again.",
    "add": "The arm is added. All others keep their numbers and their outcomes.",
    "correct": "The outcome is corrected. The log keeps both.",
    "void": "The decision is void. It counts neither as a success nor as a failure.",
    "forget": "The name is removed. The counts stay.",
    "delete": "The campaign is deleted. Its log is in a file on the server.",
    "end": "The campaign has ended: every further customer gets the arm that is best by now.",
}
_HEADINGS = {403: "Not allowed", 404: "Not found", 422: "That does not work", 503: "Not now"}
_FOR_GOOD = "public, max-age=31536000, immutable"


def page_routes(service: Service) -> list[Route]:
    """Return the routes of the pages."""
    pages, read, admin = Pages(service), Role.READ, Role.ADMIN
    rows: tuple[tuple[str, str, Handler, Role | None], ...] = (
        ("GET", "/ui/login", pages.login, None),
        ("POST", "/ui/login", pages.logging_in, None),
        ("POST", "/ui/logout", pages.logging_out, None),
        ("GET", "/ui/link/{token}", pages.link, None),
        ("GET", "/ui/static/{digest}/{name}", pages.static, None),
        ("GET", "/", pages.list, read),
        ("GET", "/ui/list", pages.list_again, read),
        ("GET", "/ui/campaigns/{name}", pages.campaign, read),
        ("GET", "/ui/campaigns/{name}/live", pages.live, read),
        ("GET", "/ui/campaigns/{name}/report.html", pages.report, read),
        ("GET", "/ui/campaigns/{name}/export.csv", pages.export, read),
        ("GET", "/ui/new", pages.new, admin),
        ("POST", "/ui/new", pages.begin, admin),
        ("POST", "/ui/new/preview", pages.preview, admin),
        ("POST", "/ui/new/rehearsal", pages.rehearsal, admin),
        ("GET", "/ui/new/rehearsal/{job}", pages.rehearsing, admin),
        ("POST", "/ui/campaigns/{name}/{what}", pages.change, admin),
    )
    return [Route(path, Page(handler, role), methods=[method]) for method, path, handler, role in rows]


@dataclass(frozen=True)
class Page:
    """A page that knows its visitor, and whose errors are pages too."""

    handler: Handler
    role: Role | None  # that is needed; None: everybody sees it

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        asked = Visit(scope, receive)
        try:
            asked.visitor = await browser.visitor_of(asked)
            to_login = self.role is not None and asked.visitor.role is None
            if self.role is not None and not to_login:
                check_role(asked.visitor.role, self.role)
            response = _to_login(asked) if to_login else await self.handler(asked)
        except (ElsvError, RefusedError, RecursionError) as error:
            response = _error_page(asked, refusal_of(error))
        for name, value in HEADERS.items():
            response.headers.setdefault(name, value)
        await response(scope, receive, send)


def _to_login(asked: Visit) -> Response:
    if asked.headers.get("hx-request"):
        return Response(status_code=401, headers={"HX-Refresh": "true"})
    address = asked.scope["raw_path"].decode("ascii", "replace") if asked.method == "GET" else "/"
    return _to("/ui/login" + ("" if address == "/" else f"?next={quote(address, safe='')}"))


def _to(address: str) -> Response:
    return RedirectResponse(address, 303)


def _error_page(asked: Visit, refusal: RefusedError) -> Response:
    heading = _HEADINGS.get(refusal.status, HTTPStatus(refusal.status).phrase)
    response = page(asked, "message.html", refusal.status, heading=heading, text=_sentence(refusal.detail))
    response.headers.update({k: v for k, v in refusal.headers.items() if k == "Retry-After"})
    return response


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."


@dataclass
class Job:
    """A rehearsal under way; `values` are those of its template when it is done."""

    form: forms.NewForm
    done: int = 0
    total: int = 0
    stopped: bool = False
    values: dict[str, Any] | None = None
    task: asyncio.Task[None] | None = None

    def report(self, done: int, total: int) -> None:
        """Note how far it is; one that nobody waits for ends here."""
        self.done, self.total = done, total
        if self.stopped:
            raise InvalidInputError("another rehearsal was begun")


class Pages:
    """The pages of a service."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._known: dict[str, tuple[Listed, float, Status | None]] = {}  # for the list
        self._one_at_a_time = asyncio.Semaphore(1)
        self._jobs: dict[str, Job] = {}  # rehearsals, one for each visitor
        self._first: dict[str, asyncio.Future[Any]] = {}  # what is looked up while the server gets ready

    async def login(self, asked: Visit) -> Response:
        """Show the form for a token."""
        onward = inner_address(asked.query_params.get("next", "/"))
        if asked.visitor.role is not None:
            return _to(onward)
        return page(asked, "login.html", next=onward, errors={})

    async def logging_in(self, asked: Visit) -> Response:
        """Begin a session."""
        fields = dict(await form_of(asked))
        onward = inner_address(fields.get("next", "/"))
        if self._service.tokens is None:
            return _to(onward)
        visitor = await logged_in(self._service, fields.get("token", "").strip())
        if visitor is None:
            errors = {"token": "This token is unknown or was revoked; check that it was copied whole."}
            return page(asked, "login.html", 401, next=onward, errors=errors)
        response = _to(onward)
        browser.keep(response, asked, visitor)
        return response

    async def link(self, asked: Visit) -> Response:
        """Log in by a link, unless the visitor may do as much already."""
        onward = inner_address(asked.query_params.get("next", "/"))
        if self._service.tokens is None:
            return _to(onward)
        visitor = await logged_in(self._service, asked.path_params["token"], by_link=True)
        if visitor is None:
            text = "It was revoked, its time is over, or it was not copied whole; ask for a new one."
            return page(asked, "message.html", 401, heading="This link does not log in", text=text)
        response = _to(onward)
        if (asked.visitor.role or 0) < (visitor.role or 0):
            browser.keep(response, asked, visitor)
        return response

    async def logging_out(self, asked: Visit) -> Response:
        """End a session."""
        await form_of(asked)
        response = _to("/ui/login")
        await browser.log_out(asked, response)
        return response

    async def static(self, asked: Visit) -> Response:
        """Return a file that pages load."""
        name, digest = asked.path_params["name"], asked.path_params["digest"]
        if name not in browser.static_files():
            raise RefusedError(404, "there is no such file")
        content, kind, known = browser.static_files()[name]
        kept = _FOR_GOOD if digest == known else "no-cache"
        return Response(content, headers={"Cache-Control": kept, "Content-Type": kind})

    async def list(self, asked: Visit) -> Response:
        """Show all campaigns."""
        said = SAID["delete"] if asked.query_params.get("said") == "delete" else ""
        return page(asked, "list.html", here="list", said=said, **await self._all())

    async def list_again(self, asked: Visit) -> Response:
        """Return the rows of the list, brought up to date."""
        return page(asked, "parts/list.html", **await self._all())

    async def campaign(self, asked: Visit) -> Response:
        """Show a campaign; while the server gets ready, its counts until all else is known."""
        if self._service.starting and (shown := await self._counts(asked)):
            return shown
        said = SAID.get(asked.query_params.get("said", ""), "")
        return page(asked, "campaign.html", said=said, **await asked.look(_moment_of))

    async def _counts(self, asked: Visit) -> Response | None:
        """Return a page of counts while all else is computed; None if that is soon done.

        When the page asks again it waits for the rest, and is told to load anew.
        """
        name, asks_again = asked.part("name"), asked.headers.get("hx-request") is not None
        known = await self._within(
            name, lambda: asked.look(_moment_of, long=True), None if asks_again else SOON
        )
        if asks_again:
            return Response(headers={"HX-Refresh": "true"})
        one = None if known else next((one for one in await self._service.listed() if one.name == name), None)
        return None if one is None else page(asked, "counts.html", one=one)

    async def _within(self, what: str, work: Callable[[], Awaitable[Any]], seconds: float | None) -> bool:
        """Begin work unless it is under way; return whether it is done within some seconds."""
        if what not in self._first:
            self._first[what] = asyncio.gather(work(), return_exceptions=True)
        done, _ = await asyncio.wait([self._first[what]], timeout=seconds)
        return bool(done)

    async def live(self, asked: Visit) -> Response:
        """Return the parts of a campaign's page, brought up to date."""
        return page(asked, "live.html", **await asked.look(_moment_of))

    async def report(self, asked: Visit) -> Response:
        """Show the report of a campaign, to be sent, printed or kept."""
        policy = {"Content-Security-Policy": REPORT_POLICY}
        return await file_of(asked, Campaign.report, "report.html", HTML, policy)

    async def export(self, asked: Visit) -> Response:
        """Return all decisions with their outcomes, as CSV."""
        return await file_of(asked, Campaign.export, "export.csv", CSV)

    async def change(self, asked: Visit) -> Response:
        """Change a campaign by one of the forms of its page."""
        name, what = asked.part("name"), asked.path_params["what"]
        fields = defaultdict(str, await form_of(asked))
        try:
            await self._change(name, what, fields, asked.visitor.who)
        except UnknownCampaignError:
            raise
        except InvalidInputError as error:
            values = await asked.look(_moment_of)
            values["errors"] = {"customers" if what == "extend" else what: str(error)}
            typed = {"floor": fields.get("floor"), "extended": fields.get("customers")}
            values["manage"] |= {key: text for key, text in typed.items() if text is not None}
            return page(asked, "campaign.html", 422, said="", **values)
        return _to("/?said=delete" if what == "delete" else f"{page_of(name)}?said={what}")

    async def new(self, asked: Visit) -> Response:
        """Show the form of a new campaign."""
        return self._form(asked, forms.NewForm(), {})

    async def begin(self, asked: Visit) -> Response:
        """Begin the campaign that the form states."""
        form = forms.typed(await form_of(asked))
        try:
            problem, today = await asyncio.to_thread(forms.problem_of, form)
            given = await asyncio.to_thread(forms.settings_of, form, problem, today)
            if form.name in {one.name for one in await self._service.listed()}:
                taken = f"there is a campaign {form.name!r} already; choose another name"
                raise forms.FieldError("name", taken)
            await self._service.begin(form.name, problem, who=asked.visitor.who, **given)
        except (forms.FieldError, BegunOtherwiseError) as error:
            field = error.name if isinstance(error, forms.FieldError) else "name"
            return self._form(asked, form, {field: str(error)}, 422)
        return _to(f"{page_of(form.name)}?said=begun")

    async def preview(self, asked: Visit) -> Response:
        """Show what the form implies before the first customer."""
        form = forms.typed(await form_of(asked))
        try:
            found = await asyncio.to_thread(lambda: check(forms.problem_of(form)[0]))
        except ElsvError as error:
            return page(asked, "parts/preview.html", error=_sentence(str(error)))
        said = forms.best_beforehand(found, form.unit)
        return page(asked, "parts/preview.html", error=None, found=found, said=said)

    async def rehearsal(self, asked: Visit) -> Response:
        """Begin a small rehearsal of the campaign that the form states; one before it of the visitor ends."""
        form = forms.typed(await form_of(asked))
        key = asked.visitor.code[:32]
        self._jobs.pop(key, Job(form)).stopped = True
        while len(self._jobs) >= MOST_JOBS:
            self._jobs.popitem()[1].stopped = True
        job = self._jobs[key] = Job(form)
        job.task = asyncio.create_task(self._rehearse(job))
        await asyncio.wait([job.task], timeout=0.3)  # what does not work is said at once
        return self._shown(asked, key, job)

    async def rehearsing(self, asked: Visit) -> Response:
        """Show how far a rehearsal is, or what it found."""
        key = asked.path_params["job"]
        job = self._jobs.get(key) if key == asked.visitor.code[:32] else None
        if job is None:
            return page(asked, "parts/rehearsal.html", error="This rehearsal is gone; begin it again.")
        return self._shown(asked, key, job)

    def _shown(self, asked: Visit, key: str, job: Job) -> Response:
        if job.values is None:
            return page(asked, "parts/rehearsing.html", job=key, done=job.done, total=job.total)
        return page(asked, "parts/rehearsal.html", **job.values)

    async def _rehearse(self, job: Job) -> None:
        try:
            problem, today = await asyncio.to_thread(forms.problem_of, job.form)
            async with self._one_at_a_time:
                job.values = await asyncio.to_thread(forms.rehearsed, job.form, problem, today, job.report)
        except ElsvError as error:
            job.values = {"error": _sentence(str(error))}

    async def _change(self, name: str, what: str, fields: Mapping[str, str], who: str | None) -> None:
        if what == "delete":
            await self._service.delete(name, fields["again"].strip())
        elif what == "add":
            reward = forms.number("reward", "reward", fields["reward"].strip(), least=1e-9)
            about = {key: fields[key].strip() or None for key in ("expect", "segment")}
            await self._service.add(name, fields["arm"].strip(), reward, who, **about)
        elif what == "floor":
            await self._service.set(name, {"floor": forms.share("floor", fields["floor"])}, who=who)
        elif what in _CHANGES:
            await self._service.look(name, lambda campaign: _CHANGES[what](campaign.by(who), fields))
        else:
            raise RefusedError(404, "there is no such page")

    async def _all(self) -> dict[str, Any]:
        every = await self._service.listed()
        shown = every[:MOST_LISTED]
        for name in self._known.keys() - {one.name for one in shown}:
            del self._known[name]
        starting = self._service.starting
        await (self._within("", lambda: self._statuses(shown), SOON) if starting else self._statuses(shown))
        campaigns = [(one, self._known[one.name][2] if one.name in self._known else None) for one in shown]
        campaigns.sort(key=lambda each: not (each[0].unreadable or each[1] is None or each[1].troubles()))
        return {"campaigns": campaigns, "more": len(every) - len(shown), "starting": starting}

    async def _statuses(self, listed: Sequence[Listed]) -> None:
        """Bring statuses for the list up to date; a campaign has none if this server cannot tell."""
        for one in listed:
            known, found = self._known.get(one.name), None
            if known is not None and known[0] == one and time.monotonic() - known[1] < FRESH:
                continue
            if not one.unreadable:
                with suppress(ElsvError, RecursionError):  # such as of an unknown policy
                    found = await self._service.look(one.name, lambda each: each.status(patient=False))
            self._known[one.name] = one, time.monotonic(), found

    @staticmethod
    def _form(asked: Visit, form: forms.NewForm, errors: dict[str, str], status: int = 200) -> Response:
        known: dict[str, Any] = {"orders": forms.ORDERS, "policies": forms.POLICIES, "zone": local_zone()}
        known |= {"form": form, "errors": errors, "blank": forms.NewForm()}
        return page(asked, "new.html", status, here="new", **known)


def _forget(campaign: Campaign, fields: Mapping[str, str]) -> None:
    customer = fields["customer"].strip()
    if not campaign.forget(customer):
        raise InvalidInputError(f"no decision has the customer {customer!r}; check the name")


_CHANGES: dict[str, Callable[[Campaign, Mapping[str, str]], object]] = {  # by the names of their forms
    "pause": lambda campaign, fields: campaign.pause(),
    "resume": lambda campaign, fields: campaign.resume(),
    "end": lambda campaign, fields: campaign.end(),
    "extend": lambda campaign, fields: campaign.extend(
        int(forms.number("customers", "customers", fields["customers"], least=1, whole=True))
    ),
    "withdraw": lambda campaign, fields: campaign.withdraw(fields["arm"]),
    "restore": lambda campaign, fields: campaign.restore(fields["arm"]),
    "void": lambda campaign, fields: campaign.void(fields["decision"].strip()),
    "correct": lambda campaign, fields: campaign.correct(
        fields["decision"].strip(), fields["success"] == "yes"
    ),
    "forget": _forget,
}


def _moment_of(campaign: Campaign) -> dict[str, Any]:
    """Return what the page of a campaign shows, read in one go beside the event loop."""
    status, settings, segments = campaign.status(patient=False), campaign.settings, campaign.problem.segments
    explanations, unsaid = [], ""
    try:
        explanations = [campaign.explain(one) for one in segments.names or [None]]
    except InvalidInputError as error:  # such as a policy whose tables end before this customer
        unsaid = str(error)
    shown = status.answers()
    return {
        "status": status,
        "reasons": [(explanation, reasons_of(status, explanation)) for explanation in explanations],
        "method": method_of(status),
        "answers": shown,
        "others": [gain for gain in status.gains if gain not in shown],
        "most": MOST_DAYS,
        "seconds": SECONDS,
        "manage": {
            "resting": status.resting,
            "floor": f"{100 * settings.floor:g}",
            "horizon": settings.horizon,
            "extended": "" if settings.horizon is None else f"{2 * settings.horizon}",
        },
        "unsaid": unsaid,
        "errors": {},
    }
