"""What each policy does, in a few words, for those who read its name in a table."""

from __future__ import annotations

from collections.abc import Mapping

from elsv.errors import InvalidInputError
from elsv.indices import INDEX_NAMES
from elsv.names import parse

_MEANINGS = {
    "plan": "searches ahead on what committing to an arm is worth; near the optimum",
    "elsv": "the paper's method, a step ahead on the value that an index gives to a state",
    "commit": "a step ahead on what committing to the best arm is worth",
    "block": "the same as commit, where a block of pulls of one arm may come first",
    "optimal": "the Bayes optimum: no policy earns more in expectation",
    "thompson": "draws the means from what is believed, pulls the arm that is best in the draw",
    "greedy": "pulls the arm with the largest expected reward, never explores on purpose",
    "random": "every arm with equal probability",
    "separate": "a bandit for each segment, which learns from its own customers alone",
    "pooled": "one bandit that does not look at who comes: the segments' arms are levels, counted together",
    "ids": "draws between two arms, so that little is lost for what is learnt of which arm is best",
    "kg": "the knowledge gradient, a step ahead on what committing to the best arm is worth",
    "top-two": "half of the time Thompson sampling, else the best arm of draws in which another one is best",
    "uts": "Thompson sampling among the arm that is ahead and its neighbours; for a single peak",
    "osub": "the largest KL-UCB index of the arm that is ahead and its neighbours; for a single peak",
    "isotonic-kl-ucb": "the largest KL-UCB index, no arm's above that of an arm known to be at least as good",
    "glm-ucb": "fits a logistic curve over the prices, pulls the arm that may be best on it",
    "bayes-ucb:belief=structured": "pulls the arm with the largest quantile of what is believed of it",
}
_TITLES = {
    "ucb": "α-UCB",
    "ucb1": "UCB1",
    "ucb-v": "UCB-V",
    "kl-ucb": "KL-UCB",
    "moss": "MOSS",
    "bayes-ucb": "Bayes-UCB",
    "gittins": "Gittins",
    "finite-gittins": "finite-horizon Gittins",
    "optimistic-gittins": "optimistic Gittins",
}


def meaning(policy: str) -> str | None:
    """Return what a policy does in a few words, or None for one of the user's own and for single arms."""
    try:
        parsed = parse(policy)
    except InvalidInputError:
        return None
    name, belief = parsed.name, f"{parsed.name}:belief={parsed.parameters.get('belief')}"
    index = f"pulls the arm with the largest {_TITLES.get(name, name)} index, each arm by itself"
    return _MEANINGS.get(belief) or _MEANINGS.get(name) or (index if name in INDEX_NAMES else None)


def legend(policies: Mapping[str, object]) -> dict[str, str]:
    """Return what every policy does that needs a word, by its name without parameters or its user's label.

    `policies` gives what each name stands for: the text that `make_policy` read, or something of the user's.
    """
    known: dict[str, str] = {}
    for name, policy in policies.items():
        said = meaning(policy) if isinstance(policy, str) else None
        if said is not None:
            short = parse(name).name if meaning(name) == said else name
            known[short if known.get(short, said) == said else name] = said
    return known
