"""What people see: pages under ``/``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fastapi import APIRouter

if TYPE_CHECKING:
    from elsv.service.service import Service


def router(service: Service) -> APIRouter:
    """Return the routes of the pages; they are no part of the OpenAPI document."""
    return APIRouter(include_in_schema=False)
