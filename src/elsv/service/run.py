"""Start a server and stop it."""

from __future__ import annotations

import uvicorn

from elsv.service.app import create_app
from elsv.service.settings import ServiceSettings


def serve(settings: ServiceSettings) -> None:
    """Answer requests until a signal says to stop; what is under way is finished then."""
    settings.check()
    app = create_app(settings)
    uvicorn.run(app, host=settings.host, port=settings.port, log_config=None, access_log=False)
