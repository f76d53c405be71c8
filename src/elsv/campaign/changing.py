"""Beginning a campaign once and changing its settings by version, as callers do who may repeat themselves."""

from __future__ import annotations

import json
import secrets
from typing import Any

from elsv._base.numbers import whole
from elsv.campaign import log
from elsv.campaign.arguments import new_name
from elsv.campaign.opening import check_horizon, difference, problem_of, settings_of, with_arms
from elsv.campaign.settings import Settings
from elsv.errors import InvalidInputError
from elsv.policies import DEFAULT_POLICY, make_policy
from elsv.problem import Problem
from elsv.stores.base import Store


class BegunOtherwiseError(InvalidInputError):
    """There is a campaign of that name which was begun with something else."""


class OtherVersionError(InvalidInputError):
    """The settings were changed by somebody else meanwhile."""


def begin_once(
    store: Store, name: str, problem: Problem, seed: int | None, given: dict[str, Any], now: float
) -> bool:
    """Begin a campaign; False if it was begun just so before, whatever has been changed since.

    One that was begun with another problem or other settings is an error.
    """
    made = Settings(horizon=problem.horizon).changed(problem, **with_arms(problem, given))
    make_policy(made.policy or DEFAULT_POLICY, problem)  # it may take its time, so before the transaction
    with store.writing() as writing:
        if log.find(writing, name) is None:
            new_name(name)
            fixed = secrets.randbits(48) if seed is None else whole("seed", seed, 0)
            log.create(writing, name, now, json.dumps(problem.to_dict()), fixed, problem.arms)
        head = log.hold(store, writing, name)
        if head.version == 0:
            log.append_settings(writing, head, now, made.to_json())
            log.release(writing, head)
            return True
        own, first = problem_of(head), Settings.from_json(log.settings(writing, head, 1))
        apart = difference(own, problem) or ("seed" if seed not in (None, head.seed) else "")
        if not apart and first != made:
            apart = ", ".join(key for key, value in vars(first).items() if value != getattr(made, key))
    if apart:
        raise BegunOtherwiseError(
            f"campaign {name!r} was begun with something else ({apart}); take another name, or change its "
            "settings"
        )
    return False


def change(
    store: Store, name: str, given: dict[str, Any], now: float, expected: int | None = None
) -> tuple[Settings, int]:
    """Change settings as one new version; return them and its number.

    Parameters
    ----------
    given
        Settings by their names, ``horizon`` and ``paused`` too.
    expected
        The version that the caller has seen; another one is an error.
    """
    with store.writing() as writing:
        head = log.hold(store, writing, name)
        if expected is not None and expected != head.version:
            raise OtherVersionError(
                f"the settings must be those of version {expected}, got version {head.version}; look at them "
                "again"
            )
        before, problem = settings_of(writing, head), problem_of(head)
        check_horizon(before.horizon, given.get("horizon", before.horizon), head)
        after = before.changed(problem, **with_arms(problem, given))
        if after.policy is not None and after.policy != before.policy:
            make_policy(after.policy, problem)
        if after != before:
            log.append_settings(writing, head, now, after.to_json())
            log.release(writing, head)
        return after, head.version
