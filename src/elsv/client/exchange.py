"""What is tried again, and when; without input or output, so that both clients share it.

Every call may be sent twice without harm: decisions carry a key, outcomes count once, and settings that are
there already change nothing. So whatever gets no answer is sent again, as it was.
"""

from __future__ import annotations

import random
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from elsv._base.numbers import shown, whole
from elsv.client.calls import Answer, Call
from elsv.client.errors import UnavailableError, error_of
from elsv.errors import InvalidInputError

T = TypeVar("T")
_AGAIN = (429, 502, 503, 504)  # not now, perhaps later


@dataclass(frozen=True)
class Retries:
    """How often, and after how long, a call is sent again.

    Parameters
    ----------
    most
        So many times after the first; 0: never.
    first, longest
        Seconds before the first of them and at most; doubled in between. The service's own ``Retry-After`` is
        waited for if it is longer, up to `patience`.
    """

    most: int = 8
    first: float = 0.1
    longest: float = 5.0
    patience: float = 60.0

    def __post_init__(self) -> None:
        whole("most", self.most, 0)
        for name in ("first", "longest", "patience"):
            value = getattr(self, name)
            if not isinstance(value, int | float) or not value >= 0:
                raise InvalidInputError(f"{name} must be seconds, 0 or more, got {shown(value)}")

    def pause(self, tried: int, asked: float | None, share: float) -> float:
        """Return how long to wait after so many tries; `share`, from 0 to 1, keeps clients apart."""
        own = min(self.longest, self.first * 2.0 ** min(tried - 1, 60)) * (0.5 + 0.5 * share)
        return own if asked is None else max(own, min(asked, self.patience))


@dataclass(frozen=True)
class Send(Generic[T]):
    """A request that is to be sent now."""

    call: Call[T]


@dataclass(frozen=True)
class Wait:
    """Seconds to let pass."""

    seconds: float


@dataclass(frozen=True)
class Lost:
    """No answer came; why, in words."""

    reason: str
    headers: Mapping[str, str] = field(default_factory=dict)


def exchange(
    call: Call[T], retries: Retries, chance: random.Random
) -> Generator[Send[T] | Wait, Answer | Lost | None, T]:
    """Give what is to be done next and take what came of it, until there is a result or an error."""
    tried = 0
    while True:
        reply = yield Send(call)
        assert reply is not None
        tried += 1
        if isinstance(reply, Answer) and (reply.status < 300 or reply.status in call.refused):
            return call.read(reply)
        if isinstance(reply, Answer) and reply.status not in _AGAIN:
            raise error_of(reply.status, reply.content)
        if tried > retries.most:
            if isinstance(reply, Answer):
                raise error_of(reply.status, reply.content)
            if call.unanswered is not None:
                return call.unanswered()
            raise UnavailableError(
                f"no answer from the service in {tried} tries: {reply.reason}; check its address and that it "
                "runs, and repeat the call: with the same key nothing is decided twice"
            )
        yield Wait(retries.pause(tried, _retry_after(reply.headers), chance.random()))


def _retry_after(headers: Mapping[str, str]) -> float | None:
    try:
        return max(0.0, float(headers.get("retry-after", "")))
    except ValueError:
        return None
