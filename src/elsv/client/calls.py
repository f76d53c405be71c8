"""What can be asked of a service: one function for each route, and how its answer is read."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any, Generic, TypedDict, TypeVar
from urllib.parse import quote

from elsv._base.files import write_bytes
from elsv.campaign import Audit, Decision, RewardReceipt, Settings, Status
from elsv.campaign.opening import Listed
from elsv.client import results
from elsv.client.errors import ServiceError
from elsv.errors import InvalidInputError
from elsv.live import Explanation
from elsv.problem import Problem

T = TypeVar("T")


@dataclass(frozen=True)
class Answer:
    """What came back."""

    status: int
    headers: Mapping[str, str]  # names in small letters
    content: bytes

    def values(self) -> Any:
        """Return the content, read as JSON."""
        try:
            return json.loads(self.content)
        except ValueError as error:
            raise ServiceError("the service's answer is no JSON; is there an elsv service?") from error


@dataclass(frozen=True)
class Call(Generic[T]):
    """A request, and how its answer is read."""

    method: str
    path: str
    read: Callable[[Answer], T]
    body: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    refused: tuple[int, ...] = ()  # statuses that are answers too
    unanswered: Callable[[], T] | None = None  # what it means if there is no answer; None: an error


class GivenSettings(TypedDict, total=False):
    """Settings of a campaign, as `elsv.Campaign.open` takes them."""

    policy: str
    window: str | float | timedelta
    accept_late: bool
    sticky: bool
    floor: float
    holdout: float
    control: str | int | Sequence[str | int]  # arms by name, or numbered from 0; or one for each segment
    fallback: str | int | Sequence[str | int]
    unit: str


class ChangedSettings(GivenSettings, total=False):
    """Those that may change while it runs."""

    horizon: int
    paused: bool


class NewSettings(GivenSettings, total=False):
    """Those that it is begun with."""

    seed: int


def create(name: str, problem: Problem | Mapping[str, Any], settings: Mapping[str, Any]) -> Call[bool]:
    """Begin a campaign; read whether it is new."""
    stated = problem.to_dict() if isinstance(problem, Problem) else dict(problem)
    return _sent("PUT", _campaign(name), {"problem": stated, **_plain(settings)}, lambda a: a.status == 201)


def campaigns() -> Call[list[Listed]]:
    """List the campaigns."""
    return Call("GET", "/campaigns", lambda a: [results.listed_of(one) for one in _part(a, "campaigns")])


def status(name: str) -> Call[Status]:
    """Ask how a campaign stands."""
    return Call("GET", _campaign(name), lambda a: results.status_of(a.values()))


def change(name: str, settings: Mapping[str, Any]) -> Call[Settings]:
    """Change settings; read the present ones."""
    return _sent("PATCH", _campaign(name), _plain(settings), lambda a: results.settings_of(a.values()))


def decide_one(name: str, customer: str | None, segment: str | None, key: str | None) -> Call[Decision]:
    """Decide for one customer."""
    several = _decisions(name, {"customer": customer, "segment": segment}, key)
    return Call("POST", several.path, lambda a: several.read(a)[0], several.body, several.headers)


def decide_many(
    name: str, customer: str | None, count: int, segment: str | None, key: str | None
) -> Call[list[Decision]]:
    """Decide for customers who are not known."""
    if customer is not None:
        raise InvalidInputError("give either a customer or a count, not both")
    return _decisions(name, {"count": count, "segment": segment}, key)


def reward(decision: str | Decision, success: bool) -> Call[RewardReceipt]:
    """Report an outcome."""
    path = f"/decisions/{_quoted(_id(decision))}/reward"
    return _sent("POST", path, {"success": success}, lambda a: results.receipt_of(a.values()))


def rewards(outcomes: Iterable[tuple[str | Decision, bool]]) -> Call[list[RewardReceipt]]:
    """Report many outcomes."""
    listed = [{"decision": _id(decision), "success": success} for decision, success in outcomes]
    read = lambda a: [results.receipt_of(one) for one in _part(a, "receipts")]  # noqa: E731
    return _sent("POST", "/rewards", {"rewards": listed}, read)


def explain(name: str, segment: str | None) -> Call[Explanation]:
    """Ask what the next customer would get, and why."""
    asked = "" if segment is None else f"?segment={_quoted(segment)}"
    return Call("GET", _campaign(name, f"/explain{asked}"), lambda a: results.explanation_of(a.values()))


def audit(name: str) -> Call[Audit]:
    """Replay the log."""
    return Call("GET", _campaign(name, "/audit"), lambda a: results.audit_of(a.values()))


def file_of(name: str, kind: str, path: str | Path) -> Call[Path]:
    """Download what a campaign has under `kind`, such as ``export.parquet``, to a file."""

    def read(answer: Answer) -> Path:
        write_bytes(path, answer.content)
        return Path(path)

    return Call("GET", _campaign(name, f"/{kind}"), read)


def ready() -> Call[bool]:
    """Ask whether decisions can be made now; read False from a refusal too."""
    return Call("GET", "/readyz", lambda a: a.status == 200, refused=(503,), unanswered=lambda: False)


def metrics() -> Call[str]:
    """Ask for the figures that Prometheus reads."""
    return Call("GET", "/metrics", lambda a: a.content.decode())


def _decisions(name: str, whom: Mapping[str, Any], key: str | None) -> Call[list[Decision]]:
    # With a key of our own at least, so that a request that is sent again decides nothing anew.
    headers = {"idempotency-key": uuid.uuid4().hex if key is None else key}
    if not headers["idempotency-key"].isascii() or not headers["idempotency-key"].isprintable():
        raise InvalidInputError(f"key must be printable ASCII, as headers are, got {key!r}")
    read = lambda a: [results.decision_of(one) for one in _part(a, "decisions")]  # noqa: E731
    return _sent("POST", _campaign(name, "/decisions"), _plain(whom), read, headers)


def _sent(
    method: str,
    path: str,
    body: Mapping[str, Any],
    read: Callable[[Answer], T],
    headers: Mapping[str, str] | None = None,
) -> Call[T]:
    try:
        content = json.dumps(body, allow_nan=False).encode("utf-8")
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"what is sent must be numbers, text and lists of them: {error}") from error
    return Call(method, path, read, content, {"content-type": "application/json", **(headers or {})})


def _plain(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is given; arms are numbered from 1 in what is sent, and times are seconds."""
    found = {key: value for key, value in settings.items() if value is not None}
    for key in ("control", "fallback"):
        if key in found:
            found[key] = _numbered(found[key])
    if isinstance(found.get("window"), timedelta):
        found["window"] = found["window"].total_seconds()
    return found


def _numbered(arm: Any) -> Any:
    if isinstance(arm, list | tuple):
        return [_numbered(one) for one in arm]
    return arm + 1 if isinstance(arm, int) and not isinstance(arm, bool) else arm


def _part(answer: Answer, key: str) -> list[Any]:
    values = answer.values()
    if not isinstance(values, dict) or not isinstance(values.get(key), list):
        raise ServiceError(f"the service's answer has no {key}; is there an elsv service?")
    return list(values[key])


def _id(decision: str | Decision) -> str:
    return decision.id if isinstance(decision, Decision) else decision


def _campaign(name: str, rest: str = "") -> str:
    return f"/campaigns/{_quoted(name)}{rest}"


def _quoted(text: object) -> str:
    if not isinstance(text, str) or not text:
        raise InvalidInputError(f"names and ids must be text, got {text!r}")
    return quote(text, safe="")
