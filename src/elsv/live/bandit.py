"""Live use: one bandit that chooses, observes, explains itself, and survives a restart."""

from __future__ import annotations

import json
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np

from elsv._base.files import unreadable, write_text
from elsv._base.notices import say_once
from elsv._base.numbers import whole
from elsv.errors import CorruptFileError, InvalidInputError
from elsv.live.explain import Explanation, explain
from elsv.names import parse
from elsv.policies import DEFAULT_POLICY, Policy, make_policy
from elsv.policies.base import ask
from elsv.problem import Problem
from elsv.search.lookahead import check_step
from elsv.segments import number_of
from elsv.state import State, check_arms
from elsv.structure.evidence import Evidence, contradiction, evidence

_FORMAT = "elsv-bandit"
_VERSION = 1
_FIRST_LOOK = 12  # the step from which on what is assumed is watched
_CONTEXTS = "for many features use a contextual bandit, such as Vowpal Wabbit or MABWiser (docs/method.md)"
_AMOUNTS = (
    "for amounts that vary use a bandit with Gaussian rewards, such as SMPyBandits has (docs/method.md)"
)


class Bandit:
    """A problem, a policy and what has been seen so far.

    Parameters
    ----------
    problem
        What to choose among.
    policy
        A name such as ``"elsv:index=gittins"`` or a function ``(state, step, rng) -> arm``.
    seed
        For policies that draw; the same seed and the same outcomes give the same choices. Default: fresh.
    state
        Counts to start from, such as those of another bandit; default: the prior.

    Examples
    --------
    >>> bandit = Bandit(Problem(rewards=[0.8, 0.9, 1.0], order="decreasing", horizon=50), seed=1)
    >>> arm = bandit.choose()
    >>> bandit.observe(arm, success=True)
    >>> bandit.step
    2
    """

    def __init__(
        self,
        problem: Problem,
        policy: str | Policy = DEFAULT_POLICY,
        seed: int | None = None,
        state: State | None = None,
    ) -> None:
        seed = None if seed is None else whole("seed", seed, 0)
        self.problem = problem
        self.policy = make_policy(policy, problem)
        self.policy_name = str(parse(policy)) if isinstance(policy, str) else None
        self.state = State.initial(problem) if state is None else _one(state, problem)
        self._rng = np.random.default_rng(seed)
        self._look_at = _FIRST_LOOK
        if self.step == 1:
            self.policy.prepare()

    @property
    def step(self) -> int:
        """t, one more than the number of outcomes seen."""
        return self.state.step(self.problem)

    def __repr__(self) -> str:
        name = self.policy_name or "a policy of your own"
        groups = f" in {self.problem.segments.count} segments" if self.problem.segments.names else ""
        return f"Bandit({self.problem.arms} arms{groups}, {name!r}, step {self.step})"

    def choose(self, segment: str | int | None = None, *, context: None = None) -> int:
        """Return the arm to pull now, from 0. A policy that draws may answer differently each time.

        In a problem with segments `segment` says who has come, by name or by number from 1. Nothing else of a
        customer counts: a `context` is refused.
        """
        if context is not None:
            raise InvalidInputError(
                "context must be left out: means do not depend on what is known of a customer. A few kinds "
                f"of customers are segments, choose(segment=…); {_CONTEXTS}"
            )
        self._within_horizon()
        who = number_of(self.problem.segments, segment)
        self._watch()
        return int(ask(self.policy, self.problem, self.state, self.step, self._rng, who))

    def observe(self, arm: int, success: bool | None = None, *, reward: None = None) -> None:
        """Record the outcome of pulling `arm` (from 0); it need not be the arm that was chosen.

        An outcome is yes or no, and what a yes earns stands in the problem: a `reward` is refused.
        """
        if reward is not None:
            raise InvalidInputError(
                f"reward must be left out: an outcome is success=True or False, and a success of arm {arm} "
                f"earns what the problem's rewards say; {_AMOUNTS}"
            )
        if success is None:
            raise InvalidInputError("success must be true or false (1 or 0), got None")
        self.state = self.state.observe(arm, success)

    def evidence(self) -> Evidence | None:
        """Return what the outcomes say of what the problem assumes; None if nothing is assumed or seen.

        `elsv.structure.evidence.Evidence`: the likelihood ratio and its chance if what is assumed holds,
        `describe` in words, `warning`, what to do if that chance is 1 % at most, and the Bayes factor.
        """
        return evidence(self.problem, self.state) if self.step > 1 else None

    def explain(self, step: int | None = None, segment: str | int | None = None) -> Explanation:
        """Return the choice in this state and each arm's mean, interval, bonus, q and P(best).

        A policy that draws answers as it will at the next `choose`, which is not affected. `step` is one more
        than the outcomes seen; give a later one for pulls that the state does not show. In a problem with
        segments `segment` says who has come, and the arms are those on offer.
        """
        self._within_horizon()
        now = self.step if step is None else whole("step", step)
        if now < self.step:
            raise InvalidInputError(
                f"step must be at least {self.step} after {self.step - 1} pulls, got {step}"
            )
        if step is not None:
            check_step(self.problem, now)
        name = self.policy_name or "a policy of your own"
        return explain(self.problem, self.policy, self.state, now, deepcopy(self._rng), name, segment=segment)

    def save(self, path: str | Path) -> None:
        """Write everything to a JSON file, atomically."""
        content = {
            "format": _FORMAT,
            "version": _VERSION,
            "problem": self.problem.to_dict(),
            "policy": self.policy_name,
            "alpha": self.state.alpha.tolist(),
            "beta": self.state.beta.tolist(),
            "rng": self._rng.bit_generator.state,
        }
        write_text(path, json.dumps(content, indent=1) + "\n")

    @classmethod
    def load(cls, path: str | Path, policy: str | Policy | None = None) -> Bandit:
        """Read what `save` wrote.

        `policy` replaces the saved one; it must be given if the policy was a function.
        """
        content = _read(path)
        try:
            chosen = content["policy"] if policy is None else policy
            if chosen is None:
                raise InvalidInputError(
                    f"{path} was saved with a policy of your own; pass it: Bandit.load(path, policy=…)"
                )
            bandit = cls(Problem.from_stored(content["problem"]), chosen)
            bandit.state = _one(State(content["alpha"], content["beta"]), bandit.problem)
            bandit._rng.bit_generator.state = content["rng"]
            if bandit._rng.bit_generator.state != content["rng"]:
                raise ValueError("rng is not the state of a generator")
        except InvalidInputError as error:
            raise InvalidInputError(f"{path}: {error}") from error
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise CorruptFileError(f"{path} is damaged: {type(error).__name__}: {error}") from error
        return bandit

    def _watch(self) -> None:
        """Say once that outcomes contradict what is assumed; looked at when they are half as many again."""
        if self.step < self._look_at:
            return
        self._look_at = 3 * self.step // 2
        if (warning := contradiction(self.problem, self.state)) is not None:
            say_once(f"after {self.step - 1} outcomes {warning}")

    def _within_horizon(self) -> None:
        if self.problem.horizon is not None and self.step > self.problem.horizon:
            raise InvalidInputError(
                f"the horizon of {self.problem.horizon} pulls is over; go on with a longer one: "
                "Bandit(problem_with_longer_horizon, policy, state=bandit.state)"
            )


def _one(state: State, problem: Problem) -> State:
    """Return the state if it is a single one of this problem."""
    check_arms(state, problem)
    if state.shape != ():
        raise InvalidInputError(f"state must be of one instance, got a batch of shape {state.shape}")
    return state


def _read(path: str | Path) -> dict[str, Any]:
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"), parse_constant=_no_constants)
    except OSError as error:
        raise unreadable(path, error, "give the path that Bandit.save wrote to") from error
    except (ValueError, RecursionError) as error:  # not text, not JSON, or too many brackets
        raise CorruptFileError(f"{path} is not a bandit saved by elsv: {error}") from error
    if not isinstance(content, dict) or content.get("format") != _FORMAT:
        raise CorruptFileError(f"{path} is not a bandit saved by elsv (no format {_FORMAT!r})")
    if content.get("version") != _VERSION:
        raise CorruptFileError(
            f"{path} has version {content.get('version')!r}, this elsv reads {_VERSION}; "
            "use the elsv that wrote it"
        )
    return content


def _no_constants(text: str) -> float:
    raise ValueError(f"{text} is not a number that a bandit can hold")
