"""Whether the server lives, and whether it is ready."""

from __future__ import annotations

from fastapi import APIRouter, Request

from elsv.service.auth import service_of
from elsv.service.problems import RefusedError

router = APIRouter(tags=["operations"])


@router.get("/healthz")
async def healthz() -> dict[str, str]:
    """Say that the process lives."""
    return {"status": "alive"}


@router.get("/readyz")
async def readyz(request: Request) -> dict[str, str]:
    """Say whether decisions can be made now."""
    if not service_of(request).ready:
        raise RefusedError(503, "the server is not ready", None, "try again", headers={"Retry-After": "1"})
    return {"status": "ready"}
