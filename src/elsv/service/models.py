"""The bodies of requests and answers, as the OpenAPI document shows them, and the problems in them.

Bodies that begin or change a campaign are checked by their models. Those of decisions and outcomes are only
documented here: `api` reads them by hand. Nothing in a request opens a file.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from elsv._base.numbers import shown
from elsv._base.typing import FloatArray
from elsv.campaign.records import text_of
from elsv.names import parse
from elsv.problem import Problem
from elsv.service.errors import RefusedError
from elsv.service.settings import MOST_ARMS

MOST_AT_ONCE = 1000
LARGEST_REWARD, LARGEST_COUNT = 1e12, 1e9
_EXAMPLE: Any = {
    "problem": {
        "rewards": [0.6, 0.7, 0.85, 1.0],
        "names": ["40 % off", "30 % off", "15 % off", "full price"],
        "order": "decreasing",
        "horizon": 5000,
    },
    "policy": "plan",
    "window": "7 days",
    "unit": "EUR",
}
_DECISION: Any = {
    "id": "0d6f5a1c9f5b4b3aa1c2d3e4f5a6b7c8",
    "number": 1,
    "arm": 3,
    "name": "15 % off",
    "propensity": 1.0,
    "reason": "policy",
    "at": "2026-03-01T09:30:00+00:00",
    "expires": "2026-03-08T09:30:00+00:00",
    "customer": "c-17",
    "repeated": False,
}
_NULLABLE = ("window", "control", "fallback")  # null is a value of these: for ever, no arm
Named = Annotated[str, Field(min_length=1, max_length=500, pattern=r"^[^\x00]*[^\s\x00][^\x00]*$")]
Arm = str | int | list[str | int] | None


def _field(said: str, **limits: Any) -> Any:
    """Return a field that must be there, with what is said of it."""
    return Field(description=said, **limits)


def _maybe(said: str, **limits: Any) -> Any:
    """Return a field that may be left out."""
    return Field(None, description=said, **limits)


def _shown(*examples: Any, strict: bool = False) -> ConfigDict:
    return ConfigDict(extra="forbid", json_schema_extra={"examples": list(examples)}, strict=strict)


class ChangeBody(BaseModel):
    """Settings to change while a campaign runs; those that are left out stay as they are."""

    model_config = _shown({"floor": 0.02, "horizon": 8000}, strict=True)
    policy: str | None = _maybe("A name such as plan, elsv or thompson.", max_length=500)
    floor: float | None = _maybe("Least probability of every arm.", ge=0, lt=1)
    paused: bool | None = _maybe("Whether new customers get the fallback arm.")
    horizon: int | None = _maybe("Customers in all; it can only grow.", ge=1, le=10**12)
    window: str | float | None = _maybe(
        "How long to wait for an outcome: '7 days', or seconds; null: for ever."
    )
    accept_late: bool | None = _maybe("Whether an outcome after the window still counts.")
    sticky: bool | str | None = _maybe(
        "For how long customers keep their decision: campaign (default), open or never; true is "
        "open, false never."
    )
    holdout: float | None = _maybe("Share of customers with the control arm.", ge=0, lt=1)
    control: Arm = _maybe(
        "The arm to measure against: a name, or a number from 1; or a list, one per segment."
    )
    fallback: Arm = _maybe("The arm while paused: a name, or a number from 1.")
    unit: str | None = _maybe("Of the rewards, such as EUR.", max_length=50)
    timezone: str | None = _maybe("Whose days are the campaign's, such as Europe/Berlin.", max_length=100)
    withdrawn: list[str | int] | None = _maybe(
        "All arms that are not on offer, by name or number from 1.", max_length=200
    )
    ended: bool | None = _maybe("true: the customers so far are the last; a larger horizon goes on.")

    def given(self) -> dict[str, Any]:
        """Return the settings that are given."""
        mine = self.model_fields_set & ChangeBody.model_fields.keys()  # a campaign has more beside them
        found = {k: value for k, value in self if k in mine and (value is not None or k in _NULLABLE)}
        if found.get("unit"):
            text_of("unit", found["unit"])
        if "policy" in found and "file" in parse(found["policy"]).parameters:
            raise no_files(found["policy"])
        return found


class CampaignBody(ChangeBody):
    """A campaign to begin."""

    model_config = _shown(_EXAMPLE, strict=True)
    problem: dict[str, Any] = _field(
        "The arms and what is known of them, as in a problem file: rewards, names, order or "
        "structure, prior, horizon or discount."
    )
    seed: int | None = _maybe("Of the random numbers; default: a new one.", ge=0, lt=2**48)


class ArmBody(BaseModel):
    """An arm to add."""

    model_config = _shown({"name": "20 % off", "reward": 12, "expect": "5 to 15 %"}, strict=True)
    name: str = _field("Of the arm.", min_length=1, max_length=500)
    reward: float = _field("What a success pays.", gt=0, le=1e12)
    expect: str | float | None = _maybe("Its rate: '5 to 15 %' or 0.1; default: near its neighbours'.")
    after: str | int | None = _maybe(
        "The arm that it follows in the order, by name or number from 1; default: by reward."
    )
    segment: str | None = _maybe("To whom it is on offer.", max_length=500)
    structure: dict[str, Any] | None = _maybe(
        "What is known of all arms now, where they are not independent or in one order."
    )


class ArmAnswer(BaseModel):
    """An arm that was added."""

    arm: int = _field("Its number, from 1.")
    name: str
    prior: list[float] = _field("Its row.")


class DeleteBody(BaseModel):
    """The name of a campaign to delete, once more."""

    model_config = _shown({"name": "spring"}, strict=True)
    name: str = _field("The name in the address, typed again.", max_length=500)


class DeletedAnswer(BaseModel):
    """A campaign that was deleted."""

    name: str
    file: str = _field("The file on the server that holds its log; `elsv copy` brings it back.")


class ForgetBody(BaseModel):
    """A customer to forget."""

    model_config = _shown({"customer": "c-17"}, strict=True)
    customer: Named = _field("The name that decisions were asked for with.")


class ForgottenAnswer(BaseModel):
    """A customer who is forgotten."""

    decisions: int = _field("From so many decisions the name was removed.")


class DecisionsBody(BaseModel):
    """Whom to decide for."""

    model_config = _shown({"customer": "c-17"}, {"count": 20})
    customer: Named | None = _maybe("Any text that tells customers apart.")
    count: int | None = _maybe("The number of unknown customers to decide for.", ge=1, le=MOST_AT_ONCE)
    segment: str | None = _maybe("The customer's segment.", max_length=500)


class VoidBody(BaseModel):
    """A request for decisions whose answer nobody saw."""

    model_config = _shown({"key": "visit-17"}, strict=True)
    key: str = _field("Its Idempotency-Key.", min_length=1, max_length=500)


class RewardBody(BaseModel):
    """An outcome."""

    model_config = _shown({"success": True})
    success: bool = _field("Whether the customer did what you hoped for.")


class OutcomeBody(RewardBody):
    """An outcome of a decision."""

    model_config = ConfigDict(extra="forbid")
    decision: str = _field("Id of the decision.", min_length=1, max_length=500)


class RewardsBody(BaseModel):
    """Many outcomes, of any campaigns; all are recorded or none."""

    model_config = _shown({"rewards": [{"decision": "6f0c…", "success": True}]})
    rewards: list[OutcomeBody] = Field(min_length=1, max_length=MOST_AT_ONCE)


class DecisionAnswer(BaseModel):
    """An arm for a customer."""

    model_config = ConfigDict(extra="allow", json_schema_extra={"examples": [_DECISION]})
    id: str = _field("Report the outcome with this id.")
    number: int = _field("From 1, in the order of the decisions.")
    arm: int = _field("Number of the arm, from 1.")
    name: str = _field("Name of the arm.")
    propensity: float = _field("The probability with which this arm was chosen.")
    reason: str = _field("policy, floor, holdout, paused, or after (the last customer).")
    at: str = _field("When it was made, in UTC.")
    expires: str | None = _field(
        "If no outcome arrives by then, the decision counts as a failure; null: it stays open."
    )
    customer: str | None
    repeated: bool = _field("Whether it was made before: the same key, or an open decision.")
    segment: str | None = _maybe("The customer's segment, where there are segments.")
    option: str | None = _maybe("The arm's name without its segment, where segments have the same options.")


class DecisionsAnswer(BaseModel):
    """Decisions, in the order in which they were asked for."""

    decisions: list[DecisionAnswer]


class ReceiptAnswer(BaseModel):
    """What became of an outcome."""

    id: str
    status: str = _field(
        "recorded, late (it takes a failure back), too late, corrected, voided or duplicate; "
        "conflict or void: it contradicts the log and changed nothing."
    )
    success: bool | None = _field("The outcome in the log; null: a void decision has none.")
    counted: bool = _field("Whether that outcome counts.")


class ReceiptsAnswer(BaseModel):
    """What became of outcomes, in their order."""

    receipts: list[ReceiptAnswer]


class ListedAnswer(BaseModel):
    """A campaign in a line."""

    name: str
    created: str
    phase: str = _field("not begun, running, paused or over.")
    policy: str | None
    arms: int
    decided: int
    customers: int | None = _field("Planned customers; null without an end.")
    version: int = _field("Of the settings.")
    unreadable: str | None = _maybe("Why this server cannot serve it; null: it can.")


class CampaignsAnswer(BaseModel):
    """All campaigns, by their names."""

    campaigns: list[ListedAnswer]


class SettingsAnswer(BaseModel):
    """The present settings; arms from 1."""

    model_config = ConfigDict(extra="allow")
    version: int
    policy: str | None
    horizon: int | None
    window: float | None = _field("Seconds; null: for ever.")
    floor: float
    paused: bool


class StatusAnswer(BaseModel):
    """How a campaign stands, with its settings and its problem."""

    model_config = ConfigDict(extra="allow")
    name: str
    phase: str
    decided: int
    earned: float
    arms: list[dict[str, Any]]
    settings: SettingsAnswer
    problem: dict[str, Any]


class BegunAnswer(BaseModel):
    """A campaign that has begun."""

    name: str
    created: bool = _field("Whether it is new; false: it was begun with the same body before.")


class AuditAnswer(BaseModel):
    """The result of replaying the whole log."""

    exact: bool = _field("Whether every count follows from the log.")
    decisions: int
    rewards: int
    expirations: int
    voids: int
    corrections: int
    events: int
    problems: list[str]


class StateAnswer(BaseModel):
    """Whether the server lives, or is ready."""

    status: str


class ProblemBody(BaseModel):
    """What went wrong, and what to do."""

    type: str = Field("about:blank", description="Always about:blank: the status says the kind.")
    title: str = _field("The status in words.", examples=["Unprocessable Content"])
    status: int = _field("The HTTP status.", examples=[422])
    detail: str = _field("The whole message.", examples=["rewards must be positive, got -0.2 for arm 3"])
    rule: str = _field("What must hold.", examples=["rewards must be positive"])
    value: str | None = _maybe("What was given.", examples=["-0.2 for arm 3"])
    remedy: str | None = _maybe("What to do.", examples=["give positive rewards"])


def with_arms_from_0(given: Mapping[str, Any], arms: int) -> dict[str, Any]:
    """Return settings as the library takes them: here a number is an arm from 1, there it is one from 0.

    A text stays: the library takes it for the name of an arm, and for a number only if there is no such name.
    """

    def numbered(arm: Any) -> Any:
        if isinstance(arm, list):
            return [numbered(one) for one in arm]
        if not isinstance(arm, int):
            return arm
        if not 1 <= arm <= arms:
            raise RefusedError(422, f"an arm must be a name or a number from 1 to {arms}", shown(arm))
        return arm - 1

    keys = ("control", "fallback", "withdrawn", "after")
    return {key: numbered(value) if key in keys else value for key, value in given.items()}


def problem_from(values: dict[str, Any]) -> Problem:
    """Return the problem that a request states; it may take a while, so beside the event loop."""
    check_no_files(values)
    arms = values.get("rewards")
    if isinstance(arms, list) and len(arms) > MOST_ARMS:
        rule, remedy = f"a campaign has at most {MOST_ARMS} arms here", "leave the unlikely ones out"
        raise RefusedError(422, rule, f"{len(arms):,}", remedy)
    problem = Problem.from_dict(values)
    for name in problem.names:
        text_of("name of an arm", name)
    _check_size("rewards", problem.rewards, LARGEST_REWARD)
    _check_size("counts of the prior", problem.prior, LARGEST_COUNT)
    return problem


def check_no_files(values: object, key: str = "") -> None:
    """Refuse a problem that names a file: ``file``, ``path``, or draws that are a text instead of numbers."""
    if key in ("file", "path") or (key in ("samples", "draws") and isinstance(values, str)):
        raise no_files(values)
    if isinstance(values, Mapping):
        for name, value in values.items():
            check_no_files(value, str(name))
    elif isinstance(values, list):
        for value in values:
            if isinstance(value, Mapping | list | str):
                check_no_files(value, key)


def no_files(value: object) -> RefusedError:
    """Return the refusal of a request that names a file."""
    return RefusedError(
        422,
        "a request cannot name a file of the server",
        shown(value),
        "send the numbers themselves, or begin such a campaign on the server itself: `elsv campaign new`",
    )


def _check_size(what: str, values: FloatArray, largest: float) -> None:
    """Refuse numbers so large that sums over a campaign would overflow."""
    if values.max() > largest:
        raise RefusedError(
            422, f"{what} must be at most {largest:g} here", f"{values.max():g}", "use a larger unit"
        )
