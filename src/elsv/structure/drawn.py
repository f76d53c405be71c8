r"""Statements by draws or by a function: samples of any joint prior, a demand curve, any condition."""

from __future__ import annotations

import hashlib
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import reduce
from itertools import pairwise
from operator import and_
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from elsv._base.files import note_input, unreadable
from elsv._base.numbers import numbers, shown, whole
from elsv._base.typing import AnyArray, FloatArray
from elsv.beliefs import Belief, Independent, Kept, Samples
from elsv.beliefs.points import joint_points, uniforms
from elsv.beliefs.samples import check_draws, check_weights
from elsv.errors import CorruptFileError, InvalidInputError, MissingExtraError, of_extra
from elsv.state import State
from elsv.structure.base import Bound, Structure, register
from elsv.structure.facts import Facts, Offers, Outline, facts_of
from elsv.structure.fit import fit_line

_INLINE = 1_000_000  # numbers that are written into a problem's file
_AGAIN = 4096  # draws of what is believed after data
_KINDS = (".parquet", ".npy", ".csv")
_TWICE_NINETY = 1.6448536269514722  # standard deviations from the middle to 5 and 95 %
_kept_as: ContextVar[Callable[[SampleDraws], str | None] | None] = ContextVar("_kept_as", default=None)


class OwnPrior(Bound):
    """A joint prior of the means, beside which prior rows say nothing."""

    own_prior: ClassVar[bool] = True

    def given(self, state: State) -> SampleDraws:
        """Return draws of what is believed after data, with weights where these differ."""
        draws, weight = joint_points(self.belief(), state, _AGAIN)
        return SampleDraws(np.ascontiguousarray(draws), None if np.ptp(weight) == 0 else weight)

    @abstractmethod
    def belief(self) -> Belief:
        """Return the belief of draws from the prior, weighted by the data."""


@dataclass(frozen=True, eq=False)
class SampleDraws(OwnPrior):
    """The joint prior of the means is given by draws of it."""

    draws: FloatArray = field(repr=False)  # [M, N]
    weights: FloatArray | None = field(default=None, repr=False)  # [M]
    path: str | None = None

    def describe(self) -> str:
        """Say in words what is assumed."""
        origin = "" if self.path is None else f" from {self.path}"
        return f"the means are one of {len(self.draws):,} joint draws{origin}"

    def to_dict(self) -> dict[str, Any]:
        """Return the path of the draws, or the draws themselves."""
        keep = _kept_as.get()
        path = self.path if keep is None else keep(self)
        if path is None and self.draws.size > _INLINE:
            raise InvalidInputError(
                f"{self.draws.size:,} numbers are too many for a problem's file; save the draws as a .npy or "
                ".parquet file and give its path to elsv.structure.samples"
            )
        draws = self.draws.tolist() if path is None else path
        if self.weights is None:
            return {"samples": draws}
        return {"samples": {"draws" if path is None else "path": draws, "weights": self.weights.tolist()}}

    def _check(self, offers: Offers) -> None:
        if self.draws.shape[1] != offers.arms:
            raise InvalidInputError(
                f"samples must have one column for each of the {offers.arms} arms, got {self.draws.shape[1]}"
            )

    def holds(self, means: ArrayLike) -> AnyArray:
        """Return true for all means: draws stand for a density."""
        return np.ones(np.shape(means)[:-1], dtype=bool)

    def belief(self) -> Belief:
        """Return the belief of weighted draws."""
        return Samples(self.draws, self._told("of draws needs the prior counts").prior, self.weights)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SampleDraws):
            return False
        with draws_as(digest):
            return self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash(self.draws.shape)


@contextmanager
def draws_as(keep: Callable[[SampleDraws], str | None]) -> Iterator[None]:
    """Let `to_dict` name draws by what `keep` returns, however deep they are; None: it writes them out."""
    token = _kept_as.set(keep)
    try:
        yield
    finally:
        _kept_as.reset(token)


def digest(statement: SampleDraws) -> str:
    """Return a fingerprint of draws, the same wherever they are kept."""
    return hashlib.sha256(str(statement.draws.shape).encode() + statement.draws.tobytes()).hexdigest()


def in_short(statement: SampleDraws) -> str | None:
    """Return where draws come from, or their number if they are too many to be written out."""
    many = statement.draws.size > _INLINE
    return statement.path or (f"{len(statement.draws):,} draws" if many else None)


def samples(draws: ArrayLike | str | Path, weights: ArrayLike | None = None) -> SampleDraws:
    """Return the statement that the joint prior is given by draws.

    Parameters
    ----------
    draws
        Means ``[M, N]``, or with leading axes such as chains and draws (an array of ArviZ or PyMC), or the
        path of a .npy, .csv or .parquet file with a column for each arm.
    weights
        Of the draws; default: equal.
    """
    # A file that names the draws may be read from another folder than it was written in.
    path = None
    if isinstance(draws, str | Path):
        path = Path(draws).absolute()
        draws = _read(path)
    table = check_draws(draws)
    return SampleDraws(table, check_weights(weights, len(table)), str(path) if path else None)


def _read(path: Path) -> FloatArray:
    if path.suffix not in _KINDS:
        raise InvalidInputError(f"samples must be a {', '.join(_KINDS)} file, got {path}")
    note_input(path)
    try:
        if path.suffix == ".npy":
            return np.asarray(np.load(path, allow_pickle=False), dtype=np.float64)
        if path.suffix == ".csv":
            return _table(path.read_text(encoding="utf-8-sig"))
        polars = of_extra("polars", "reading Parquet files", "data")
        return np.asarray(polars.read_parquet(path).to_numpy(), dtype=np.float64)
    except MissingExtraError:
        raise
    except OSError as error:
        raise unreadable(f"samples {path}", error, "give the path of a file of draws") from error
    except (ValueError, EOFError) as error:
        raise CorruptFileError(f"{path} is not a table of numbers: {error}") from error
    except Exception as error:
        raise CorruptFileError(f"{path} is not a Parquet file of numbers: {error}") from error


def _table(text: str) -> FloatArray:
    """Return the numbers of a CSV file, which may begin with a line of names."""
    lines = [line for line in text.splitlines() if line.strip()]
    try:
        [float(entry) for entry in "".join(lines[:1]).split(",")]
    except ValueError:
        lines = lines[1:]
    if not lines:
        raise ValueError("there are no rows of numbers in it")
    return np.loadtxt(lines, delimiter=",", ndmin=2, dtype=np.float64)


@dataclass(frozen=True)
class Logistic(OwnPrior):
    r"""A demand curve: the log odds of a success fall in a straight line with the price.

    .. math:: \log\frac{\mu_i}{1-\mu_i} = a - b\,\frac{p_i - \bar p}{p_{\max} - p_{\min}}, \qquad
        a \sim \mathrm{Normal}, \quad \log b \sim \mathrm{Normal},

    with :math:`\bar p` the middle of the prices. Both are given by what a person can say: the conversion at
    the middle price, and by what factor the odds fall from the lowest price to the highest, each as an
    interval that holds with probability 0.9.
    """

    prices: tuple[float, ...]
    conversion: tuple[float, float] = (0.05, 0.6)
    odds_fall: tuple[float, float] = (1.5, 100.0)
    draws: int = 1 << 15

    def __post_init__(self) -> None:
        low, high = self.conversion
        if not 0 < low < high < 1:
            raise InvalidInputError(
                f"conversion must be an interval within 0 and 1 such as (0.05, 0.6), got {self.conversion}"
            )
        if not 1 < self.odds_fall[0] < self.odds_fall[1] < np.inf:
            raise InvalidInputError(
                f"odds_fall must be an interval above 1 such as (1.5, 100), got {self.odds_fall}"
            )
        if len(self.prices) < 2 or not np.isfinite(self.prices).all() or np.ptp(self.prices) == 0:
            raise InvalidInputError(f"prices must be numbers that differ, got {shown(self.prices)}")
        whole("draws", self.draws, 2)

    def describe(self) -> str:
        """Say in words what is assumed."""
        (a, b), (c, d) = self.conversion, self.odds_fall
        return (
            f"a logistic demand curve over prices from {min(self.prices):g} to {max(self.prices):g}: "
            f"conversion at the middle price from {a:g} to {b:g}, odds lower by a factor from {c:g} to {d:g} "
            "at the highest price than at the lowest (each with probability 0.9)"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return prices and intervals."""
        intervals = {"conversion": list(self.conversion), "odds_fall": list(self.odds_fall)}
        return {"logistic": {"prices": list(self.prices), **intervals, "draws": self.draws}}

    def _check(self, offers: Offers) -> None:
        if len(self.prices) != offers.arms:
            raise InvalidInputError(
                f"prices must be {offers.arms} numbers, one for each arm, got {len(self.prices)}"
            )

    def ranking(self) -> Facts | None:
        """Return that a lower price never has the smaller mean."""
        return None if self.offers is None else facts_of(self.offers, order=self.outline().pairs)

    def curves(self) -> FloatArray:
        """Return draws of the means ``[M, N]``, evenly spread over the prior of the two coefficients."""
        from scipy.special import expit, ndtri

        def spread(interval: FloatArray, normal: FloatArray) -> FloatArray:
            low, high = interval
            return np.asarray(0.5 * (low + high) + normal * (high - low) / (2 * _TWICE_NINETY))[:, None]

        first, second = ndtri(uniforms(self.draws, 2)).T
        chance = np.array(self.conversion)
        height = spread(np.log(chance / (1 - chance)), first)
        fall = np.exp(spread(np.log(np.log(self.odds_fall)), second))
        return np.asarray(expit(height - fall * self._place()))

    def _place(self) -> FloatArray:
        """Return where the prices lie, from -1/2 to 1/2."""
        price = np.array(self.prices)
        return np.asarray((price - 0.5 * (price.min() + price.max())) / np.ptp(price))

    def closest(self, won: FloatArray, lost: FloatArray) -> FloatArray:
        """Return the rates of the curve that explains these outcomes best."""
        return fit_line(self._place(), won, lost)

    def holds(self, means: ArrayLike) -> AnyArray:
        """Return whether log odds are in a straight line that falls with the price."""
        given = np.clip(np.asarray(means, dtype=np.float64), 1e-12, 1 - 1e-12)
        odds, price = np.log(given / (1 - given)), np.array(self.prices)
        about = price - price.mean()
        slope = (odds * about).sum(axis=-1) / (about**2).sum()
        line = odds.mean(axis=-1)[..., None] + slope[..., None] * about
        return np.asarray((slope < 0) & (np.abs(odds - line) < 1e-6 * (1 + np.abs(odds))).all(axis=-1))

    def outline(self) -> Outline:
        """Return what a picture shows: a lower price sells at least as often."""
        return Outline(tuple(pairwise(np.argsort(self.prices, kind="stable").tolist())))

    def belief(self) -> Belief:
        """Return the belief of curves drawn from the prior."""
        return Samples(self.curves(), self._told("under a demand curve needs the prior counts").prior)


def logistic(
    prices: ArrayLike,
    conversion: tuple[float, float] = (0.05, 0.6),
    odds_fall: tuple[float, float] = (1.5, 100.0),
    draws: int = 1 << 15,
) -> Logistic:
    """Return a demand-curve prior: log odds of a success fall in a straight line with the price.

    The counts of the problem's prior are what a state is compared with; they are not part of this prior.

    Parameters
    ----------
    prices
        One for each arm.
    conversion
        Interval that holds the success probability at the middle price with probability 0.9.
    odds_fall
        Interval that holds, with probability 0.9, the factor by which the odds are lower at the highest price
        than at the lowest.
    draws
        How many curves stand for the prior; a power of two from there up.
    """
    return Logistic(
        tuple(numbers("prices", prices).reshape(-1).tolist()),
        _interval("conversion", conversion),
        _interval("odds_fall", odds_fall),
        draws,
    )


def _interval(name: str, given: Any) -> tuple[float, float]:
    pair = numbers(name, given)
    if pair.shape != (2,):
        raise InvalidInputError(f"{name} must be two numbers, got {shown(given)}")
    return float(pair[0]), float(pair[1])


Function = Callable[[FloatArray], AnyArray]
_KNOWN: dict[str, Function] = {}


@dataclass(frozen=True)
class Where(Bound):
    """A condition that a function of the means decides."""

    function: Function
    name: str

    def describe(self) -> str:
        """Say in words what is assumed."""
        return f"the means satisfy {self.name}"

    def to_dict(self) -> dict[str, Any]:
        """Return the name under which `where` knows the function."""
        return {"where": self.name}

    def _check(self, offers: Offers) -> None:
        self.holds(np.full((2, offers.arms), 0.5))

    def holds(self, means: ArrayLike) -> AnyArray:
        """Return of means ``[..., N]`` whether they are possible, shape ``[...]``."""
        given = np.asarray(means, dtype=np.float64)
        good = np.asarray(self.function(given))
        if good.shape != given.shape[:-1] or good.dtype != bool:
            raise InvalidInputError(
                f"the function of where() must return one truth value for each row of means, shape "
                f"{given.shape[:-1]}, got {good.dtype} of shape {good.shape}; use means[..., k] for arm k + 1"
            )
        return good

    def facts(self, offers: Offers) -> Facts:
        """Return the condition."""
        return facts_of(offers, conditions=(self.holds,))

    def belief(self) -> Belief:
        """Return the belief of draws that are kept."""
        return Kept(Independent(), self.holds, self._told("under a condition needs the prior counts").prior)


def where(function: Function, name: str | None = None) -> Where:
    """Return the statement that a function of the means is true.

    Parameters
    ----------
    function
        Takes means ``[..., N]`` and returns truth values ``[...]``.
    name
        Under which files and saved bandits know it, if a program has called `where` with the function before
        it loads them; default: the function's own name.
    """
    if not callable(function):
        raise InvalidInputError(f"where() needs a function of the means, got {shown(function)}")
    label = name or str(getattr(function, "__qualname__", type(function).__name__))
    _KNOWN[label] = function
    return Where(function, label)


def _known_where(value: Any) -> Structure:
    if isinstance(value, list) and value:
        return reduce(and_, map(_known_where, value))
    if not isinstance(value, str) or value not in _KNOWN:
        raise InvalidInputError(
            f"the condition {shown(value)} is a function that a file cannot hold; "
            "call elsv.structure.where(function) in Python before you load it"
        )
    return Where(_KNOWN[value], value)


def _samples(value: Any) -> SampleDraws:
    if isinstance(value, Mapping):
        if not set(value) <= {"draws", "weights", "path"} or not {"draws", "path"} & set(value):
            raise InvalidInputError(
                f"samples must have draws or a path, and perhaps weights, got {shown(value)}"
            )
        return samples(value.get("path", value.get("draws")), value.get("weights"))
    return samples(value)


def _logistic(value: Any) -> Logistic:
    known = {"prices", "conversion", "odds_fall", "draws"}
    if not isinstance(value, Mapping) or "prices" not in value or not set(value) <= known:
        raise InvalidInputError(
            "logistic must be a table with prices, and perhaps conversion, odds_fall and draws, "
            f"got {shown(value)}"
        )
    return logistic(**value)


register("samples", _samples)
register("logistic", _logistic)
register("where", _known_where)
