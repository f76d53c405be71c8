r"""`Plan`, the default policy: near the Bayes optimum wherever that was computed (past the paper).

It searches d pulls ahead among a few candidate arms and commits at the frontier,

.. math:: V(s) = \sum_g q_g(s) \max_{i \in A_g}\; p_i(s) \bigl(r_i + V(s{+}\text{success}_i)\bigr)
    + (1 - p_i(s))\, V(s{+}\text{failure}_i), \qquad
    V(\text{frontier}) = R \sum_g q_g \max_{l \in A_g} r_l\, p_l,

with R the pulls left there and :math:`q_g` the chance that the next customer is of segment g. The search goes
as near the end as its states allow, by steps that grow, in each of which one arm is pulled. Where it does not
see the end it weighs pulling one arm for longer, to commit as soon as that is better. Where no arm wins back
half of what one pull of it costs, the best arm is pulled. The first decision is the same for everybody and is
searched with 40 times as many states. All these scores are the worth of a policy that
could be followed, a lower bound on the best one. docs/planning.md has the rule in 25 lines,
`elsv.policies.plan_rules` its numbers.

Segments that the structure does not connect tell nothing of one another. Where there are more arms than a
search has candidates, each is planned for by itself, with the customers that it may expect,
:math:`1 + (R - 1) q_g` of the R that are left; so is every segment of independent arms. There, where a search
is too short, the finite-horizon Gittins index decides; for a discount the Gittins index, the discount from
one customer of the segment to the next being :math:`q_g\gamma/(1 - (1 - q_g)\gamma)`. With one segment that
is optimal.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from elsv._base.numbers import whole
from elsv._base.typing import AnyArray, FloatArray, IntArray, Rng
from elsv.beliefs import Belief
from elsv.beliefs.abilities import apart, factors, moments, repeats, weighs
from elsv.beliefs.base import mean_of
from elsv.beliefs.points import check_count, most_points
from elsv.beliefs.samples import with_points
from elsv.indices.base import Setting
from elsv.indices.finite_gittins import FiniteGittins
from elsv.indices.gittins import Gittins
from elsv.policies import plan_rules as rules
from elsv.policies.asking import GROUPS, Awaiting, averaged
from elsv.policies.base import BestScore, Segment, discount_within
from elsv.policies.layers import LayerPolicy
from elsv.policies.plan_layers import plan_on_layers
from elsv.problem import Problem
from elsv.search.lookahead import check_step
from elsv.search.points_search import PointsSearch, Roots, search_independent
from elsv.state import State, check_width
from elsv.values.commit import remaining


@dataclass(frozen=True, eq=False)
class Plan(BestScore):
    """Search d pulls ahead; without an order, the Gittins index where the search is too short.

    Parameters
    ----------
    problem
        Gives rewards, order, horizon or discount.
    effort
        Most states that a search expands. Results depend on it and on nothing like the time taken.
    points
        How many joint points of the belief a search adds up. With an order 768 are Gauss rules of 12, 8 and
        8 points: score differences are within about 1e-6 of a pull's reward, for each pull left, up to
        T = 290. Where points are draws, as many more are added up as it takes for the best arm's lead to be
        clear of its error, while that takes no longer than a search to the farthest frontier.
    belief
        What is known of the means; default: the exact belief for the problem's order. Any belief will do:
        the search needs its means and points (`elsv.beliefs.points`).
    far
        How many times as many states are expanded under a structure: 3 looks 22 pulls ahead for three arms, 6
        looks 27, 13 looks 33.

    Examples
    --------
    >>> problem = Problem(rewards=[0.4, 0.7, 1.0], order="decreasing", horizon=50)
    >>> int(Plan(problem)(State.initial(problem), 1))
    1
    """

    problem: Problem
    effort: int = rules.EFFORT
    points: int = rules.POINTS
    belief: Belief | None = None
    far: int = rules.FAR
    _known: dict[int, Plan] = field(init=False, repr=False, default_factory=dict)  # see `_sharing`

    def __post_init__(self) -> None:
        check_count(self.points)
        whole("effort", self.effort)
        whole("far", self.far)

    @property
    def deterministic(self) -> bool:
        """Yes; a belief that draws is asked once, unless it is another than the problem's."""
        return self.belief is None or repeats(self.belief)

    costly = True  # about a millisecond

    @property
    def steady(self) -> bool:
        """If it is deterministic."""
        return self.deterministic

    def __call__(self, state: State, step: int, rng: Rng | None = None, segment: Segment = None) -> IntArray:
        """Return the arm for every instance, shape ``[...]``; an exact belief does not use `rng`."""
        return super().__call__(state, step, rng, segment)  # type: ignore[arg-type]

    def on_layers(self, problem: Problem) -> LayerPolicy:
        """Return the same search from all states of a layer at once, with exact weights instead of points."""
        if self.belief is not None or not weighs(problem.belief):
            return super().on_layers(problem)
        return plan_on_layers(problem, self.effort, self.far, self, self._first_arm)

    def scores(self, state: State, step: int, rng: Rng | None = None) -> FloatArray:
        """Return what pulling each arm is worth, or reward times index, shape ``[..., N]``.

        Each arm's score is given that its segment has come. Where segments are planned for one by one it
        counts the customers of its own segment.
        """
        check_step(self.problem, step)
        check_width(state, self.problem)
        left = remaining(self.problem, step)
        if isinstance(state, Awaiting) and not self._by_index(left):
            return averaged(
                state,
                self._pointed,
                self.problem.rewards,
                rules.shared_points(self.points, GROUPS),
                lambda some, count: self._sharing(count).scores(some, step, rng),
            )
        roots = State.trusted(*state.rows())
        if self._independent:
            return self._free(roots, left).reshape(state.alpha.shape)
        if self._alone is not None:
            q = np.empty(roots.alpha.shape)
            for g, here, now in self._turns(roots, left):
                q[here] = self._alone[g].scores(roots.part(here), now)
            return q.reshape(state.alpha.shape)
        a, b = self.problem.prior.T
        if step == 1 and (roots.alpha == a).all() and (roots.beta == b).all() and self._first is not None:
            return np.broadcast_to(self._first, state.alpha.shape).copy()
        return self._plan(roots, left, rng).reshape(state.alpha.shape)

    def prepare(self) -> None:
        """Search for the first decision, which is known before anybody comes and sees farther than others."""
        if not self._independent and self._alone is None:
            _ = self._first

    @cached_property
    def _first(self) -> FloatArray | None:
        """Scores ``[N]`` before anything has been seen; None if they are found as in any other state."""
        left = remaining(self.problem, 1)
        # Points that are products are quickly added up.
        products = self.problem.segments.count == 1 and hasattr(self._pointed, "some_points")
        if not (products and self.deterministic and self._way(left).stops):
            return None
        start = State.trusted(*State.initial(self.problem).rows())
        return np.asarray(replace(self, far=rules.FIRST * self.far)._plan(start, left, None)[0])

    def _first_arm(self) -> int | None:
        """Return the arm of the first decision, if it is searched farther than others."""
        return None if self._first is None else int(self(State.initial(self.problem), 1))

    @property
    def _independent(self) -> bool:
        """Whether the arms are independent."""
        return self.belief is None and factors(self.problem.belief)

    def _by_index(self, left: float) -> bool:
        """Return whether an index decides, with so many pulls left."""
        states = rules.states_of(self.problem.segments, self.effort)
        return self._independent and not rules.searches_free(self.problem.arms, states, self._pulls(left))

    def _pulls(self, left: float) -> int:
        return rules.ENDLESS if self.problem.horizon is None else round(left)

    def _sharing(self, count: int) -> Plan:
        """Return what makes one of `count` searches, which share the states that may be expanded.

        With 0 it searches while so much is under way that looking far does not pay.
        """
        if count == 1 or self._independent:
            return self
        if count not in self._known:
            effort = max(1, self.effort // (count or rules.CROWDED))
            points = rules.shared_points(self.points, count or 1)
            part = self._known[count] = replace(self, effort=effort, points=points)
            part.__dict__["_pointed"] = self._pointed  # its draws are made once
        return self._known[count]

    def _free(self, state: State, left: float) -> FloatArray:
        """Return scores ``[B, N]`` of independent arms."""
        problem, segments = self.problem, self.problem.segments
        if not self._by_index(left):
            depth = rules.depth_of(problem.arms, rules.states_of(segments, self.effort), round(left))
            return search_independent(problem, state, depth, left)
        q = np.empty(state.alpha.shape)
        if problem.discount is not None:
            setting = Setting.of(problem, alone=len(q) == 1)
            for g, own in enumerate(segments.places):
                index = Gittins(discount_within(problem, g))
                q[:, own] = index(state.alpha, state.beta, 1, setting)[:, own]
            return problem.rewards * q
        for _, here, step in self._turns(state, left):
            rows, own = here[0][:, 0], here[1][0]
            setting = Setting.of(problem, alone=len(rows) == 1)
            q[here] = FiniteGittins()(state.alpha[rows], state.beta[rows], step, setting)[:, own]
        return problem.rewards * q

    def _turns(self, state: State, left: float) -> Iterator[tuple[int, tuple[AnyArray, ...], int]]:
        """Yield each segment, states that expect as many of its customers, and the step as if no others came.

        The states come with the segment's arms, as the index of an array ``[B, N]``.
        """
        segments = self.problem.segments
        expected = np.rint(1.0 + (left - 1.0) * segments.chances_in(state, self.problem)).astype(np.int64)
        for g, arms in enumerate(segments.groups):
            for customers in np.unique(expected[:, g]).tolist():
                rows = np.flatnonzero(expected[:, g] == customers)
                yield g, np.ix_(rows, np.array(arms)), self.problem.steps - customers + 1

    @cached_property
    def _alone(self) -> tuple[Plan, ...] | None:
        """A planner for each segment, where no segment tells of another and not all arms can be searched."""
        problem, segments = self.problem, self.problem.segments
        searched = rules.candidate_count(segments) == problem.arms
        if self.belief is not None or problem.horizon is None or searched or segments.count == 1:
            return None
        if (beliefs := apart(problem.belief, segments.groups)) is None:
            return None
        found = []
        for own, belief in zip(map(list, segments.groups), beliefs, strict=True):
            part = Problem(problem.rewards[own], horizon=problem.horizon, prior=problem.prior[own])
            own_belief = None if factors(belief) else belief
            found.append(Plan(part, self.effort, self.points, own_belief, self.far))
        return tuple(found)

    def _plan(self, state: State, left: float, rng: Rng | None) -> FloatArray:
        """Return q ``[B, N]`` by searches on points of the belief."""
        problem, segments = self.problem, self.problem.segments
        belief = self._pointed
        few = problem.arms <= rules.MOST_CANDIDATES
        mean, variance = (mean_of(belief, state, rng), None) if few else moments(belief, state, rng)
        worth = problem.rewards * mean
        roots = Roots(problem, state, worth, left)
        # A pull from which nothing is learnt: the search can only find more.
        q = worth + roots.later(roots.best(worth))[:, segments.of_arm]
        if problem.arms == 1:
            return q
        here = np.arange(len(q))
        if variance is not None:
            here = np.flatnonzero(rules.undecided(segments, worth, problem.rewards * np.sqrt(variance)))
        if len(here):
            q[here] = self._by_need(roots.part(here), q[here])
        return q

    @cached_property
    def _pointed(self) -> Belief:
        """The belief, with points that cost no draws in every state."""
        return with_points(self.problem.belief if self.belief is None else self.belief, self.problem)

    def _by_need(self, roots: Roots, q: FloatArray) -> FloatArray:
        """Return q ``[B, N]`` by a search; on twice as many points where they are draws and leave doubts."""
        segments, every = self.problem.segments, most_points(self._pointed)
        # Evenly spread points, as with segments, come in powers of two: 512 of 768.
        points = self.points if segments.count == 1 else max(1, 2 * self.points // 3)
        found = self._search(points, roots, q)
        if every is None:
            return found
        # More points take no longer than these do with all the states that may be expanded.
        states = self._way(roots.left).states(rules.candidate_count(segments))
        most = min(every, points * self.far * rules.states_of(segments, self.effort, self._pointed) // states)
        committed, open_ = roots.all(roots.best(roots.worth)), np.arange(len(q))
        while len(open_) and points < most:
            points = min(2 * points, most)
            finer = self._search(points, roots.part(open_), q[open_])
            clear = rules.stands(segments, found[open_], finer, committed[open_])
            found[open_] = finer
            open_ = open_[~clear]
        return found

    def _way(self, left: float) -> rules.Way:
        """Return the way of a search among the candidates."""
        segments, pulls = self.problem.segments, self._pulls(left)
        states = rules.states_of(segments, self.effort, self._pointed)
        return rules.way_ahead(rules.candidate_count(segments), states, pulls, self.far, segments.count)

    def _search(self, points: int, roots: Roots, q: FloatArray) -> FloatArray:
        """Return q ``[B, N]`` with what a search on so many points finds for the candidates."""
        problem, segments = self.problem, self.problem.segments
        search = PointsSearch(self._pointed, points)
        way, count = self._way(roots.left), rules.candidate_count(segments)
        everyone = np.broadcast_to(np.arange(problem.arms), q.shape)
        if count == problem.arms and not way.stops:
            return search.ahead(roots, everyone, way.steps)
        patience = rules.PATIENCE if segments.count == 1 else rules.LONG_PATIENCE * way.depth
        q, most = q.copy(), way.stops or min(self._pulls(roots.left), patience)
        for block in search.blocks(roots):
            here, some = np.arange(len(q))[block], search.with_points(roots.part(block))
            stops, committed = search.stops(some, most), some.all(some.best(some.worth))
            if way.stops:
                learns = rules.unsettled(segments, stops, committed, some.worth)
                if not learns.any():
                    continue
                here, some = here[learns], some.part(learns)
                stops, committed = stops[learns], committed[learns]
            chosen = everyone[here]
            if count < problem.arms:
                gain = stops - committed[:, segments.of_arm]
                chosen = rules.candidates(segments, some.worth, gain, count)
            found, row = q[here], np.arange(len(here))[:, None]
            found[row, chosen] = search.ahead(some, chosen, way.steps)
            q[here] = rules.prefer(segments, found, stops, committed) if way.stops else found
        return q
