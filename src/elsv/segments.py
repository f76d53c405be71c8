r"""Segments of customers, each with arms of its own (paper §1: personalised discounts).

Arms are (segment, level). At each step one customer comes, of segment g with probability :math:`q_g`, and
only the arms :math:`A_g` are on offer. The shares :math:`q` are known, or learnt from who came: under a
Dirichlet prior :math:`a`, after :math:`n_g` customers of each segment,

.. math:: q_g = (a_g + n_g) \big/ \sum_h (a_h + n_h).

Every customer gets one arm of the own segment, so :math:`n_g` are the pulls of :math:`A_g`, and who
will come is a function of the state like everything else.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from elsv._base.numbers import numbers, shown
from elsv._base.typing import AnyArray, FloatArray, IntArray
from elsv.errors import InvalidInputError, unknown_name
from elsv.state import Arms, State, check_width
from elsv.structure.facts import number_of_arm
from elsv.structure.product import check_names, parts_of

_ROUNDING = 1e-9  # of shares that must sum to 1

S = TypeVar("S", bound=Sequence[Any] | AnyArray)
Stated = Sequence[Sequence[int | str]] | Mapping[str, Sequence[int | str]]
"""Segments as people give them: lists of arms, by name or by number from 1, with or without names."""


@dataclass(frozen=True)
class Segments:
    """Who comes, and what is on offer to them."""

    names: tuple[str, ...]  # [G]; none where nobody named segments, and one segment holds all arms
    groups: tuple[tuple[int, ...], ...]  # the arms of each segment, from 0, rising
    shares: tuple[float, ...] | None = None  # q, if known
    share_prior: tuple[float, ...] | None = None  # a, the Dirichlet counts, if not

    @classmethod
    def everyone(cls, arms: int) -> Self:
        """Return the one segment of a problem that names none: every arm is on offer to everyone."""
        return cls((), (tuple(range(arms)),), (1.0,))

    @classmethod
    def of(
        cls,
        given: Segments | Stated | None,
        arm_names: Sequence[str],
        shares: object = None,
        share_prior: object = None,
    ) -> Self:
        """Return the segments that are given for arms with these names, or one of all arms for None."""
        if isinstance(given, Segments):
            own = given.to_dict()
            if shares is None and share_prior is None:
                shares, share_prior = own.get("segment_shares"), own.get("segment_prior")
            given = own.get("segments")
        if given is None:
            for name, value in (("segment_shares", shares), ("segment_prior", share_prior)):
                if value is not None:
                    raise InvalidInputError(
                        f"{name} needs segments, such as segments=[[1, 2], [3, 4]], "
                        f"got none with {shown(value)}"
                    )
            return cls.everyone(len(arm_names))
        names, lists = _named(given)
        groups = tuple(_group(name, arms, arm_names) for name, arms in zip(names, lists, strict=True))
        _each_arm_once(names, groups, arm_names)
        if shares is not None and share_prior is not None:
            raise InvalidInputError(
                "give either segment_shares, if who comes is known, or segment_prior, to learn it, got both"
            )
        if shares is None:
            equal = [1.0] * len(names)
            counts = _counts("segment_prior", equal if share_prior is None else share_prior, names)
            return cls(names, groups, share_prior=counts)
        known = _counts("segment_shares", shares, names)
        if abs(sum(known) - 1) > _ROUNDING:
            raise InvalidInputError(
                f"segment_shares must sum to 1, got {' + '.join(f'{x:g}' for x in known)} = {sum(known):g}; "
                "leave them out if who comes is not known"
            )
        return cls(names, groups, shares=known)

    @cached_property
    def count(self) -> int:
        """G, the number of segments."""
        return len(self.groups)

    @property
    def turns(self) -> tuple[int | None, ...]:
        """What may be said of who comes: a segment's number from 0, or None where nobody named segments."""
        return tuple(range(self.count)) if self.names else (None,)

    def each(self, values: S) -> S | Any:
        """Return `values`, one for each segment; where nobody named segments, the only one of them."""
        return values if self.names else values[0]

    def name_of(self, arm: int) -> str | None:
        """Return the name of the segment that an arm is for; None where nobody named segments."""
        return self.names[int(self.of_arm[arm])] if self.names else None

    def among(self, arms: Sequence[int], came: Sequence[float]) -> Segments:
        """Return the segments of some arms, which are numbered anew; `came` adds to the Dirichlet counts."""
        place = {arm: k for k, arm in enumerate(arms)}
        groups = tuple(tuple(place[arm] for arm in group if arm in place) for group in self.groups)
        counts = self.share_prior and tuple(a + n for a, n in zip(self.share_prior, came, strict=True))
        return replace(self, groups=groups, share_prior=counts)

    def with_arm(self, segment: object) -> Segments:
        """Return the segments with one more arm, the last, for a segment by name or number from 1."""
        home, new = self.number(segment), len(self.of_arm)
        groups = tuple((*arms, new) if g == home else arms for g, arms in enumerate(self.groups))
        return replace(self, groups=groups)

    @cached_property
    def of_arm(self) -> IntArray:
        """The segment of every arm, from 0: ``[N]``."""
        segment = np.empty(sum(map(len, self.groups)), dtype=np.int64)
        for g, arms in enumerate(self.groups):
            segment[list(arms)] = g
        segment.flags.writeable = False
        return segment

    @cached_property
    def places(self) -> tuple[slice | IntArray, ...]:
        """Where the arms of each segment are: a slice if they stand together, which takes no copy."""
        return tuple(
            slice(arms[0], arms[-1] + 1) if len(arms) == arms[-1] - arms[0] + 1 else np.array(arms)
            for arms in self.groups
        )

    @cached_property
    def masks(self) -> AnyArray:
        """Which arms are on offer to each segment: truth values ``[G, N]``."""
        offered = np.equal(np.arange(self.count)[:, None], self.of_arm)
        offered.flags.writeable = False
        return offered

    def number(self, segment: object) -> int:
        """Return the number from 0 of a segment that is given by its name or its number from 1.

        Where nobody named segments, None gives 0.
        """
        if not self.names:
            if segment is None:
                return 0
            raise InvalidInputError(
                f"the problem has no segments, got segment {shown(segment)}; leave it out"
            )
        if isinstance(segment, str):
            if segment in self.names:
                return self.names.index(segment)
            if not segment.strip().isdecimal():
                raise unknown_name("segment", segment, self.names)
            segment = int(segment)
        if segment is not True and isinstance(segment, int | np.integer) and 1 <= segment <= self.count:
            return int(segment) - 1
        if segment is None:
            raise InvalidInputError(
                f"the problem has segments: say whose turn it is, segment={self.names[0]!r}; "
                f"known: {', '.join(self.names)}"
            )
        raise InvalidInputError(
            f"segment must be a name ({', '.join(map(repr, self.names))}) or "
            f"a number from 1 to {self.count}, got {shown(segment)}"
        )

    def numbers(self, segment: ArrayLike | None) -> AnyArray:
        """Return who has come as checked numbers from 0, of any shape; 0 where nobody named segments."""
        if segment is None or not self.names:
            return np.asarray(self.number(segment))
        numbers = np.asarray(segment)
        if numbers.dtype.kind not in "iu" or (
            numbers.size and not (0 <= numbers.min() <= numbers.max() < self.count)
        ):
            raise InvalidInputError(
                f"segment must be numbers from 0 to {self.count - 1}, got {shown(segment)}"
            )
        return numbers

    def counts(self, pulls: ArrayLike) -> FloatArray:
        """Return a + n, the prior and the customers of each segment: pulls ``[..., N]`` to ``[..., G]``."""
        made = np.asarray(pulls, dtype=np.float64)
        seen = np.stack([made[..., list(arms)].sum(axis=-1) for arms in self.groups], axis=-1)
        return np.asarray(seen + np.array(self.share_prior))

    def chances(self, pulls: ArrayLike) -> FloatArray:
        """Return the probability that each segment comes next: pulls ``[..., N]`` to ``[..., G]``."""
        if self.shares is not None:
            return np.broadcast_to(np.array(self.shares), (*np.shape(pulls)[:-1], self.count))
        weight = self.counts(pulls)
        return np.asarray(weight / weight.sum(axis=-1, keepdims=True))

    def chances_in(self, state: State, problem: Arms) -> FloatArray:
        """Return the same in a state of `problem`; outcomes that are only expected count as arrivals."""
        check_width(state, problem)
        return self.chances(state.alpha if self.shares is not None else state.pulls_made(problem))

    def expected_best(self, worth: FloatArray, coming: FloatArray) -> FloatArray:
        r"""Return :math:`\sum_g q_g \max_{i \in A_g}` of `worth` ``[..., N]``; q is `coming` ``[..., G]``."""
        best = np.stack([worth[..., arms].max(axis=-1) for arms in self.places], axis=-1)
        return np.asarray((coming * best).sum(axis=-1))

    def describe(self, arm_names: Sequence[str]) -> str:
        """Say in words who comes and what is on offer to them; nothing where nobody named segments."""
        if not self.names:
            return ""
        who = self.names
        if self.shares is not None:
            pairs = zip(self.names, self.shares, strict=True)
            who = tuple(f"{name} ({100 * share:g} % of customers)" for name, share in pairs)
        product = parts_of(arm_names)
        if product is not None and product[1] == list(self.names):
            parts = [f"{', '.join(who)}, each with {', '.join(product[0])}"]
        else:
            offered = [", ".join(arm_names[i] for i in arms) for arms in self.groups]
            parts = [f"{name}: {arms}" for name, arms in zip(who, offered, strict=True)]
        learnt = ""
        if self.share_prior is not None:
            chances = " / ".join(f"{100 * x:.3g} %" for x in self.chances(np.zeros(len(self.of_arm))))
            first = "equal at first" if len(set(self.share_prior)) == 1 else f"at first {chances}"
            learnt = f"; shares learnt from who comes, {first}"
        return "; ".join(parts) + learnt

    def to_dict(self) -> dict[str, Any]:
        """Return plain values under the keys of a problem's TOML file, none where nobody named segments."""
        if not self.names:
            return {}
        lists = [[i + 1 for i in arms] for arms in self.groups]
        unnamed = self.names == _numbered(self.count)
        values: dict[str, Any] = {"segments": lists if unnamed else dict(zip(self.names, lists, strict=True))}
        if self.shares is not None:
            values["segment_shares"] = list(self.shares)
        elif self.share_prior is not None and any(count != 1 for count in self.share_prior):
            values["segment_prior"] = list(self.share_prior)
        return values

    @classmethod
    def from_dict(cls, values: Mapping[str, Any], arm_names: Sequence[str]) -> Self:
        """Return the segments that `to_dict` wrote."""
        keys = ("segments", "segment_shares", "segment_prior")
        segments, shares, share_prior = map(values.get, keys)
        return cls.of(segments, arm_names, shares, share_prior)


def number_of(segments: Segments, segment: object) -> int | None:
    """Return the number from 0 of the segment that has come; None where nobody named segments."""
    return segments.turns[segments.number(segment)]


def _numbered(count: int) -> tuple[str, ...]:
    return tuple(f"segment {g + 1}" for g in range(count))


def _named(stated: object) -> tuple[tuple[str, ...], list[object]]:
    """Return the names of the segments and what is said of their arms."""
    if isinstance(stated, Mapping):
        check_names(stated)
        names, lists = tuple(stated), list(stated.values())
    elif isinstance(stated, Iterable) and not isinstance(stated, str | bytes):
        lists = list(stated)
        names = _numbered(len(lists))
    else:
        raise InvalidInputError(
            f'segments must be lists of arms such as [[1, 2], [3, 4]] or {{"new": [1, 2], "old": [3, 4]}}, '
            f"got {shown(stated)}"
        )
    if not names:
        raise InvalidInputError("segments must name at least one segment, got none; leave them out")
    return names, lists


def _group(segment: str, arms: object, arm_names: Sequence[str]) -> tuple[int, ...]:
    """Return the arms of one segment as numbers from 0, rising."""
    if isinstance(arms, str | bytes | Mapping) or not isinstance(arms, Iterable):
        raise InvalidInputError(
            f"segment {segment!r} must be a list of arms such as [1, 2], got {shown(arms)}"
        )
    group = [number_of_arm(f"segment {segment!r}", arm, arm_names) for arm in arms]
    if not group:
        raise InvalidInputError(f"segment {segment!r} must have at least one arm, got none")
    return tuple(sorted(group))


def _each_arm_once(names: Sequence[str], groups: Sequence[tuple[int, ...]], arm_names: Sequence[str]) -> None:
    """Raise unless every arm is in exactly one segment."""
    home: dict[int, str] = {}
    for name, arms in zip(names, groups, strict=True):
        for arm in arms:
            if arm in home:
                twice = f"twice in {name!r}" if home[arm] == name else f"in {home[arm]!r} and {name!r}"
                raise InvalidInputError(
                    f"every arm must be in one segment, got {arm_names[arm]!r} {twice}; "
                    "give each segment an arm of its own"
                )
            home[arm] = name
    for arm, label in enumerate(arm_names):
        if arm not in home:
            raise InvalidInputError(
                f"every arm must be in one segment, got {label!r} in none; "
                f"add it to one of {', '.join(names)}"
            )


def _counts(what: str, given: object, names: Sequence[str]) -> tuple[float, ...]:
    """Return one positive number for each segment, given in their order or by name."""
    if isinstance(given, Mapping):
        for name in given:
            if name not in names:
                raise unknown_name("segment", str(name), names)
        for name in names:
            if name not in given:
                raise InvalidInputError(
                    f"{what} must have one number for each segment, got none for {name!r}"
                )
        given = [given[name] for name in names]
    array = numbers(what, given)
    if array.shape != (len(names),):
        raise InvalidInputError(
            f"{what} must have one number for each of the {len(names)} segments, got {shown(given)}"
        )
    for name, count in zip(names, array.tolist(), strict=True):
        if not 0 < count < np.inf:
            raise InvalidInputError(f"{what} must be positive, got {count:g} for segment {name!r}")
    return tuple(array.tolist())
