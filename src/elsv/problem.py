r"""The problem: arms, what they pay, what is known of them in advance, and what is maximised.

Arm i pays :math:`r_i > 0` with unknown probability :math:`\mu_i` and 0 otherwise. The prior is
independent :math:`\mathrm{Beta}(\alpha^0_i, \beta^0_i)`, conditioned on an order of the means when there
is one. The objective is the sum of ``horizon`` rewards, or the discounted sum with ``discount``.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, cast, get_args

import numpy as np
from numpy.typing import ArrayLike

from elsv._files import unreadable, write_text
from elsv._typing import FloatArray, IntArray
from elsv.errors import CorruptFileError, InvalidInputError, unknown_name

Order = Literal["decreasing", "increasing"]
_KEYS = ("rewards", "order", "horizon", "discount", "prior", "names")
_REMEDY = "give the path of a TOML file with lines such as rewards = [0.8, 0.9, 1.0] and horizon = 50"


@dataclass(frozen=True, eq=False)
class Problem:
    r"""A Bernoulli bandit with rewards, a Beta prior and possibly an order (paper §2.1, §5.2).

    Parameters
    ----------
    rewards
        :math:`r_i > 0`, what arm i pays on success. Default 1 for every arm of `prior`.
    order
        ``"decreasing"`` for :math:`\mu_1 \ge \dots \ge \mu_N`, ``"increasing"`` for the reverse, or None.
    horizon
        Number of pulls T whose rewards are summed.
    discount
        :math:`\gamma \in (0, 1)`, instead of a horizon.
    prior
        Rows :math:`(\alpha^0_i, \beta^0_i)`, positive reals. Default (1, 1), the uniform distribution. They
        are what is believed before the order is taken into account; with an order the means differ.
    names
        Labels for people; default ``arm 1`` … ``arm N``.

    Examples
    --------
    >>> Problem(rewards=[0.8, 0.9, 1.0], order="decreasing", horizon=50).arms
    3
    """

    rewards: FloatArray  # [N]
    order: Order | None
    horizon: int | None
    discount: float | None
    prior: FloatArray = field(repr=False)  # [N, 2]
    names: tuple[str, ...] = field(repr=False)

    def __init__(
        self,
        rewards: ArrayLike | None = None,
        order: Order | None = None,
        horizon: int | None = None,
        discount: float | None = None,
        prior: ArrayLike | None = None,
        names: Sequence[str] | None = None,
    ) -> None:
        if rewards is None and prior is None:
            raise InvalidInputError("rewards or prior must say how many arms there are; give rewards=[1, 1]")
        table = None if prior is None else _numbers("prior", prior, 2)
        payoff = np.ones(len(cast(FloatArray, table))) if rewards is None else _numbers("rewards", rewards, 1)
        arms = len(payoff)
        if arms == 0:
            raise InvalidInputError("rewards must name at least one arm, got none")
        table = np.ones((arms, 2)) if table is None else table
        if table.shape != (arms, 2):
            raise InvalidInputError(
                f"prior must have one row [alpha, beta] for each of the {arms} arms, got shape {table.shape}"
            )
        _all_positive("rewards", payoff)
        _all_positive("prior", table)
        if order is not None and order not in get_args(Order):
            raise unknown_name("order", str(order), get_args(Order))
        labels = tuple(f"arm {i + 1}" for i in range(arms)) if names is None else tuple(map(str, names))
        if len(labels) != arms:
            raise InvalidInputError(
                f"names must have one entry for each of the {arms} arms, got {len(labels)}"
            )
        if len(set(labels)) != arms:
            raise InvalidInputError(f"names must differ from one another, got {list(labels)}")
        payoff.flags.writeable = False
        table.flags.writeable = False
        checked_horizon, checked_discount = _objective(horizon, discount)
        for name, value in (
            ("rewards", payoff),
            ("order", order),
            ("horizon", checked_horizon),
            ("discount", checked_discount),
            ("prior", table),
            ("names", labels),
        ):
            object.__setattr__(self, name, value)

    @property
    def arms(self) -> int:
        """N, the number of arms."""
        return len(self.rewards)

    @property
    def scale(self) -> float:
        """The largest reward: what counts as small is small beside it."""
        return float(self.rewards.max())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Problem) and self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash((self.rewards.tobytes(), self.prior.tobytes(), self.order, self.horizon, self.discount))

    def to_dict(self) -> dict[str, Any]:
        """Return plain Python values under the keys of the TOML file."""
        values: dict[str, Any] = {"rewards": self.rewards.tolist()}
        for key in ("order", "horizon", "discount"):
            if getattr(self, key) is not None:
                values[key] = getattr(self, key)
        values["prior"] = self.prior.tolist()
        values["names"] = list(self.names)
        return values

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Problem:
        """Build a problem from the keys of the TOML file; an unknown key is an error."""
        for key in values:
            if key not in _KEYS:
                raise unknown_name("key", key, _KEYS)
        return cls(**values)

    @classmethod
    def load(cls, path: str | Path) -> Problem:
        """Read a TOML file with the keys rewards, order, horizon or discount, prior, names."""
        try:
            values = tomllib.loads(Path(path).read_text(encoding="utf-8"))
        except OSError as error:
            raise unreadable(f"problem file {path}", error, _REMEDY) from error
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise CorruptFileError(f"{path} is not a TOML file: {error}; {_REMEDY}") from error
        try:
            return cls.from_dict(values)
        except InvalidInputError as error:
            raise InvalidInputError(f"{path}: {error}") from error

    def save(self, path: str | Path) -> None:
        """Write the problem as TOML, atomically; `load` gives an equal problem back."""
        write_text(path, self.to_toml())

    def to_toml(self) -> str:
        """Return the text that `save` writes."""
        return "".join(f"{key} = {_toml(value)}\n" for key, value in self.to_dict().items())


def _objective(horizon: object, discount: object) -> tuple[int | None, float | None]:
    if (horizon is None) == (discount is None):
        given = "neither" if horizon is None else "both"
        raise InvalidInputError(f"give either a horizon or a discount, got {given}; for example horizon=200")
    if horizon is not None:
        if isinstance(horizon, bool) or not isinstance(horizon, int | np.integer) or horizon < 1:
            raise InvalidInputError(f"horizon must be a whole number of pulls, at least 1, got {horizon!r}")
        return int(horizon), None
    return None, check_discount(discount)


def check_discount(discount: object) -> float:
    """Return `discount` as a float if it lies strictly between 0 and 1."""
    if isinstance(discount, bool) or not isinstance(discount, int | float | np.number):
        raise InvalidInputError(f"discount must be a number between 0 and 1, got {discount!r}")
    value = float(cast(float, discount))
    if not 0 < value < 1:
        raise InvalidInputError(f"discount must lie strictly between 0 and 1, got {value:g}; try 0.99")
    return value


def _numbers(name: str, values: ArrayLike, dimensions: int) -> FloatArray:
    """Copy `values` into a float array of the given number of dimensions, or say what is wrong."""
    try:
        array = np.array(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(
            f"{name} must be numbers in {dimensions} dimension(s), got {values!r}"
        ) from error
    if array.ndim != dimensions:
        raise InvalidInputError(f"{name} must have {dimensions} dimension(s), got shape {array.shape}")
    return array


def distinct_priors(problem: Problem) -> tuple[list[int], IntArray]:
    """Return an arm of each distinct prior, and for every arm which of these has its prior: ``[N]``."""
    _, members, group = np.unique(problem.prior, axis=0, return_index=True, return_inverse=True)
    return [int(i) for i in members], group.reshape(-1).astype(np.int64)


def _all_positive(name: str, array: FloatArray) -> None:
    bad = ~(np.isfinite(array) & (array > 0))
    if bad.any():
        where = tuple(int(k) for k in np.argwhere(bad)[0])
        raise InvalidInputError(f"{name} must be positive, got {array[where]:g} for arm {where[0] + 1}")


def _toml(value: Any) -> str:
    if isinstance(value, str):
        escaped = "".join(
            f"\\u{ord(c):04X}" if ord(c) < 0x20 or ord(c) == 0x7F else "\\" + c if c in '"\\' else c
            for c in value
        )
        return f'"{escaped}"'
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    if isinstance(value, float) and math.isfinite(value):
        return repr(value)
    return str(value)
