"""What Prometheus reads: counts and histograms, in its text format."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from elsv._version import __version__
from elsv.campaign import Decision, RewardReceipt

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.015, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
SIZES = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 256.0)


class Histogram:
    """How often a value was at most each of some bounds."""

    def __init__(self, bounds: Sequence[float]) -> None:
        self.bounds, self.counts, self.total = bounds, [0] * (len(bounds) + 1), 0.0

    def add(self, value: float) -> None:
        """Count one value."""
        self.counts[bisect_left(self.bounds, value)] += 1
        self.total += value

    def lines(self, name: str, labels: str) -> Iterable[str]:
        """Return it as text."""
        below, comma = 0, "," if labels else ""
        for bound, count in zip((*self.bounds, "+Inf"), self.counts, strict=True):
            below += count
            yield f'{name}_bucket{{{labels}{comma}le="{bound}"}} {below}'
        yield f"{name}_sum{{{labels}}} {self.total:.9g}"
        yield f"{name}_count{{{labels}}} {below}"


class Metrics:
    """Everything that is counted since the process started."""

    def __init__(self) -> None:
        self._requests: Counter[tuple[str, str, int]] = Counter()
        self._latency: defaultdict[tuple[str], Histogram] = defaultdict(lambda: Histogram(SECONDS))
        self._decisions: Counter[tuple[str, str]] = Counter()
        self._rewards: Counter[tuple[str]] = Counter()
        self._batches, self._batch_seconds = Histogram(SIZES), Histogram(SECONDS)

    def answered(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count a request."""
        self._requests[method, route, status] += 1
        self._latency[route,].add(seconds)

    def batched(self, requests: int, seconds: float) -> None:
        """Count requests that shared a transaction."""
        self._batches.add(requests)
        self._batch_seconds.add(seconds)

    def decided(self, campaign: str, decisions: Sequence[Decision]) -> None:
        """Count decisions; repeated ones by themselves."""
        self._decisions.update((campaign, "repeated" if one.repeated else one.reason) for one in decisions)

    def rewarded(self, receipts: Sequence[RewardReceipt]) -> None:
        """Count outcomes by what became of them."""
        self._rewards.update((receipt.status,) for receipt in receipts)

    def text(self, ready: bool) -> str:
        """Return everything in the format that Prometheus reads."""
        counted: tuple[tuple[str, str, str, tuple[str, ...], Mapping[Any, Any]], ...] = (
            ("info", "gauge", "Version of elsv", ("version",), {(__version__,): 1}),
            ("ready", "gauge", "Whether decisions can be made", (), {(): int(ready)}),
            ("requests_total", "counter", "Requests by method, route and status",
             ("method", "route", "status"), self._requests),
            ("request_seconds", "histogram", "Seconds until the answer, by route", ("route",), self._latency),
            ("decisions_total", "counter", "Decisions by campaign and reason", ("campaign", "reason"),
             self._decisions),
            ("rewards_total", "counter", "Outcomes by what became of them", ("status",), self._rewards),
            ("batch_requests", "histogram", "Requests that shared a transaction", (), {(): self._batches}),
            ("batch_seconds", "histogram", "Seconds of planning and writing them", (),
             {(): self._batch_seconds}),
        )  # fmt: skip
        lines = []
        for name, kind, what, labels, values in counted:
            lines += [f"# HELP elsv_{name} {what}.", f"# TYPE elsv_{name} {kind}"]
            for key, value in sorted(values.items()):
                pairs = zip(labels, key, strict=True)
                named = ",".join(f'{label}="{_escaped(part)}"' for label, part in pairs)
                if isinstance(value, Histogram):
                    lines += value.lines(f"elsv_{name}", named)
                else:
                    lines.append(f"elsv_{name}{f'{{{named}}}' if named else ''} {value}")
        return "\n".join([*lines, ""])


def _escaped(value: object) -> str:
    return str(value).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
