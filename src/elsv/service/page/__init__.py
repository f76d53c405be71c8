"""What people see: pages under ``/``, rendered by the server and brought up to date by htmx.

Read `routes` first (the pages of campaigns), then `views` (what they show). `guard` and `sessions` say who
may see them and send their forms.
"""

from __future__ import annotations

from fastapi import APIRouter

from elsv.service.page.beginning import beginning_routes
from elsv.service.page.entrance import entrance_routes
from elsv.service.page.routes import campaign_routes
from elsv.service.service import Service


def router(service: Service) -> APIRouter:
    """Return the routes of the pages; they are no part of the OpenAPI document."""
    found = APIRouter(include_in_schema=False)
    for part in (entrance_routes, beginning_routes, campaign_routes):
        found.include_router(part(service))
    return found
