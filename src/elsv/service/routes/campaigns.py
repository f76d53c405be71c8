"""Campaigns: begun, changed and looked at."""

from __future__ import annotations

import asyncio
import re
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Query, Request, Response

from elsv._base.numbers import shown
from elsv.campaign import Campaign
from elsv.campaign.settings import Settings
from elsv.service.answers import (
    AuditAnswer,
    BegunAnswer,
    CampaignsAnswer,
    SettingsAnswer,
    StatusAnswer,
    as_json,
)
from elsv.service.auth import require, service_of
from elsv.service.bodies import CampaignBody, ChangeBody, json_of, problem_from, read
from elsv.service.documents import body_of, responses
from elsv.service.problems import RefusedError
from elsv.service.roles import Role

router = APIRouter(tags=["campaigns"])
_READ, _ADMIN = [Depends(require(Role.READ))], [Depends(require(Role.ADMIN))]
_PARQUET = "application/vnd.apache.parquet"
# The report has no script; its own styles and pictures are inside it.
_REPORT_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'none'; sandbox"
)


@router.put(
    "/campaigns/{name}",
    dependencies=_ADMIN,
    status_code=201,
    response_model=BegunAnswer,
    responses=responses(409, body=True) | {200: {"model": BegunAnswer, "description": "It had begun so."}},
    openapi_extra=body_of(CampaignBody),
)
async def begin(request: Request, name: str) -> Response:
    """Begin a campaign; the same body again changes nothing (200), another one is refused (409)."""
    body = read(CampaignBody, await json_of(request))
    problem = await asyncio.to_thread(problem_from, body.problem)
    created = await service_of(request).begin(name, problem, body.seed, **body.given())
    return as_json({"name": name, "created": created}, 201 if created else 200)


@router.get("/campaigns", dependencies=_READ, response_model=CampaignsAnswer, responses=responses())
async def campaigns(request: Request) -> Response:
    """List all campaigns."""
    return as_json({"campaigns": [one.to_dict() for one in await service_of(request).listed()]})


@router.get(
    "/campaigns/{name}", dependencies=_READ, response_model=StatusAnswer, responses=responses(404, 422)
)
async def status(request: Request, name: str) -> Response:
    """Say how a campaign stands: earnings, gains with intervals, every arm, settings."""

    def look(campaign: Campaign) -> dict[str, Any]:
        version, settings, problem = campaign.version, campaign.settings, campaign.problem
        told = {"settings": _settings(settings, version), "problem": problem.to_dict()}
        return campaign.status().to_dict() | told

    found = await service_of(request).look(name, look)
    return as_json(found, headers={"ETag": f'"{found["settings"]["version"]}"'})


@router.patch(
    "/campaigns/{name}",
    dependencies=_ADMIN,
    response_model=SettingsAnswer,
    responses=responses(404, 412, body=True),
    openapi_extra=body_of(ChangeBody),
)
async def change(
    request: Request,
    name: str,
    if_match: Annotated[
        str | None, Header(description='The version of the settings that was seen last, such as "3".')
    ] = None,
) -> Response:
    """Change settings, as one new version: policy, floor, paused, horizon and others."""
    body = read(ChangeBody, await json_of(request))
    settings, version = await service_of(request).set(name, body.given(), _version(if_match))
    return as_json(_settings(settings, version), headers={"ETag": f'"{version}"'})


@router.get("/campaigns/{name}/explain", dependencies=_READ, responses=responses(404, 422))
async def explain(
    request: Request,
    name: str,
    segment: Annotated[
        str | None, Query(description="Who comes next, where customers are of segments.", max_length=500)
    ] = None,
) -> dict[str, Any]:
    """Say what the next customer would get, and why."""
    found = await service_of(request).look(name, lambda campaign: campaign.explain(segment))
    return as_json(found.to_dict())  # type: ignore[return-value]


@router.get(
    "/campaigns/{name}/audit", dependencies=_READ, response_model=AuditAnswer, responses=responses(404, 422)
)
async def audit(request: Request, name: str) -> Response:
    """Replay the whole log and compare every count with what is stored, exactly."""
    found = await service_of(request).look(name, Campaign.audit, long=True)
    return as_json(found.to_dict())


@router.get(
    "/campaigns/{name}/export.parquet",
    dependencies=_READ,
    response_class=Response,
    responses=responses(404, 422, 501) | {200: {"content": {_PARQUET: {}}, "description": "All decisions."}},
)
async def export(request: Request, name: str) -> Response:
    """Return all decisions with their outcomes, as a Parquet file."""
    content = await service_of(request).look(name, lambda c: _file(c.export, "export.parquet"), long=True)
    headers = {"Content-Disposition": 'attachment; filename="export.parquet"'}
    return Response(content, headers=headers, media_type=_PARQUET)


@router.get(
    "/campaigns/{name}/report.html",
    dependencies=_READ,
    response_class=Response,
    responses=responses(404, 422, 501) | {200: {"content": {"text/html": {}}, "description": "The report."}},
)
async def report(request: Request, name: str) -> Response:
    """Return the status as one page that needs nothing else."""
    content = await service_of(request).look(name, lambda c: _file(c.report, "report.html"), long=True)
    headers = {"Content-Security-Policy": _REPORT_POLICY}
    return Response(content, headers=headers, media_type="text/html; charset=utf-8")


def _file(write: Any, name: str) -> bytes:
    with tempfile.TemporaryDirectory(prefix="elsv") as folder:
        path = Path(folder) / name
        write(path)
        return path.read_bytes()


def _settings(settings: Settings, version: int) -> dict[str, Any]:
    values = asdict(settings)
    for key in ("control", "fallback"):
        if isinstance(values[key], tuple):  # one for each segment
            values[key] = [arm + 1 for arm in values[key]]
        elif values[key] is not None:
            values[key] += 1
    return {"version": version, **values}


def _version(if_match: str | None) -> int | None:
    if if_match is None or if_match.strip() == "*":
        return None
    found = re.fullmatch(r'"?([0-9]{1,9})"?', if_match.strip())
    if not found:
        raise RefusedError(
            422, "If-Match must be a version of the settings", shown(if_match), 'send it as in ETag: "3"'
        )
    return int(found[1])
