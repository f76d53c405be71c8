"""For those who run it: whether the server lives, whether it is ready, and what it has done."""

from __future__ import annotations

from fastapi import APIRouter, Depends, Request, Response
from fastapi.responses import PlainTextResponse

from elsv.service.auth import require, service_of
from elsv.service.documents import responses
from elsv.service.problems import RefusedError
from elsv.service.roles import Role

router = APIRouter(tags=["operations"])
_OPEN = responses()


@router.get("/healthz", responses=_OPEN)
async def healthz() -> dict[str, str]:
    """Say that the process lives."""
    return {"status": "alive"}


@router.get("/readyz", responses=_OPEN)
async def readyz(request: Request) -> dict[str, str]:
    """Say whether decisions can be made now: the kernels are there and the database answers."""
    service = service_of(request)
    if not service.ready:
        raise RefusedError(503, "the server is not ready", None, "try again", headers={"Retry-After": "1"})
    await service.check()
    return {"status": "ready"}


@router.get(
    "/metrics",
    dependencies=[Depends(require(Role.READ))],
    response_class=PlainTextResponse,
    responses=_OPEN,
)
async def metrics(request: Request) -> Response:
    """Return counts and histograms as Prometheus reads them."""
    service = service_of(request)
    return PlainTextResponse(service.metrics.text(service.ready), media_type="text/plain; version=0.0.4")
