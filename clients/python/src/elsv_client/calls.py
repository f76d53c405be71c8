"""What can be asked of a service: each call described once, as a request and a way to read the answer.

Every call may be sent twice without harm: decisions carry a key, outcomes count once, and settings that are
there already change nothing.
"""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any, Generic, Protocol, TypedDict, TypeVar, Unpack
from urllib.parse import quote

import httpx

from elsv_client.errors import InvalidInputError, ServiceError
from elsv_client.values import Audit, Decision, Explanation, Listed, RewardReceipt, Settings, Status, read

T = TypeVar("T")


@dataclass(frozen=True)
class Call(Generic[T]):
    """A request, and how its answer is read."""

    method: str
    path: str
    read: Callable[[httpx.Response], T]
    body: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    unanswered: T | None = None  # what no answer means, so that it is sent once; None: an error

    @property
    def waited(self) -> bool:
        """Whether a page waits for it, so that it must be quick: decisions and outcomes."""
        return self.method == "POST"


class Stated(Protocol):
    """A problem that can say itself in plain values, as `elsv.Problem` can."""

    def to_dict(self) -> dict[str, Any]:
        """Return the problem as plain values."""
        ...


class GivenSettings(TypedDict, total=False):
    """Settings of a campaign."""

    policy: str
    window: str | float | timedelta | None  # until when an outcome is awaited; None: for ever
    accept_late: bool
    sticky: str  # how long a customer keeps the arm: campaign, open or never
    floor: float
    holdout: float
    control: str | int | Sequence[str | int]  # arms by name, or numbered from 0; or one for each segment
    fallback: str | int | Sequence[str | int]
    unit: str
    timezone: str  # whose days are the campaign's, such as Europe/Berlin


class ChangedSettings(GivenSettings, total=False):
    """Those that may change while it runs."""

    horizon: int
    paused: bool


class NewSettings(GivenSettings, total=False):
    """Those that it is begun with."""

    seed: int


def create(name: str, problem: Stated | Mapping[str, Any], **settings: Unpack[NewSettings]) -> Call[bool]:
    """Begin a campaign; return whether it is new. The same call again changes nothing.

    If the campaign was begun in another way, this is a `ConflictError`: use `change`, or another name.
    """
    stated = dict(problem) if isinstance(problem, Mapping) else problem.to_dict()
    given = {key: value for key, value in settings.items() if value is not None}
    return _sent("PUT", _campaign(name), {"problem": stated, **_plain(given)}, lambda a: a.status_code == 201)


def campaigns() -> Call[list[Listed]]:
    """Return all campaigns, in a line each."""
    return Call("GET", "/campaigns", _several(Listed, "campaigns"))


def status(name: str) -> Call[Status]:
    """Return how a campaign stands; ``print`` it for a table and a few sentences."""
    return Call("GET", _campaign(name), _one(Status))


def change(name: str, **settings: Unpack[ChangedSettings]) -> Call[Settings]:
    """Change settings and return all of them; what is not given stays as it is."""
    return _sent("PATCH", _campaign(name), _plain(settings), _one(Settings))


def decide(
    name: str,
    customer: str | None = None,
    *,
    count: int | None = None,
    segment: str | None = None,
    key: str | None = None,
) -> Call[list[Decision]]:
    """Return the arm for a customer, or for `count` customers who are not known; see `Client.decide`."""
    if customer is not None and count is not None:
        raise InvalidInputError("give either a customer or a count, not both")
    key = uuid.uuid4().hex if key is None else key
    if not key.isascii() or not key.isprintable():
        raise InvalidInputError(f"key must be printable ASCII, as headers are, got {key!r}")
    whom = {"customer": customer, "count": count, "segment": segment}
    body = {name: value for name, value in whom.items() if value is not None}
    reader = _several(Decision, "decisions")
    return _sent("POST", _campaign(name, "/decisions"), body, reader, {"idempotency-key": key})


def reward(decision: str | Decision, success: bool) -> Call[RewardReceipt]:
    """Report an outcome; the receipt says what became of it.

    If an answer was lost on the way, the retry's receipt says that it is a duplicate: it counts once.
    """
    path = f"/decisions/{_quoted(id_of(decision))}/reward"
    return _sent("POST", path, {"success": success}, _one(RewardReceipt))


def rewards(outcomes: Iterable[tuple[str | Decision, bool]]) -> Call[list[RewardReceipt]]:
    """Report many outcomes, of any campaigns; all are recorded or none."""
    listed = [{"decision": id_of(decision), "success": success} for decision, success in outcomes]
    return _sent("POST", "/rewards", {"rewards": listed}, _several(RewardReceipt, "receipts"))


def void(decision: str | Decision) -> Call[RewardReceipt]:
    """Say that the customer never saw what was decided: it counts neither as success nor as failure."""
    return _sent("POST", f"/decisions/{_quoted(id_of(decision))}/void", {}, _one(RewardReceipt))


def void_request(name: str, key: str) -> Call[list[RewardReceipt]]:
    """Say that the answer to a request was never shown, by the key that it was sent with.

    A decision that another request got too stays. A key that the service does not know has no receipts.
    """
    receipts = _several(RewardReceipt, "receipts")
    return _sent("POST", _campaign(name, "/decisions/void"), {"key": key}, receipts)


def explain(name: str, segment: str | None = None) -> Call[Explanation]:
    """Return what the next customer, of `segment` where there are some, would get, and why."""
    asked = "" if segment is None else f"?segment={_quoted(segment)}"
    return Call("GET", _campaign(name, f"/explain{asked}"), _one(Explanation))


def audit(name: str) -> Call[Audit]:
    """Replay the campaign's whole log and compare every count with what is stored."""
    return Call("GET", _campaign(name, "/audit"), _one(Audit))


def export(name: str, path: str | Path) -> Call[Path]:
    """Write all decisions with their outcomes to a Parquet file."""
    return Call("GET", _campaign(name, "/export.parquet"), lambda a: _written(Path(path), a.content))


def report(name: str, path: str | Path) -> Call[Path]:
    """Write the campaign's page to an HTML file."""
    return Call("GET", _campaign(name, "/report.html"), lambda a: _written(Path(path), a.content))


def metrics() -> Call[str]:
    """Return the service's figures, as Prometheus reads them."""
    return Call("GET", "/metrics", lambda a: a.content.decode())


def ready() -> Call[bool]:
    """Return whether the service is ready to decide, without waiting until it is."""
    return Call("GET", "/readyz", lambda a: a.status_code == 200, unanswered=False)


def _sent(
    method: str,
    path: str,
    body: Mapping[str, Any],
    reader: Callable[[httpx.Response], T],
    headers: Mapping[str, str] | None = None,
) -> Call[T]:
    try:
        content = json.dumps(body, allow_nan=False).encode("utf-8")
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"what is sent must be numbers, text and lists of them: {error}") from error
    return Call(method, path, reader, content, {"content-type": "application/json", **(headers or {})})


def _plain(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings as they are sent: arms are numbered from 1, times are seconds."""
    found = dict(settings)
    for key in {"control", "fallback"} & found.keys():
        found[key] = _numbered(found[key])
    if isinstance(found.get("window"), timedelta):
        found["window"] = found["window"].total_seconds()
    return found


def _numbered(arm: Any) -> Any:
    if isinstance(arm, list | tuple):
        return [_numbered(one) for one in arm]
    return arm + 1 if isinstance(arm, int) and not isinstance(arm, bool) else arm


def _one(kind: type[T]) -> Callable[[httpx.Response], T]:
    """Return what reads a value of this kind."""
    return lambda answer: read(kind, _values(answer))


def _several(kind: type[T], key: str) -> Callable[[httpx.Response], list[T]]:
    """Return what reads a list of them, under a key of the answer."""

    def reader(answer: httpx.Response) -> list[T]:
        values = _values(answer)
        if not isinstance(values, dict) or not isinstance(values.get(key), list):
            raise ServiceError(f"the service's answer has no {key}; is there an elsv service?")
        return [read(kind, one) for one in values[key]]

    return reader


def _values(answer: httpx.Response) -> Any:
    try:
        return json.loads(answer.content)
    except ValueError as error:
        raise ServiceError("the service's answer is no JSON; is there an elsv service?") from error


def id_of(decision: object) -> Any:
    """Return the id of a decision; the library's own decisions have one too."""
    return getattr(decision, "id", decision)


def _campaign(name: str, rest: str = "") -> str:
    return f"/campaigns/{_quoted(name)}{rest}"


def _quoted(text: object) -> str:
    if not isinstance(text, str) or not text:
        raise InvalidInputError(f"names and ids must be text, got {text!r}")
    return quote(text, safe="")


def _written(path: Path, content: bytes) -> Path:
    """Write a whole file or none: under another name first, then renamed."""
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    try:
        with temporary.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        with suppress(OSError):
            temporary.unlink()
        raise InvalidInputError(f"{path} cannot be written: {error}") from error
    return path
