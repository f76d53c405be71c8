r"""Theorem 1: one step of lookahead on the separable value is its index (claim C1). Lemma 1 (claim C8).

The theorem, :math:`q_t(s, i) - v_{t+1}(s) = r_i z_t(s_i)`, is measured on random states, with the value as it
is built here and as Algorithm 3 prints it. The lemma bounds the regret by a difference of residuals,
:math:`\mathrm{Regret} \le \sum_t E\,\varphi_t(\mu, S_t, \pi(S_t)) - \sum_t E\,\varphi_t(\mu, S_t, a^*)` with
:math:`\varphi_t(\mu, s, i) = q_t(s, i) - (\mu_i + v_{t+1}(s))`; rewards 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from elsv._base.typing import FloatArray
from elsv.beliefs import Independent
from elsv.choice import best_arm
from elsv.indices import Index, Setting, index_from_name
from elsv.paper.base import Context, Experiment, Outcome, Table
from elsv.paper.claims import at_most, claim_in, minus, words
from elsv.problem import Problem
from elsv.search import lookahead
from elsv.simulation.precision import Z95
from elsv.state import State
from elsv.values import SeparableValue, ValueFunction

_ROUNDING, _LEMMA_ROUNDING = 1e-9, 1e-7


@dataclass(frozen=True)
class Settings:
    """Indices, and the random states on which they are tried."""

    indices: tuple[str, ...] = (
        "greedy", "ucb", "ucb:count_prior=true", "ucb:scale=2", "ucb1", "ucb-v", "kl-ucb", "moss",
        "bayes-ucb", "gittins", "finite-gittins", "optimistic-gittins",
    )  # fmt: skip
    rewards: tuple[float, ...] = (0.8, 0.9, 1.0)
    steps: tuple[int, ...] = (2, 3, 4, 5, 8, 15, 30, 60, 120)
    states: int = 400  # for each step
    horizon: int = 120


@dataclass(frozen=True)
class Later:
    """An index one step later: Algorithm 3 as printed builds υ_{t+1} from b_{t+1} instead of b_t."""

    index: Index

    @property
    def uses_step(self) -> bool:
        """As the index."""
        return self.index.uses_step

    def __call__(self, alpha: FloatArray, beta: FloatArray, step: int, setting: Setting) -> FloatArray:
        """Return z of the next step."""
        return self.index(alpha, beta, step + 1, setting)

    def prepare(self, setting: Setting, pulls: int) -> None:
        """As the index."""
        self.index.prepare(setting, pulls)


def stops_at_one(value: SeparableValue) -> ValueFunction:
    """Return a value whose recursion stops at one pull, as Algorithm 3 prints it: υ is 0 at none."""

    def without_unpulled(state: State, step: int) -> FloatArray:
        unpulled = value.problem.rewards * (state.pulls(value.problem) == 0)
        return np.asarray(value(state, step) - unpulled.sum(axis=-1) * value.table(step)[0])

    return without_unpulled


def run(settings: Settings, context: Context) -> Outcome:
    """Measure the largest departure from the theorem for every index."""
    problem = Problem(rewards=settings.rewards, horizon=settings.horizon + 1)
    found, rows = {}, []
    for name in settings.indices:
        rng = np.random.default_rng(context.seed)
        d = found[name] = _departures(problem, index_from_name(name), settings, rng)
        exact = minus(f"{d['equation_5']:.1e}") if d["equation_5"] else "0"
        later = f"{d['later_bonus']:.2g}" if d["later_bonus"] > _ROUNDING else "0"
        stops = None if d["stops_at_one"] is None else f"{d['stops_at_one']:.2g}"
        rows.append([f"`{name}`", exact, later, f"{100 * d['later_bonus_other_arm']:.1f} %", stops])
        context.progress(len(rows) / len(settings.indices))
    parts = "equation_5", "equation_5_other_arm", "later_bonus"
    worst, other, printed = (max(d[part] for d in found.values()) for part in parts)
    numbers: dict[str, Any] = {
        "worst": worst, "printed": printed, "other": 100 * other, "indices": len(found),
        "count": settings.states * len(settings.steps), "first": settings.steps[0],
        "last": settings.steps[-1], "rewards": ", ".join(map(str, settings.rewards)),
    }  # fmt: skip
    heads = ["index", "equation (5)", "υₜ with bₜ", "takes another arm", "stops at one pull"]
    return Outcome(
        text=words("theorem", "text", **numbers),
        numbers=found,
        tables=[Table(heads, rows, words("theorem", "table"))],
        claims=[
            claim_in("theorem", "C1", at_most(max(worst, other), _ROUNDING), rounding=_ROUNDING, **numbers)
        ],
    )


def _departures(
    problem: Problem, index: Index, settings: Settings, rng: np.random.Generator
) -> dict[str, Any]:
    """Return the largest |q − v − r z| of each form of the value, and where it takes another arm."""
    value = SeparableValue(problem, index)
    finite = bool(np.isfinite(value.table(3)[0]))
    forms: list[ValueFunction] = [value, SeparableValue(problem, Later(index))]
    forms += [stops_at_one(value)] if finite else []
    gaps, other = [], []
    for step in settings.steps:
        if step <= problem.arms and not finite:
            continue
        state = random_states(problem, step, settings.states, rng, least=0 if finite else 1)
        z = problem.rewards * index(state.alpha, state.beta, step, Setting.of(problem))
        q = [lookahead(problem, state, step, form, Independent()) for form in forms]
        v = [form(state, step + 1)[:, None] for form in forms]
        gaps.append([float(np.abs(q[k] - v[k] - z).max()) for k in range(len(forms))])
        chosen = best_arm(z, problem.scale)
        other.append([float((best_arm(one, problem.scale) != chosen).mean()) for one in q])
    largest, share = np.max(gaps, axis=0).tolist(), np.mean(other, axis=0).tolist()
    return {
        "equation_5": largest[0],
        "equation_5_other_arm": share[0],  # part of the states
        "later_bonus": largest[1],
        "later_bonus_other_arm": share[1],
        "stops_at_one": largest[2] if finite else None,  # None: unpulled arms have an infinite index
    }


def random_states(problem: Problem, step: int, count: int, rng: np.random.Generator, least: int = 0) -> State:
    """Return states that `step` − 1 pulls can lead to, every arm pulled at least `least` times."""
    free = step - 1 - least * problem.arms
    share = rng.dirichlet(np.full(problem.arms, 0.7), size=count)
    pulls = least + rng.multinomial(free, share)
    wins = rng.binomial(pulls, rng.uniform(size=pulls.shape))
    return State(problem.prior[:, 0] + wins, problem.prior[:, 1] + (pulls - wins))


@dataclass(frozen=True)
class LemmaSettings:
    """Value functions with finite bonuses, means, and how often each is simulated."""

    indices: tuple[str, ...] = (
        "gittins", "ucb:count_prior=true,scale=2", "ucb:count_prior=true", "bayes-ucb"
    )  # fmt: skip
    means: tuple[tuple[float, ...], ...] = (
        (0.9, 0.5, 0.1), (0.6, 0.5, 0.4), (0.5, 0.45, 0.4), (0.2, 0.1, 0.05), (0.95, 0.9, 0.9)
    )  # fmt: skip
    horizon: int = 200
    instances: int = 500


def lemma(settings: LemmaSettings, context: Context) -> Outcome:
    """Compute both sides for every value function and every μ."""
    numbers: list[dict[str, Any]] = []
    rows = []
    cases = [(name, mu) for name in settings.indices for mu in settings.means]
    for k, (name, mu) in enumerate(cases):
        *sides, slack = both_sides(name, np.array(mu), settings, np.random.default_rng([context.seed, k]))
        (regret, regret_half), (bound, bound_half) = map(_mean, sides)
        numbers.append(
            {"index": name, "means": list(mu), "regret": regret, "regret_ci95": regret_half, "bound": bound,
             "bound_ci95": bound_half, "least_slack": slack}
        )  # fmt: skip
        shown = f"{regret:.2f} ± {regret_half:.2f}", f"{bound:.2f} ± {bound_half:.2f}"
        rows.append([f"`{name}`", ", ".join(map(str, mu)), *shown, f"{bound / regret:.1f} ×"])
        context.progress((k + 1) / len(cases))
    least = min(case["least_slack"] for case in numbers)
    said = {"slack": least, "tightest": min(case["bound"] / case["regret"] for case in numbers)}
    judged = at_most(-least, _LEMMA_ROUNDING)
    heads = ["value of", "μ", "regret", "bound of Lemma 1", "ratio"]
    return Outcome(
        text=words("decomposition", "text", s=settings),
        numbers={"cases": numbers, "least_slack": least},
        tables=[Table(heads, rows, words("decomposition", "table"), "llrrr")],
        claims=[claim_in("decomposition", "C8", judged, rounding=_LEMMA_ROUNDING, **said)],
    )


def both_sides(
    name: str, mu: FloatArray, settings: LemmaSettings, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray, float]:
    """Simulate one-step lookahead on a separable value: regret and bound, ``[instances]``, and least slack.

    The slack is bound minus regret, the least over all steps and instances.
    """
    problem = Problem(rewards=np.ones(len(mu)), horizon=settings.horizon)
    value = SeparableValue(problem, index_from_name(name))
    state = State.initial(problem, (settings.instances,))
    every, optimal = np.arange(settings.instances), int(np.argmax(mu))
    regret, bound, least = np.zeros(settings.instances), np.zeros(settings.instances), np.inf
    for step in range(1, settings.horizon + 1):
        q = lookahead(problem, state, step, value, Independent())
        residual = q - (mu + value(state, step + 1)[:, None])
        arm = best_arm(q, problem.scale)
        now, allowed = mu[optimal] - mu[arm], residual[every, arm] - residual[:, optimal]
        least = min(least, float((allowed - now).min()))
        regret, bound = regret + now, bound + allowed
        state = state.observe(arm, rng.random(settings.instances) < mu[arm])
    return regret, bound, least


def _mean(values: FloatArray) -> tuple[float, float]:
    return float(values.mean()), float(Z95 * values.std(ddof=1) / np.sqrt(len(values)))


EXPERIMENT = Experiment(
    "theorem",
    "Lookahead equals its index (Theorem 1)",
    run,
    Settings(),
    Settings(states=60, steps=(2, 3, 4, 8, 30), horizon=30),
    weight=1,
)
LEMMA = Experiment(
    "decomposition",
    "Decomposition of the regret (Lemma 1)",
    lemma,
    LemmaSettings(),
    LemmaSettings(horizon=60, instances=200),
    weight=2,
)
