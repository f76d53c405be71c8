"""Checks of what callers give."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from elsv._base.numbers import shown, whole
from elsv.campaign.records import Decision
from elsv.errors import InvalidInputError

LONGEST = 500  # characters of a name, customer or key
MOST_AT_ONCE = 100_000


def customers_of(customer: object, count: int | None) -> list[str | None]:
    """Return whom to decide for."""
    if count is not None:
        if customer is not None:
            raise InvalidInputError("give either customers or their count, not both")
        return [None] * min(whole("count", count), _most(count))
    if customer is None:
        return [None]
    given = [customer] if isinstance(customer, str) else customer
    if not isinstance(given, Sequence):
        raise InvalidInputError(f"customer must be text, or a list of texts, got {shown(customer)}")
    if not given:
        raise InvalidInputError("customers must name at least one, got an empty list")
    _most(len(given))
    return [text_of("customer", one) for one in given]


def _most(count: int) -> int:
    if count > MOST_AT_ONCE:
        raise InvalidInputError(f"decide for at most {MOST_AT_ONCE:,} customers at once, got {count:,}")
    return count


def text_of(what: str, given: object) -> str:
    """Return a name, customer or key if it is one."""
    if not isinstance(given, str) or not given.strip() or len(given) > LONGEST or not _storable(given):
        raise InvalidInputError(f"{what} must be text of up to {LONGEST} characters, got {shown(given)}")
    return given


def new_name(given: object) -> str:
    """Return the name of a campaign to begin; every such name can be part of an address."""
    name = text_of("name of a campaign", given)
    if "/" in name or name in (".", ".."):
        raise InvalidInputError(
            f"name of a campaign must not contain '/', nor be '.' or '..', got {shown(name)}; take another, "
            f"such as {name.strip('./').replace('/', '-') or 'spring'!r}"
        )
    return name


def _storable(text: str) -> bool:
    """Return whether databases can hold a text: no null byte, no half of a surrogate pair."""
    return "\0" not in text and not any("\ud800" <= letter <= "\udfff" for letter in text)


def id_of(decision: object) -> str:
    """Return the id of a decision that is given itself or by its id."""
    return decision.id if isinstance(decision, Decision) else text_of("id of a decision", decision)


def truth_of(success: object) -> bool:
    """Return whether an outcome is a success."""
    if not isinstance(success, bool | np.bool_) and success not in (0, 1):
        raise InvalidInputError(f"success must be true or false, got {shown(success)}")
    return bool(success)
