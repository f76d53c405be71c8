"""The form of a new campaign: what it implies, a rehearsal, and the beginning."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import RedirectResponse

from elsv.campaign.opening import BegunOtherwiseError
from elsv.errors import ElsvError
from elsv.service.auth import check_role
from elsv.service.page import forms
from elsv.service.page.guard import PageRoute, admin_form
from elsv.service.page.names import page_of
from elsv.service.page.previews import how, prior_view, rehearsed, rehearsed_rows
from elsv.service.page.rendering import HEADERS, page
from elsv.service.roles import Role
from elsv.service.service import Service

_ANCHORS = {"arms": "arms", "order": "order"}


def beginning_routes(service: Service) -> APIRouter:
    """Return the form and what it asks for on the way."""
    router = APIRouter(include_in_schema=False, route_class=PageRoute)
    one_at_a_time = asyncio.Semaphore(1)

    def form_page(
        request: Request, form: forms.NewForm, errors: dict[str, str], status: int = 200
    ) -> Response:
        return page(
            request,
            "new.html",
            status=status,
            here="new",
            form=form,
            errors=errors,
            anchors=_ANCHORS,
            empty=forms.ArmFields(),
            orders=forms.ORDERS,
            policies=forms.POLICIES,
        )

    @router.get("/ui/new")
    async def new(request: Request) -> Response:
        check_role(request.state.visitor.role, Role.ADMIN)
        return form_page(request, forms.NewForm(), {})

    @router.post("/ui/new")
    async def begin(request: Request) -> Response:
        form = forms.typed(await admin_form(request))
        try:
            problem, given = await asyncio.to_thread(_stated, form)
            known = {one.name for one in await service.listed()}
            if form.name in known:
                raise forms.FieldError(
                    "name", f"there is a campaign {form.name!r} already; choose another name"
                )
            await service.begin(form.name, problem, **given)
        except forms.FieldError as error:
            return form_page(request, form, {error.name: str(error)}, 422)
        except BegunOtherwiseError as error:
            return form_page(request, form, {"name": str(error)}, 422)
        return RedirectResponse(f"{page_of(form.name)}?said=begun", 303, headers=HEADERS)

    @router.post("/ui/new/preview")
    async def preview(request: Request) -> Response:
        form = forms.typed(await admin_form(request))
        values: dict[str, Any] = {"error": None}
        try:
            found = await asyncio.to_thread(lambda: prior_view(forms.problem_of(form)[0], form.unit))
            values |= vars(found)
        except ElsvError as error:
            values["error"] = f"{str(error)[0].upper()}{str(error)[1:]}."
        return page(request, "parts/preview.html", **values)

    @router.post("/ui/new/rehearsal")
    async def rehearsal(request: Request) -> Response:
        form = forms.typed(await admin_form(request))
        values: dict[str, Any] = {"error": None}
        try:
            problem, today = forms.problem_of(form)
            async with one_at_a_time:
                found = await asyncio.to_thread(rehearsed, problem, form.policy, today)
            values |= {
                "recommendation": found.recommendation(),
                "against": problem.names[found.against],
                "rows": [asdict(row) for row in rehearsed_rows(found)],
                "how": how(problem, found),
            }
        except ElsvError as error:
            values["error"] = f"{str(error)[0].upper()}{str(error)[1:]}."
        return page(request, "parts/rehearsal.html", **values)

    return router


def _stated(form: forms.NewForm) -> tuple[Any, dict[str, Any]]:
    problem, today = forms.problem_of(form)
    return problem, forms.settings_of(form, problem, today)
