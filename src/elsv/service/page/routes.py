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
from urllib.parse import quote, urlsplit

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from elsv.assumptions import check
from elsv.campaign import Campaign, UnknownCampaignError
from elsv.campaign.opening import BegunOtherwiseError, Listed
from elsv.campaign.settings import local_zone
from elsv.campaign.status import Status
from elsv.campaign.views import answers, method_of, reasons_of
from elsv.errors import ElsvError, InvalidInputError
from elsv.policies.single import choice_name
from elsv.service.api import CSV, REPORT_POLICY, check_role, exported, report_of
from elsv.service.errors import RefusedError, refusal_of
from elsv.service.page import browser, forms
from elsv.service.page.browser import HEADERS, Visitor, keep, logged_in, name_in, page, page_of, static_files
from elsv.service.service import Service
from elsv.service.tokens import Role
from elsv.simulation.precision import HEADS

Handler = Callable[[Request], Awaitable[Response]]
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
    pages = Pages(service)
    for_all: tuple[tuple[str, str, Handler], ...] = (
        ("GET", "/ui/login", pages.login),
        ("POST", "/ui/login", pages.logging_in),
        ("POST", "/ui/logout", pages.logging_out),
        ("GET", "/ui/link/{token}", pages.link),
        ("GET", "/ui/static/{digest}/{name}", pages.static),
    )
    for_visitors: tuple[tuple[str, str, Handler], ...] = (
        ("GET", "/", pages.list),
        ("GET", "/ui/list", pages.list_again),
        ("GET", "/ui/new", pages.new),
        ("POST", "/ui/new", pages.begin),
        ("POST", "/ui/new/preview", pages.preview),
        ("POST", "/ui/new/rehearsal", pages.rehearsal),
        ("GET", "/ui/new/rehearsal/{job}", pages.rehearsing),
        ("GET", "/ui/campaigns/{name}", pages.campaign),
        ("GET", "/ui/campaigns/{name}/live", pages.live),
        ("GET", "/ui/campaigns/{name}/report.html", pages.report),
        ("GET", "/ui/campaigns/{name}/export.csv", pages.export),
        ("POST", "/ui/campaigns/{name}/{what}", pages.change),
    )
    return [
        Route(path, _guarded(handler, needs_login), methods=[method])
        for group, needs_login in ((for_all, False), (for_visitors, True))
        for method, path, handler in group
    ]


def _guarded(handler: Handler, needs_login: bool) -> Handler:
    """Return a page that knows its visitor, and whose errors are pages too."""

    async def answer(request: Request) -> Response:
        try:
            request.state.visitor = Visitor("", None, fresh=False)  # in case that tokens cannot be read
            visitor = request.state.visitor = await browser.visitor_of(request)
            return _to_login(request) if needs_login and visitor.role is None else await handler(request)
        except (ElsvError, RefusedError, RecursionError) as error:
            return _error_page(request, refusal_of(error))

    return answer


def _to_login(request: Request) -> Response:
    if request.headers.get("hx-request"):
        return Response(status_code=401, headers={**HEADERS, "HX-Refresh": "true"})
    asked = request.scope["raw_path"].decode("ascii", "replace") if request.method == "GET" else "/"
    return _to("/ui/login" + ("" if asked == "/" else f"?next={quote(asked, safe='')}"))


def _to(address: str) -> Response:
    return RedirectResponse(address, 303, headers=HEADERS)


def _error_page(request: Request, refusal: RefusedError) -> Response:
    heading = _HEADINGS.get(refusal.status, HTTPStatus(refusal.status).phrase)
    response = page(request, "message.html", refusal.status, heading=heading, text=_sentence(refusal.detail))
    if (wait := refusal.headers.get("Retry-After")) is not None:
        response.headers["Retry-After"] = wait
    return response


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."


async def form_of(request: Request) -> list[tuple[str, str]]:
    """Return the fields of a form, if it was sent from a page of ours."""
    fields = await forms.fields_of(request)
    if not browser.from_our_page(request, request.state.visitor, dict(fields).get("code", "")):
        raise RefusedError(
            403, "a form must be sent from its page", "another origin or an old page", "load the page again"
        )
    return fields


async def admin_form(request: Request) -> list[tuple[str, str]]:
    """Return the fields of a form that only an admin may send."""
    fields = await form_of(request)
    check_role(request.state.visitor.role, Role.ADMIN)
    return fields


def inner_address(text: str) -> str:
    """Return an address on this server to go to after the login; any other becomes the list.

    Examples
    --------
    >>> inner_address("/ui/new"), inner_address("//elsewhere"), inner_address("https://elsewhere/ui/")
    ('/ui/new', '/', '/')
    """
    parts = urlsplit(text) if text.isascii() and text.isprintable() and "\\" not in text else None
    if parts is None or parts.scheme or parts.netloc or not parts.path.startswith("/ui/"):
        return "/"
    return text


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

    async def login(self, request: Request) -> Response:
        """Show the form for a token."""
        onward = inner_address(request.query_params.get("next", "/"))
        if request.state.visitor.role is not None:
            return _to(onward)
        return page(request, "login.html", next=onward, errors={})

    async def logging_in(self, request: Request) -> Response:
        """Begin a session."""
        fields = dict(await form_of(request))
        onward = inner_address(fields.get("next", "/"))
        if self._service.tokens is None:
            return _to(onward)
        visitor = await logged_in(self._service, fields.get("token", "").strip())
        if visitor is None:
            errors = {"token": "This token is unknown or was revoked; check that it was copied whole."}
            return page(request, "login.html", 401, next=onward, errors=errors)
        response = _to(onward)
        keep(response, request, visitor)
        return response

    async def link(self, request: Request) -> Response:
        """Log in whoever was sent a link; who may do as much already stays who they are."""
        onward = inner_address(request.query_params.get("next", "/"))
        if self._service.tokens is None:
            return _to(onward)
        visitor = await logged_in(self._service, request.path_params["token"], by_link=True)
        if visitor is None:
            text = "It was revoked, its time is over, or it was not copied whole; ask for a new one."
            return page(request, "message.html", 401, heading="This link does not log in", text=text)
        response = _to(onward)
        if (request.state.visitor.role or 0) < (visitor.role or 0):
            keep(response, request, visitor)
        return response

    async def logging_out(self, request: Request) -> Response:
        """End a session."""
        await form_of(request)
        response = _to("/ui/login")
        await browser.log_out(request, response)
        return response

    async def static(self, request: Request) -> Response:
        """Return a file that pages load."""
        name, digest = request.path_params["name"], request.path_params["digest"]
        if name not in static_files():
            raise RefusedError(404, "there is no such file")
        content, kind, known = static_files()[name]
        kept = _FOR_GOOD if digest == known else "no-cache"
        return Response(content, headers={**HEADERS, "Cache-Control": kept, "Content-Type": kind})

    async def list(self, request: Request) -> Response:
        """Show all campaigns."""
        said = SAID["delete"] if request.query_params.get("said") == "delete" else ""
        return page(request, "list.html", here="list", said=said, **await self._all())

    async def list_again(self, request: Request) -> Response:
        """Return the rows of the list, brought up to date."""
        return page(request, "parts/list.html", **await self._all())

    async def campaign(self, request: Request) -> Response:
        """Show a campaign; while the server gets ready, its counts until all else is known."""
        if self._service.starting and (shown := await self._counts(request, name_in(request))):
            return shown
        said = SAID.get(request.query_params.get("said", ""), "")
        return page(
            request, "campaign.html", said=said, **await self._service.look(name_in(request), _moment_of)
        )

    async def _counts(self, request: Request, name: str) -> Response | None:
        """Return a page of counts, and to it, when it asks again, that all is known; None if that is soon."""
        asks_again = request.headers.get("hx-request") is not None
        known = await self._within(
            name, lambda: self._service.look(name, _moment_of, long=True), None if asks_again else SOON
        )
        if asks_again:
            return Response(headers={**HEADERS, "HX-Refresh": "true"})
        one = None if known else next((one for one in await self._service.listed() if one.name == name), None)
        return None if one is None else page(request, "counts.html", one=one)

    async def _within(self, what: str, work: Callable[[], Awaitable[Any]], seconds: float | None) -> bool:
        """Return whether work is done within some seconds; it goes on, and is not begun twice."""
        if what not in self._first:
            self._first[what] = asyncio.gather(work(), return_exceptions=True)
        done, _ = await asyncio.wait([self._first[what]], timeout=seconds)
        return bool(done)

    async def live(self, request: Request) -> Response:
        """Return the parts of a campaign's page, brought up to date."""
        return page(request, "live.html", **await self._service.look(name_in(request), _moment_of))

    async def report(self, request: Request) -> Response:
        """Show the report of a campaign, to be sent, printed or kept."""
        content = await self._service.look(name_in(request), report_of, long=True)
        kept = {
            "Content-Security-Policy": REPORT_POLICY.removesuffix("; sandbox"),
            "Cache-Control": "no-store",
        }
        return Response(content, headers={**HEADERS, **kept}, media_type="text/html; charset=utf-8")

    async def export(self, request: Request) -> Response:
        """Return all decisions with their outcomes, as CSV."""
        response = await exported(request, "export.csv", CSV)
        response.headers.update({**HEADERS, "Cache-Control": "no-store"})
        return response

    async def change(self, request: Request) -> Response:
        """Change a campaign by one of the forms of its page."""
        name, what = name_in(request), request.path_params["what"]
        fields = defaultdict(str, await admin_form(request))
        try:
            await self._change(name, what, fields, request.state.visitor.who)
        except UnknownCampaignError:
            raise
        except InvalidInputError as error:
            values = await self._service.look(name, _moment_of)
            values["errors"] = {"customers" if what == "extend" else what: str(error)}
            typed = {"floor": fields.get("floor"), "extended": fields.get("customers")}
            values["manage"] |= {key: text for key, text in typed.items() if text is not None}
            return page(request, "campaign.html", 422, said="", **values)
        return _to("/?said=delete" if what == "delete" else f"{page_of(name)}?said={what}")

    async def new(self, request: Request) -> Response:
        """Show the form of a new campaign."""
        check_role(request.state.visitor.role, Role.ADMIN)
        return self._form(request, forms.NewForm(), {})

    async def begin(self, request: Request) -> Response:
        """Begin the campaign that the form states."""
        form = forms.typed(await admin_form(request))
        try:
            problem, today = await asyncio.to_thread(forms.problem_of, form)
            given = await asyncio.to_thread(forms.settings_of, form, problem, today)
            if form.name in {one.name for one in await self._service.listed()}:
                raise forms.FieldError(
                    "name", f"there is a campaign {form.name!r} already; choose another name"
                )
            await self._service.begin(form.name, problem, who=request.state.visitor.who, **given)
        except forms.FieldError as error:
            return self._form(request, form, {error.name: str(error)}, 422)
        except BegunOtherwiseError as error:
            return self._form(request, form, {"name": str(error)}, 422)
        return _to(f"{page_of(form.name)}?said=begun")

    async def preview(self, request: Request) -> Response:
        """Show what the form implies before the first customer."""
        form = forms.typed(await admin_form(request))
        values: dict[str, Any]
        try:
            found = await asyncio.to_thread(lambda: check(forms.problem_of(form)[0]))
            values = {"error": None, "found": found, "said": forms.best_beforehand(found, form.unit)}
        except ElsvError as error:
            values = {"error": _sentence(str(error))}
        return page(request, "parts/preview.html", **values)

    async def rehearsal(self, request: Request) -> Response:
        """Begin a small rehearsal of the campaign that the form states; one before it of the visitor ends."""
        form = forms.typed(await admin_form(request))
        key = request.state.visitor.code[:32]
        self._jobs.pop(key, Job(form)).stopped = True
        while len(self._jobs) >= MOST_JOBS:
            self._jobs.popitem()[1].stopped = True
        job = self._jobs[key] = Job(form)
        job.task = asyncio.create_task(self._rehearse(job))
        await asyncio.wait([job.task], timeout=0.3)  # what does not work is said at once
        return self._shown(request, key, job)

    async def rehearsing(self, request: Request) -> Response:
        """Show how far a rehearsal is, or what it found."""
        check_role(request.state.visitor.role, Role.ADMIN)
        key = request.path_params["job"]
        job = self._jobs.get(key) if key == request.state.visitor.code[:32] else None
        if job is None:
            return page(request, "parts/rehearsal.html", error="This rehearsal is gone; begin it again.")
        return self._shown(request, key, job)

    def _shown(self, request: Request, key: str, job: Job) -> Response:
        if job.values is None:
            return page(request, "parts/rehearsing.html", job=key, done=job.done, total=job.total)
        return page(request, "parts/rehearsal.html", **job.values)

    async def _rehearse(self, job: Job) -> None:
        try:
            problem, today = await asyncio.to_thread(forms.problem_of, job.form)
            async with self._one_at_a_time:
                found = await asyncio.to_thread(
                    forms.rehearsed, problem, job.form.policy, today, job.form.unit, job.report
                )
            cut = forms.MOST_REHEARSED if (problem.horizon or 0) > forms.MOST_REHEARSED else None
            values: dict[str, Any] = {"error": None, "found": found, "cut": cut}
            values |= {"against": choice_name(problem, found.against), "heads": HEADS}
            job.values = values | forms.verdict(found)
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
        await self._within("", lambda: self._statuses(shown), SOON) if starting else await self._statuses(
            shown
        )
        campaigns = [(one, self._known[one.name][2] if one.name in self._known else None) for one in shown]
        campaigns.sort(key=lambda each: not (each[0].unreadable or each[1] is None or each[1].troubles()))
        return {"campaigns": campaigns, "more": len(every) - len(shown), "starting": starting}

    async def _statuses(self, listed: Sequence[Listed]) -> None:
        for one in listed:
            await self._status(one)

    async def _status(self, one: Listed) -> None:
        """Bring the status of a campaign for the list up to date; it has none if this server cannot tell."""
        known = self._known.get(one.name)
        if known is not None and known[0] == one and time.monotonic() - known[1] < FRESH:
            return
        found = None
        if not one.unreadable:
            with suppress(ElsvError, RecursionError):  # such as of a policy that this server does not know
                found = await self._service.look(one.name, lambda each: each.status(patient=False))
        self._known[one.name] = one, time.monotonic(), found

    @staticmethod
    def _form(request: Request, form: forms.NewForm, errors: dict[str, str], status: int = 200) -> Response:
        return page(
            request,
            "new.html",
            status,
            here="new",
            form=form,
            errors=errors,
            blank=forms.NewForm(),
            orders=forms.ORDERS,
            policies=forms.POLICIES,
            zone=local_zone(),
        )


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
        explanations = [campaign.explain(one) for one in segments.named or [None]]
    except InvalidInputError as error:  # such as a policy whose tables end before this customer
        unsaid = str(error)
    shown = answers(status)
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
