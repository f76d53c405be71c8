"""What Prometheus reads: counts and histograms, in its text format."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence
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
        self._latency: dict[str, Histogram] = {}
        self._decisions: Counter[tuple[str, str]] = Counter()
        self._rewards: Counter[str] = Counter()
        self._batches, self._batch_seconds = Histogram(SIZES), Histogram(SECONDS)

    def answered(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count a request."""
        self._requests[method, route, status] += 1
        latency = self._latency.get(route)
        if latency is None:
            latency = self._latency[route] = Histogram(SECONDS)
        latency.add(seconds)

    def batched(self, requests: int, seconds: float) -> None:
        """Count requests that shared a transaction."""
        self._batches.add(requests)
        self._batch_seconds.add(seconds)

    def decided(self, campaign: str, decisions: Sequence[Decision]) -> None:
        """Count decisions; those that had been made before apart."""
        for decision in decisions:
            self._decisions[campaign, "repeated" if decision.repeated else decision.reason] += 1

    def rewarded(self, receipts: Sequence[RewardReceipt]) -> None:
        """Count outcomes by what became of them."""
        for receipt in receipts:
            self._rewards[receipt.status] += 1

    def text(self, ready: bool) -> str:
        """Return everything in the format that Prometheus reads."""
        return "\n".join([*self._lines(ready), ""])

    def _lines(self, ready: bool) -> Iterable[str]:
        yield from _head("elsv_info", "gauge", "Version of elsv")
        yield f'elsv_info{{version="{__version__}"}} 1'
        yield from _head("elsv_ready", "gauge", "Whether decisions can be made")
        yield f"elsv_ready {int(ready)}"
        yield from _head("elsv_requests_total", "counter", "Requests by method, route and status")
        for (method, route, status), count in sorted(self._requests.items()):
            labels = _labels(method=method, route=route, status=status)
            yield f"elsv_requests_total{{{labels}}} {count}"
        yield from _head("elsv_request_seconds", "histogram", "Seconds until the answer, by route")
        for route, histogram in sorted(self._latency.items()):
            yield from histogram.lines("elsv_request_seconds", _labels(route=route))
        yield from _head("elsv_decisions_total", "counter", "Decisions by campaign and reason")
        for (campaign, reason), count in sorted(self._decisions.items()):
            yield f"elsv_decisions_total{{{_labels(campaign=campaign, reason=reason)}}} {count}"
        yield from _head("elsv_rewards_total", "counter", "Outcomes by what became of them")
        for status_, count in sorted(self._rewards.items()):
            yield f"elsv_rewards_total{{{_labels(status=status_)}}} {count}"
        yield from _head("elsv_batch_requests", "histogram", "Requests that shared a transaction")
        yield from self._batches.lines("elsv_batch_requests", "")
        yield from _head("elsv_batch_seconds", "histogram", "Seconds of planning and writing them")
        yield from self._batch_seconds.lines("elsv_batch_seconds", "")


def _head(name: str, kind: str, what: str) -> Iterable[str]:
    yield f"# HELP {name} {what}."
    yield f"# TYPE {name} {kind}"


def _labels(**values: Any) -> str:
    return ",".join(f'{key}="{_escaped(str(value))}"' for key, value in values.items())


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
