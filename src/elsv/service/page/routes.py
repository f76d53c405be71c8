"""The pages of campaigns, and the forms that change them."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import RedirectResponse

from elsv.campaign import Campaign, UnknownCampaignError
from elsv.campaign.opening import Listed
from elsv.campaign.settings import Settings
from elsv.campaign.status import Status
from elsv.errors import ElsvError, InvalidInputError
from elsv.live.explain import Explanation
from elsv.service.page import forms
from elsv.service.page.course import Course, Courses, course_view
from elsv.service.page.guard import PageRoute, admin_form
from elsv.service.page.names import from_path, page_of
from elsv.service.page.rendering import HEADERS, page
from elsv.service.page.views import ListedView, listed, listed_briefly, view_of
from elsv.service.problems import RefusedError
from elsv.service.service import Service

PARTS = (
    "phase",
    "lead",
    "doubt",
    "tiles",
    "arms",
    "segments",
    "outcomes",
    "why",
    "course",
    "parts",
    "rivals",
    "settings",
)
SECONDS = 3  # between two looks of a page
MOST_LISTED = 100
FRESH = 4.0  # seconds that a line of the list is good for while no customer comes and no setting changes
SAID = {
    "begun": "The campaign has begun. Ask for decisions with POST /campaigns/NAME/decisions.",
    "pause": "The campaign is paused.",
    "resume": "The campaign goes on.",
    "floor": "The floor is changed.",
    "extend": "The campaign is extended.",
    "end": "The campaign has ended: every further customer gets the arm that is best by now.",
}


class _Moment:
    """Everything that the page of a campaign needs, read in one go beside the event loop."""

    def __init__(self, campaign: Campaign, courses: Courses) -> None:
        self.status: Status = campaign.status()
        segments = campaign.problem.segments
        who = [None] if not segments.stated else segments.names
        self.explanations: list[Explanation] = []
        self.unsaid = ""  # why there are none
        try:
            self.explanations = [campaign.explain(one) for one in who]
        except InvalidInputError as error:  # such as a policy whose tables end before this customer
            self.unsaid = str(error)
        self.settings: Settings = campaign.settings
        resting = self.settings.resting_arm(segments)
        self.resting = (resting,) if isinstance(resting, int) else resting
        self.course: Course = courses.of(campaign, len(self.status.arms))

    def values(self) -> dict[str, Any]:
        """Return what the templates show."""
        names = [arm.name for arm in self.status.arms]
        horizon = self.settings.horizon
        return {
            "view": view_of(self.status, self.explanations),
            "course": course_view(self.course, names),
            "manage": {
                "resting": " / ".join(names[arm] for arm in self.resting),
                "floor": f"{100 * self.settings.floor:g}",
                "horizon": horizon,
                "extended": "" if horizon is None else f"{2 * horizon}",
            },
            "unsaid": self.unsaid,
            "errors": {},
        }


def campaign_routes(service: Service) -> APIRouter:
    """Return the list, the page of a campaign, its parts, its report and what changes it."""
    router = APIRouter(include_in_schema=False, route_class=PageRoute)
    courses = Courses()
    lines: dict[str, tuple[Listed, float, ListedView]] = {}

    async def moment(name: str) -> dict[str, Any]:
        found = await service.look(name, lambda campaign: _Moment(campaign, courses))
        return found.values()

    async def line(one: Listed) -> ListedView:
        known = lines.get(one.name)
        if known is not None and known[0] == one and time.monotonic() - known[1] < FRESH:
            return known[2]
        try:
            if one.unreadable:
                raise InvalidInputError(one.unreadable)
            found = listed(await service.look(one.name, Campaign.status))
        except (ElsvError, RecursionError):  # of a policy or a structure that this server does not know
            found = listed_briefly(one)
        lines[one.name] = one, time.monotonic(), found
        return found

    async def all_listed() -> dict[str, Any]:
        every = await service.listed()
        shown = every[:MOST_LISTED]
        for name in lines.keys() - {one.name for one in shown}:
            del lines[name]
        return {"campaigns": [await line(one) for one in shown], "more": len(every) - len(shown)}

    @router.get("/")
    async def campaigns(request: Request) -> Response:
        return page(request, "list.html", here="list", **await all_listed())

    @router.get("/ui/list")
    async def campaigns_again(request: Request) -> Response:
        return page(request, "parts/list.html", **await all_listed())

    @router.get("/ui/campaigns/{segment}")
    async def campaign(request: Request, segment: str) -> Response:
        said = SAID.get(request.query_params.get("said", ""), "")
        values = await moment(from_path(segment))
        return page(request, "campaign.html", said=said, seconds=SECONDS, **values)

    @router.get("/ui/campaigns/{segment}/live")
    async def live(request: Request, segment: str) -> Response:
        visitor = request.state.visitor
        parts = (*PARTS, "manage") if visitor.may_change else PARTS
        return page(request, "live.html", visitor, parts=parts, **await moment(from_path(segment)))

    @router.get("/ui/campaigns/{segment}/report.html")
    async def report(request: Request, segment: str) -> Response:
        content = await service.look(from_path(segment), _report, long=True)
        kept = {"Content-Disposition": 'attachment; filename="report.html"', "Cache-Control": "no-store"}
        return Response(content, headers={**HEADERS, **kept}, media_type="text/html; charset=utf-8")

    async def change(name: str, what: str, fields: Mapping[str, str]) -> None:
        if what == "floor":
            await service.set(name, {"floor": forms.share("floor", fields.get("floor", ""))})
        elif what == "extend":
            total = forms.whole_number("customers", "customers", fields.get("customers", ""))
            await service.change(name, lambda campaign: campaign.extend(total))
        elif what == "end":
            await service.change(name, Campaign.end)
        elif what in ("pause", "resume"):
            await service.set(name, {"paused": what == "pause"})
        else:
            raise RefusedError(404, "there is no such page")

    @router.post("/ui/campaigns/{segment}/{what}")
    async def changed(request: Request, segment: str, what: str) -> Response:
        name, fields = from_path(segment), dict(await admin_form(request))
        try:
            await change(name, what, fields)
        except UnknownCampaignError:
            raise
        except InvalidInputError as error:
            values = await moment(name)
            values["errors"] = {"customers" if what == "extend" else what: str(error)}
            values["manage"] |= {
                "floor": fields.get("floor", values["manage"]["floor"]),
                "extended": fields.get("customers", values["manage"]["extended"]),
            }
            return page(request, "campaign.html", status=422, said="", seconds=SECONDS, **values)
        return RedirectResponse(f"{page_of(name)}?said={what}", 303, headers=HEADERS)

    return router


def _report(campaign: Campaign) -> bytes:
    with tempfile.TemporaryDirectory(prefix="elsv") as folder:
        return campaign.report(Path(folder) / "report.html").read_bytes()
