"""Statements: how they read, which means they allow, how they are written and read again, what is refused."""

import json
import tomllib

import numpy as np
import pytest

import elsv
from elsv import Bandit, InvalidInputError, Problem, State
from elsv.beliefs import Chain, Gibbs, Independent, Kept, Ladder, Mixture, Samples
from elsv.structure import (
    bounds,
    decreasing,
    free,
    from_dict,
    gap,
    grid,
    increasing,
    logistic,
    mixture,
    order,
    samples,
    unimodal,
    where,
)

NAMES = ["gold", "silver", "basic"]
DRAWS = np.random.default_rng(1).beta(2, 3, (400, 3)).round(6)


def top_half(means):
    return means[..., 0] >= 0.5


def close(means):
    return np.ptp(means, axis=-1) <= 0.8


def problem(structure, arms=3, **further):
    if arms == 3:
        further.setdefault("names", NAMES)
    return Problem(np.linspace(0.6, 1.0, arms), horizon=6, structure=structure, **further)


# A statement, what it allows and what not.
STATEMENTS = {
    "decreasing": (decreasing(), [0.6, 0.5, 0.5], [0.6, 0.5, 0.51]),
    "increasing": (increasing(), [0.1, 0.5, 0.5], [0.6, 0.5, 0.7]),
    "by name": (order([("gold", "silver"), ("gold", "basic")]), [0.6, 0.5, 0.55], [0.6, 0.5, 0.65]),
    "by number": (order([(1, 2), (1, 3)]), [0.6, 0.5, 0.55], [0.6, 0.5, 0.65]),
    "mixed": (order([("gold", 2), (1, "basic")]), [0.6, 0.5, 0.55], [0.6, 0.5, 0.65]),
    "no pairs": (order([]), [0.1, 0.9, 0.5], None),
    "grid": (grid(1, 3), [0.6, 0.5, 0.4], [0.6, 0.4, 0.5]),
    "unimodal": (unimodal(), [0.1, 0.5, 0.4], [0.3, 0.1, 0.2]),
    "unimodal of rewards": (unimodal("reward"), [0.5, 0.4, 0.3], [0.5, 0.35, 0.5]),
    "bounds": (bounds([(0, 0.4), None, (0.2, 0.9)]), [0.4, 0.9, 0.2], [0.5, 0.9, 0.3]),
    "gap": (gap("gold", "basic", at_least=0.05), [0.5, 0.9, 0.4], [0.5, 0.9, 0.46]),
    "both": (order([(1, 2)]) & bounds([None, (0.1, 1), None]), [0.5, 0.2, 0.9], [0.5, 0.05, 0.9]),
    "three": (unimodal() & order([(2, 1)]) & gap(2, 3, 0.1), [0.3, 0.5, 0.2], [0.3, 0.5, 0.45]),
    "two orders": (order([(1, 2)]) & order([("silver", "basic")]), [0.5, 0.4, 0.3], [0.5, 0.4, 0.45]),
    "order and direction": (decreasing() & order([(1, 3)]), [0.5, 0.4, 0.3], [0.5, 0.4, 0.45]),
    "two scales": (decreasing() & unimodal("reward"), [0.5, 0.4, 0.3], [0.9, 0.5, 0.5]),
    "two bounds": (
        bounds([(0, 0.4), None, None]) & bounds([(0.1, 0.5), (0, 0.9), None]),
        [0.2, 0.5, 1],
        [0, 0, 0],
    ),
    "mixture": (mixture([(0.9, decreasing()), (0.1, increasing())]), [0.5, 0.6, 0.7], [0.5, 0.4, 0.6]),
    "mixture with free": (mixture([(0.9, "decreasing"), (0.1, free())]), [0.5, 0.6, 0.3], None),
    "mixture of tables": (
        mixture([(0.5, {"grid": [3, 1]}), (0.25, "unimodal"), (0.25, order([(3, 1)]) & gap(3, 2, 0.2))]),
        [0.1, 0.5, 0.4],
        [0.5, 0.2, 0.3],
    ),
    "where": (where(top_half), [0.5, 0.1, 0.9], [0.4, 0.1, 0.9]),
    "two conditions": (
        where(top_half) & where(close) & bounds([None, None, (0, 0.8)]),
        [0.5, 0.1, 0.7],
        [0.5, 0, 0.9],
    ),
    "samples": (samples(DRAWS), [0.5, 0.1, 0.9], None),
    "weighted samples": (samples(DRAWS, np.arange(400)), [0.5, 0.1, 0.9], None),
    "samples in order": (samples(DRAWS) & decreasing(), [0.5, 0.4, 0.3], [0.5, 0.4, 0.45]),
    "logistic": (logistic([1, 2, 3]), [0.5, 1 / (1 + np.e), 1 / (1 + np.e**2)], [0.5, 0.4, 0.1]),
    "logistic with words": (
        logistic([3, 5, 9], conversion=(0.1, 0.3), odds_fall=(2, 10), draws=256),
        None,
        [0.5] * 3,
    ),
    "kept": (order([(1, 2)]).by("keep"), [0.5, 0.4, 0.9], [0.4, 0.5, 0.9]),
    "gibbs": ((order([(1, 2)]) & bounds([None, (0.1, 1), None])).by("gibbs"), [0.5, 0.2, 0.9], [0.5, 0, 0.9]),
    "free": (free(), [0.1, 0.9, 0.5], None),
}


@pytest.mark.parametrize("name", STATEMENTS)
def test_a_statement_allows_what_it_says(name):
    stated, good, bad = STATEMENTS[name]
    bound = problem(stated).structure
    if good is not None:
        assert bound.holds(good)
        assert bound.holds([[good], [good]]).tolist() == [[True], [True]]
    if bad is not None:
        assert not bound.holds(bad)


@pytest.mark.parametrize("name", STATEMENTS)
def test_a_statement_round_trips_through_tables_toml_json_and_saved_bandits(name, tmp_path):
    given = problem(STATEMENTS[name][0])
    stated = given.structure.to_dict()
    assert problem(stated).structure.to_dict() == stated
    again = json.loads(json.dumps(stated))
    assert problem(from_dict(again)) == given
    assert Problem.from_dict(tomllib.loads(given.to_toml())) == given
    given.save(tmp_path / "problem.toml")
    assert Problem.load(tmp_path / "problem.toml") == given
    bandit = Bandit(given, "greedy", seed=1)
    bandit.observe(0, True)
    bandit.save(tmp_path / "bandit.json")
    loaded = Bandit.load(tmp_path / "bandit.json")
    assert loaded.problem == given
    assert loaded.problem.structure.to_dict() == stated
    means = np.random.default_rng(0).random((200, 3)).round(1)
    np.testing.assert_array_equal(loaded.problem.structure.holds(means), given.structure.holds(means))
    np.testing.assert_array_equal(loaded.problem.belief.mean(bandit.state), given.belief.mean(bandit.state))


@pytest.mark.parametrize("name", STATEMENTS)
def test_statements_are_equal_when_they_say_the_same(name):
    stated = STATEMENTS[name][0]
    assert problem(stated).structure == problem(stated).structure
    assert stated != STATEMENTS["increasing" if name == "decreasing" else "decreasing"][0]
    assert isinstance(stated, elsv.Structure)
    assert stated.describe()


@pytest.mark.parametrize("name", [name for name in STATEMENTS if name != "logistic with words"])  # few curves
def test_draws_hold_and_agree_with_the_means(name):
    stated = problem(STATEMENTS[name][0])
    belief = stated.belief
    state = State([3, 2, 2], [2, 2, 3])
    count = 3000
    drawn = belief.draw(
        State(np.tile(state.alpha, (count, 1)), np.tile(state.beta, (count, 1))), np.random.default_rng(2)
    )
    assert stated.structure.holds(drawn).all()
    error = np.nan_to_num(elsv.beliefs.abilities.error(belief, state))
    spread = drawn.std(axis=0) / np.sqrt(count)
    assert (np.abs(drawn.mean(axis=0) - belief.mean(state)) < 4 * np.hypot(spread, error) + 1e-6).all()
    theta, weight = elsv.beliefs.points.joint_points(belief, state, 512)
    assert stated.structure.holds(theta[weight > 0]).all()
    assert (np.abs(weight @ theta / weight.sum() - belief.mean(state)) < 0.02).all()


def test_words():
    assert problem(STATEMENTS["by number"][0]).structure.describe() == (
        "gold is at least as good as silver and basic"
    )
    assert order([(1, 2)]).describe() == "arm 1 is at least as good as arm 2"
    assert order([(1, 3), (2, 3)]).describe() == "arm 1 and arm 2 are each at least as good as arm 3"
    star = order([("gold", f"tier {k}") for k in range(50)]).describe()
    assert star.startswith("gold is at least as good as tier 0, tier 1, ")
    assert star.endswith(", tier 5 and 44 others")
    chain = order([(k, k + 1) for k in range(1, 40)]).describe()
    assert chain.startswith("arm 1 is at least as good as arm 2; arm 2 is")
    assert chain.endswith("; and 31 further statements")
    assert order([]).describe() == "no arm is known to be better than another"
    assert grid(2, 3).describe() == "the arms form 2 rows and 3 columns, and means fall along both"
    assert "rise to one arm and fall" in unimodal().describe()
    assert unimodal("reward").describe().startswith("the expected rewards have a single peak")
    assert problem(bounds([(0, 0.4), None, None])).structure.describe() == "gold lies from 0 to 0.4"
    assert bounds([None]).describe() == "no arm is bounded"
    assert gap("a", "b", 0.05).describe() == "a is at least 0.05 above b"
    assert mixture([(0.9, decreasing()), (0.1, free())]).describe() == (
        "with probability 0.9, the means decrease: each arm succeeds at least as often as the next; "
        "with probability 0.1, nothing is assumed: the arms are independent"
    )
    assert where(top_half).describe() == "the means satisfy top_half"
    assert samples(DRAWS).describe() == "the means are one of 400 joint draws"
    assert "prices from 1 to 3" in logistic([1, 2, 3]).describe()
    both = decreasing() & bounds([None, None, (0, 0.5)])
    assert both.describe() == f"{decreasing().describe()}; arm 3 lies from 0 to 0.5"


TOML = """
rewards = [0.6, 0.8, 1.0, 0.9]
names = ["gold", "silver", "basic", "none"]
horizon = 10
[structure]
"""


@pytest.mark.parametrize(
    ("lines", "stated"),
    [
        ("order = [[1, 2], [1, 3]]", order([("gold", "silver"), ("gold", "basic")])),
        ('order = [["gold", "silver"], ["gold", 3]]', order([(1, 2), (1, 3)])),
        ('order = "increasing"', increasing()),
        ("grid = [2, 2]", grid(2, 2)),
        ("unimodal = true", unimodal()),
        ('unimodal = "reward"', unimodal(on="reward")),
        ("bounds = [[0, 0.4], [], [0.1, 1], []]", bounds([(0, 0.4), None, (0.1, 1), None])),
        ('gaps = [["gold", "silver", 0.05]]', gap("gold", "silver", at_least=0.05)),
        ('mixture = [[0.9, "decreasing"], [0.1, "free"]]', mixture([(0.9, decreasing()), (0.1, free())])),
        (
            "mixture = [[0.5, {grid = [2, 2]}], [0.5, {order = [[2, 1]], bounds = [[0, 0.4], [], [], []]}]]",
            mixture([(0.5, grid(2, 2)), (0.5, order([(2, 1)]) & bounds([(0, 0.4), None, None, None]))]),
        ),
        ("logistic = {prices = [1, 2, 3, 4]}", logistic([1, 2, 3, 4])),
        (
            "logistic = {prices = [1, 2, 3, 4], conversion = [0.1, 0.2], odds_fall = [2, 5], draws = 64}",
            logistic([1, 2, 3, 4], conversion=(0.1, 0.2), odds_fall=(2, 5), draws=64),
        ),
        ("unimodal = true\norder = [[2, 1]]", unimodal() & order([(2, 1)])),
        ('grid = [2, 2]\nmethod = "keep"', grid(2, 2).by("keep")),
        (
            "samples = [[0.1, 0.2, 0.3, 0.4], [0.2, 0.2, 0.3, 0.1]]",
            samples([[0.1, 0.2, 0.3, 0.4], [0.2, 0.2, 0.3, 0.1]]),
        ),
        ("free = true", free()),
        ("", free()),
    ],
)
def test_toml_says_what_python_says(lines, stated, tmp_path):
    path = tmp_path / "problem.toml"
    path.write_text(TOML + lines)
    read = Problem.load(path)
    written = Problem(read.rewards, horizon=10, names=read.names, structure=stated)
    assert read == written
    assert read.structure.describe() == written.structure.describe()


def test_the_short_form_of_an_order_stays(tmp_path):
    (tmp_path / "p.toml").write_text('rewards = [0.6, 1.0]\nhorizon = 10\norder = "decreasing"\n')
    read = Problem.load(tmp_path / "p.toml")
    assert read == Problem([0.6, 1.0], horizon=10, structure=decreasing())
    assert read.order == "decreasing"
    assert 'order = "decreasing"' in read.to_toml()
    assert "structure" not in read.to_toml()


def nested(depth):
    """A table of mixtures within mixtures."""
    table = {"order": "decreasing"}
    for _ in range(depth):
        table = {"mixture": [[0.5, table], [0.5, "free"]]}
    return table


def mixture_of_mixtures(depth):
    made = decreasing()
    for _ in range(depth):
        made = mixture([(0.5, made), (0.5, "free")])
    return made


def test_mixtures_within_mixtures():
    assert mixture_of_mixtures(20).to_dict() == from_dict(nested(20)).to_dict()


# What is refused: the statement and what the error must say.
REFUSED = [
    (
        lambda: problem(order([("gold", "silver"), ("silver", "basic"), ("basic", "gold")])),
        "gold >= silver >= basic >= gold",
    ),
    (lambda: problem(decreasing() & increasing()), "circle, got gold >= silver >= gold"),
    (lambda: problem(decreasing() & order([("basic", "gold")])), "circle.*basic"),
    (lambda: problem(gap(1, 2, 0.1) & order([(2, 1)])), "circle.*gold >= silver >= gold"),
    (lambda: problem(order([(1, 1)])), r"against itself, got \(1, 1\)"),
    (
        lambda: problem(order([("gold", "bronze")])),
        r"by name \('gold', 'silver', 'basic'\) or number from 1 to 3, got 'bronze'",
    ),
    (lambda: problem(order([(0, 1)])), "number from 1 to 3, got 0"),
    (lambda: problem(order([(1, 4)])), "got 4"),
    (lambda: problem(order([(True, 2)])), "got True"),
    (lambda: order([(1,)]), r"pairs of arms such as .* got \(1,\)"),
    (lambda: order([(1, 2, 3)]), r"got \(1, 2, 3\)"),
    (lambda: order([(1.5, 2)]), r"got \(1\.5, 2\)"),
    (lambda: order("gold"), "order must be a list, got 'gold'"),
    (lambda: order(3), "order must be a list, got 3"),
    (lambda: problem({"order": "sideways"}), "unknown order 'sideways'"),
    (lambda: problem(grid(2, 2)), "2 rows and 2 columns has 4 arms, the problem has 3"),
    (lambda: grid(0, 3), "rows must be a whole number, at least 1, got 0"),
    (lambda: grid(2, 1.5), r"columns must be a whole number, at least 1, got 1\.5"),
    (lambda: from_dict({"grid": [2]}), r"grid must be \[rows, columns\], got \[2\]"),
    (lambda: unimodal("price"), "unknown scale 'price': known: mean, reward"),
    (lambda: from_dict({"unimodal": 3}), 'unimodal must be true or "reward", got 3'),
    (
        lambda: problem(unimodal() & order([(1, 2), (3, 2)])),
        "silver lies between gold and basic.*no single peak",
    ),
    (lambda: problem(unimodal() & order([(1, 3), (4, 2)]), 4), "no means with a single peak agree.*arm 1"),
    (
        lambda: problem(unimodal() & bounds([(0.5, 1), (0, 0.4), (0.5, 1)])),
        "silver lies between gold and basic.*no single peak",
    ),
    (lambda: bounds([(0.5, 0.4)]), r"0 <= least < largest <= 1, got 0\.5 and 0\.4 for arm 1"),
    (lambda: bounds([None, (0, 1.2)]), r"got 0 and 1\.2 for arm 2"),
    (lambda: bounds([(float("nan"), 0.4)]), "got nan"),
    (lambda: bounds([(0.5,)]), r"pairs such as \[0, 0\.4\], or None, got \(0\.5,\)"),
    (lambda: bounds([("a", "b")]), "pairs such as"),
    (lambda: problem(bounds([(0, 0.4)])), "one entry for each of the 3 arms, got 1; give None"),
    (
        lambda: problem(bounds([(0, 0.4), (0.5, 1), None]) & order([(1, 2)])),
        r"gold must be at least as good as silver, but its bounds end at 0\.4 and those of silver begin at",
    ),
    (
        lambda: problem(bounds([(0, 0.4), None, (0.5, 1)]) & decreasing()),
        "gold must be at least as good as basic",
    ),
    (
        lambda: problem(bounds([(0, 0.4), None, None]) & bounds([(0.6, 1), None, None])),
        r"bounds of gold leave nothing: at least 0\.6 and at most 0\.4",
    ),
    (lambda: gap(1, 2, 1.5), r"difference from 0 to 1, got \(1, 2, 1\.5\)"),
    (lambda: gap(1, 2, -0.1), r"got \(1, 2, -0\.1\)"),
    (lambda: gap(1, 2, "much"), "got"),
    (lambda: gap(1, 2, float("nan")), "nan"),
    (lambda: gap(1, 1, 0.1), "against itself"),
    (
        lambda: problem(gap(1, 2, 0.5) & bounds([(0, 0.4), None, None])),
        r"gold must be at least 0\.5 above silver, but their bounds leave 0\.4 at most",
    ),
    (
        lambda: problem(gap(1, 2, 0.6) & gap(2, 3, 0.6)),
        r"gold must be at least 1\.2 above basic.*leave 1 at most",
    ),
    (lambda: from_dict(nested(200)), "mixtures may be nested 20 deep, got one that is deeper; multiply"),
    (lambda: from_dict(nested(100_000)), "mixtures may be nested 20 deep"),
    (lambda: mixture([(1.0, mixture_of_mixtures(20))]), "mixtures may be nested 20 deep"),
    (lambda: mixture([]), r"mixture must be a list such as .* got \[\]"),
    (lambda: mixture("decreasing"), "mixture must be a list"),
    (lambda: mixture([3]), "pairs such as"),
    (lambda: mixture([(0.5, decreasing())]), r"must sum to 1, got 0\.5"),
    (lambda: mixture([(0.9, decreasing()), (0.2, free())]), r"must sum to 1, got 1\.1"),
    (lambda: mixture([(0, decreasing()), (1, free())]), "above 0 and at most 1, got 0"),
    (lambda: mixture([(True, decreasing())]), "got True"),
    (lambda: mixture([(1, "sloping")]), "unknown structure 'sloping'"),
    (lambda: problem(mixture([(0.5, order([(1, 9)])), (0.5, free())])), "got 9"),
    (lambda: where(3), "where.. needs a function of the means, got 3"),
    (
        lambda: problem(where(lambda means: means > 0.5, "all of them")),
        r"one truth value for each row.*means\[..., k\]",
    ),
    (lambda: problem(where(lambda means: means[..., 0], "a number")), "truth value.*got float64"),
    (
        lambda: from_dict({"where": "never heard of"}),
        "'never heard of' is a function that a file cannot hold; call",
    ),
    (lambda: from_dict({"where": 3}), "3 is a function that a file cannot hold"),
    (lambda: samples([[1.5, 0.2]]), r"samples must be means from 0 to 1, got 1\.5"),
    (lambda: samples([[0.5, 0.2], [0.1]]), "samples must have as many numbers in every row"),
    (lambda: samples([[float("nan"), 0.2]]), "got nan"),
    (lambda: samples([0.5, 0.2]), r"shape \[draws, arms\], got \(2,\)"),
    (lambda: samples(np.empty((0, 3))), r"got \(0, 3\)"),
    (lambda: problem(samples(DRAWS[:, :2])), "one column for each of the 3 arms, got 2"),
    (lambda: samples(DRAWS, [1, 2]), r"weights must be 400 numbers that are not negative.*got shape \(2,\)"),
    (lambda: samples(DRAWS, np.zeros(400)), "not all 0"),
    (lambda: samples(DRAWS, np.arange(400) - 1), "not negative"),
    (lambda: samples("draws.txt"), r"samples must be a \.parquet, \.npy, \.csv file, got .*draws\.txt"),
    (lambda: samples("nowhere.npy"), r"cannot read samples .*nowhere\.npy.*give the path of a file of draws"),
    (lambda: from_dict({"samples": {"table": 3}}), "draws or a path, and perhaps weights"),
    (
        lambda: problem(samples(DRAWS) & samples(DRAWS)),
        "only one of several statements can be a prior of its own",
    ),
    (lambda: logistic([1, 1]), r"prices must be numbers that differ, got \(1\.0, 1\.0\)"),
    (lambda: logistic([1]), "prices must be numbers that differ"),
    (lambda: logistic([1, "x"]), "prices must be numbers, got 'x'"),
    (
        lambda: logistic([1, 2], conversion=(0.6, 0.5)),
        r"conversion must be an interval within 0 and 1.*got \(0\.6, 0\.5\)",
    ),
    (lambda: logistic([1, 2], conversion=0.5), r"conversion must be two numbers, got 0\.5"),
    (
        lambda: logistic([1, 2], odds_fall=(0.5, 2)),
        r"odds_fall must be an interval above 1.*got \(0\.5, 2\.0\)",
    ),
    (lambda: logistic([1, 2], draws=1), "draws must be a whole number, at least 2, got 1"),
    (lambda: problem(logistic([1, 2])), "prices must be 3 numbers, one for each arm, got 2"),
    (lambda: from_dict({"logistic": {"price": [1, 2]}}), "logistic must be a table with prices"),
    (lambda: from_dict({"grid": [1, 3], "methud": "keep"}), "unknown statement 'methud'"),
    (lambda: decreasing().by("fast"), "unknown method 'fast': known: auto, exact, gibbs, keep"),
    (lambda: from_dict({"order": [[1, 2]], "method": "kep"}), "did you mean 'keep'"),
    (
        lambda: from_dict({"samples": DRAWS.tolist(), "method": "keep"}),
        "method can be chosen for statements that rank",
    ),
    (lambda: order([(1, 2)]).by("keep") & order([(2, 3)]).by("gibbs"), "one method, got keep and gibbs"),
    (lambda: problem(unimodal().by("gibbs")).belief, "gibbs is for orders and bounds; leave it out"),
    (lambda: problem(gap(1, 2, 0.1).by("gibbs")).belief, "gibbs is for orders and bounds"),
    (lambda: decreasing() & 3, "statements join with statements, got 3"),
    (lambda: 3 & decreasing(), "statements join with statements, got 3"),
    (
        lambda: order([(1, 2)]).belief(),
        r"needs its arms .arm 1 is at least as good as arm 2.; give it to a problem",
    ),
    (lambda: (order([(1, 2)]) & unimodal()).belief(), "give them to a problem"),
    (lambda: mixture([(1, decreasing())]).belief(), "give it to a problem"),
    (lambda: samples(DRAWS).belief(), "give it to a problem"),
    (lambda: logistic([1, 2]).belief(), "give it to a problem"),
    (lambda: where(top_half).belief(), "give it to a problem"),
]


@pytest.mark.parametrize(("build", "said"), REFUSED, ids=lambda x: x[:40] if isinstance(x, str) else "")
def test_what_is_refused_says_why(build, said):
    with pytest.raises(InvalidInputError, match=said):
        build()


def test_errors_in_a_file_name_the_file(tmp_path):
    path = tmp_path / "problem.toml"
    path.write_text(TOML + "order = [[1, 2], [2, 1]]")
    with pytest.raises(InvalidInputError, match=r"problem\.toml: .*gold >= silver >= gold"):
        Problem.load(path)


def test_joining():
    assert free() & free() == free()
    assert decreasing() & free() == decreasing()
    assert free() & order([(1, 2)]).by("keep") == order([(1, 2)]).by("keep")
    assert (order([(1, 2)]) & unimodal() & bounds([None])).parts == (
        order([(1, 2)]),
        unimodal(),
        bounds([None]),
    )
    by = order([(1, 2)]).by("keep") & bounds([(0, 0.5), None, None])
    assert by.method == "keep"
    assert isinstance(problem(by).belief, Kept)
    assert by.to_dict() == {"order": [[1, 2]], "bounds": [[0.0, 0.5], [], []], "method": "keep"}
    assert problem(decreasing() & order([(1, 3)])).structure.to_dict() == {"order": [[1, 2], [2, 3], [1, 3]]}
    assert problem(decreasing() & order([(1, 3)])).belief == Chain("decreasing")
    assert problem(bounds([(0, 0.4), None, None]) & bounds([(0.1, 1), None, None])).structure.to_dict() == {
        "bounds": [[0.1, 0.4], [], []]
    }


def test_which_belief_a_statement_has():
    kinds = {
        "decreasing": Chain, "by name": Ladder, "no pairs": Independent, "grid": Chain, "unimodal": Ladder,
        "bounds": Ladder, "gap": Kept, "both": Ladder, "three": Kept, "two scales": Kept, "mixture": Mixture,
        "where": Kept, "samples": Samples, "samples in order": Kept, "logistic": Samples, "kept": Kept,
        "gibbs": Gibbs, "free": Independent,
    }  # fmt: skip
    for name, kind in kinds.items():
        assert type(problem(STATEMENTS[name][0]).belief) is kind, name
    assert problem(increasing().by("exact")).belief == Chain("increasing")
