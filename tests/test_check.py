"""What a problem assumes, shown: words, drawing, means before data, method and cost, data against it."""

import json
import math
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
from typer.testing import CliRunner

import elsv
from elsv.assumptions.pictures import levels, line
from elsv.beliefs import MethodUsed
from elsv.beliefs.base import method_of
from elsv.cli import app
from elsv.structure import (
    Outline,
    bounds,
    decreasing,
    free,
    grid,
    increasing,
    logistic,
    mixture,
    order,
    unimodal,
    where,
)
from elsv.structure.evidence import Evidence, evidence
from structures import KINDS, SHARES
from test_open_house import PROBLEM as BOX

# By the name of the method that computes their means, where it has one.
SHOWN = {
    "a path": "chain",
    "a fork": "tree",
    "a grid": "ladder",
    "a peak of four": "",
    "a peak of rewards": "",
    "bounds": "cut off",
    "probably decreasing": "mixture",
    "a gap": "draws kept",
    "a condition": "draws kept",
    "samples": "samples",
    "a demand curve": "",
    "a grid by Gibbs sampling": "Gibbs",
    "free": "",
}


def problem_of(structure, arms, **more):
    return elsv.Problem(np.linspace(0.5, 1, arms), horizon=30, structure=structure, **more)


def some_state(problem):
    """Return data that say the opposite of a falling order."""
    numbers = np.arange(problem.arms)
    return elsv.State(problem.prior[:, 0] + numbers, problem.prior[:, 1] + numbers[::-1])


@pytest.mark.parametrize("name", SHOWN)
def test_every_statement_is_shown_in_text_json_and_svg(name):
    problem = problem_of(*KINDS[name])
    state = some_state(problem)
    found = elsv.check(problem, state)
    assert found.assumed == problem.structure.describe()
    start = elsv.State.initial(problem)
    np.testing.assert_allclose([a.prior.mean for a in found.arms], problem.belief.mean(start))
    np.testing.assert_allclose([a.posterior.mean for a in found.arms], problem.belief.mean(state))
    for arm in found.arms:
        assert 0 <= arm.prior.low < arm.prior.mean < arm.prior.high <= 1
    assert found.evidence == evidence(problem, state)
    assert found.milliseconds > 0
    assert found.decision > 0
    assert found.pulls == state.pulls(problem).sum()
    text = str(found)
    for words in ("assumed", "before any data", "method", "cost", "error", f"after {found.pulls} pulls"):
        assert words in text
    assert max(map(len, text.splitlines())) <= 96
    values = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert [arm["arm"] for arm in values["arms"]] == list(range(1, problem.arms + 1))
    assert values["method"]["words"] == found.method.words
    image = ElementTree.fromstring(found.svg())
    assert image.attrib["viewBox"].split()[2] == "390"
    assert "prefers-color-scheme: dark" in found.svg()
    assert "href" not in found.svg()
    assert found._repr_svg_() == found.svg()


def test_the_prior_of_two_ordered_uniform_means():
    """The larger of two uniform numbers has distribution x², the smaller 1 − (1 − x)²."""
    found = elsv.check(elsv.Problem([1, 1], order="decreasing", horizon=5))
    first, second = (arm.prior for arm in found.arms)
    assert (first.mean, second.mean) == pytest.approx((2 / 3, 1 / 3), abs=1e-8)
    assert (first.low, first.high) == pytest.approx((0.025**0.5, 0.975**0.5), abs=1e-6)
    assert (second.low, second.high) == pytest.approx((1 - 0.975**0.5, 1 - 0.025**0.5), abs=1e-6)
    assert found.evidence is None
    assert found.state is None
    assert "after" not in str(found)


def test_the_bayes_factor_of_two_arms_by_hand():
    """One success of the second arm: likelihood 1/3 under the order, 1/2 without."""
    problem = elsv.Problem([1, 1], order="decreasing", horizon=5)
    found = elsv.check(problem, elsv.State([1, 2], [1, 1])).evidence
    assert found.factor == pytest.approx(2 / 3)
    assert found.probability == pytest.approx(0.4)
    assert not found.contradicted
    assert found.warning() is None
    assert (found.ratio, found.chance) == pytest.approx((0, 1), abs=1e-5)
    assert found.describe() == "the data agree with what is assumed"
    assert "with this prior: P(assumed | data) = 0.4 " in found.figures()


@pytest.mark.parametrize(
    ("name", "figure"),
    [
        ("a path", {"messages": 3}),
        ("a fork", {"messages": 3}),
        ("a grid", {"messages": 5}),
        ("bounds", {"messages": 3}),
        ("probably decreasing", {"messages": 3, "beliefs": 2}),
        ("samples", {"draws": 5}),
        ("a gap", {"draws": 1 << 14}),
        ("a grid by Gibbs sampling", {"draws": 4096}),
    ],
)
def test_methods_are_named_with_their_figures(name, figure):
    problem = problem_of(*KINDS[name])
    method = method_of(problem.belief, elsv.State.initial(problem))
    assert method.name == SHOWN[name]
    assert figure.items() <= method.figures.items()
    if name == "a gap":
        # Of two arms in order the gap is at least 0.1 with probability 0.9².
        assert method.figures["acceptance"] == pytest.approx(0.9**2, abs=0.01)
        assert " % of 16,384" in method.words
    if name == "samples":
        assert method.figures["effective"] == pytest.approx(64 / sum(share**2 for share in SHARES))
    if method.name == "Gibbs":
        assert method.figures["r_hat"] == pytest.approx(1, abs=0.05)


def test_the_drawing_of_each_kind_of_order():
    names = ["gold", "silver", "basic"]
    chain = str(elsv.check(problem_of(increasing(), 3, names=names)))
    assert "basic ≥ silver ≥ gold" in chain
    tree = str(elsv.check(problem_of(order([("gold", "silver"), ("gold", "basic")]), 3, names=names)))
    assert "          gold\n          ├ ≥ silver\n          └ ≥ basic\n" in tree
    rows = str(elsv.check(problem_of(grid(2, 2), 4, names=["a", "b", "c", "d"])))
    assert "a   ≥ b" in rows
    assert "c   ≥ d" in rows
    assert "∨" in rows
    diamond = str(elsv.check(problem_of(order([(1, 2), (1, 3), (2, 4), (3, 4)]), 4)))
    assert "arm 4          ≤ arm 2, arm 3" in diamond
    peak = str(elsv.check(problem_of(unimodal(), 3)))
    assert "▁ █ ▁" in peak
    both = str(elsv.check(problem_of(mixture([(0.9, decreasing()), (0.1, free())]), 3)))
    assert "with probability 0.9\n          arm 1 ≥ arm 2 ≥ arm 3" in both
    assert "of reward times mean" in str(elsv.check(problem_of(unimodal(on="reward"), 3)))


def test_outlines_of_joined_statements():
    def outline(structure, arms):
        return problem_of(structure, arms).structure.outline()

    assert outline(grid(2, 2) & bounds([(0, 0.9)] * 4), 4).grid == (2, 2)
    assert outline(grid(2, 2) & order([(2, 3)]), 4).grid is None
    assert outline(grid(2, 2) & order([(2, 3)]), 4).pairs == ((0, 1), (1, 2), (2, 3))
    assert outline(logistic([30, 10, 20], draws=64) & where(lambda m: m[..., 0] < 0.9, "low"), 3).pairs == (
        (1, 2),
        (2, 0),
    )
    assert outline(mixture([(1.0, decreasing())]), 2) == Outline(pairs=((0, 1),))
    assert decreasing().outline() == Outline()
    assert (decreasing() & bounds([(0, 1)])).outline() == Outline()


def test_layouts():
    assert line(3, ((2, 0), (0, 1))) == [2, 0, 1]
    assert line(3, ((0, 1), (0, 2))) is None
    assert line(4, ((0, 1), (2, 3))) is None
    assert "└ ≥ arm 4" in str(elsv.check(problem_of(order([(1, 2), (1, 3), (3, 4)]), 4)))
    assert "arm 3          ≤ arm 1, arm 2" in str(elsv.check(problem_of(order([(1, 3), (2, 3)]), 3)))
    assert levels(5, ((0, 2), (1, 2), (2, 3), (0, 3), (1, 4))) == [[0, 1], [2, 4], [3]]
    many = 3000
    assert len(levels(many, tuple((k, k + 1) for k in range(many - 1)))) == many


def test_a_drawing_holds_any_name_and_many_arms():
    names = ['<b> & "x"', "a name that is far too long for any box in a drawing of this width", "µ"]
    image = elsv.check(problem_of(decreasing(), 3, names=names)).svg()
    assert "&lt;b&gt; &amp;" in image
    ElementTree.fromstring(image)
    wide = ElementTree.fromstring(elsv.check(problem_of(order([(1, k) for k in range(2, 31)]), 30)).svg())
    assert len(wide.findall(".//{http://www.w3.org/2000/svg}rect")) == 31
    for element in wide.iter():
        for key in ("x", "x1", "x2", "cx"):
            if key in element.attrib:
                assert 0 <= float(element.attrib[key]) <= 390


def test_a_structure_and_a_belief_of_ones_own():
    state = elsv.State([2, 1], [1, 2])
    found = elsv.check(BOX, state)
    assert found.assumed == BOX.structure.describe()
    assert found.method.words == "BoxBelief, which does not say how it computes"
    assert found.error is None
    assert "not measured" in str(found)
    np.testing.assert_allclose([a.posterior.mean for a in found.arms], BOX.belief.mean(state))
    # One success in [0.3, 1] and one failure in [0, 0.6], against one half each.
    assert found.evidence.factor == pytest.approx(0.65 * 0.7 * 4)
    ElementTree.fromstring(found.svg())


def test_abilities_of_ones_own_are_asked_for():
    class Own(elsv.structure.Monotone):
        def outline(self):
            return Outline(grid=(1, 3), pairs=((0, 1), (1, 2)))

        def belief(self):
            return Known("decreasing")

    class Known(elsv.Chain):
        def describe_method(self, state):
            return MethodUsed("magic", f"magic for {state.arms} arms")

    class Changed(elsv.Chain):
        def mean(self, state, rng=None):
            return super().mean(state)

    found = elsv.check(problem_of(Own("decreasing"), 3))
    assert "magic for 3 arms" in str(found)
    assert "∨" in str(found)
    start = elsv.State([1, 1], [1, 1])
    assert method_of(Changed(), start).name == "Changed"


def test_a_belief_that_only_draws_is_shown_without_a_bayes_factor():
    class Drawn:
        def mean(self, state, rng=None):
            return rng.beta(state.alpha, state.beta, (500, *state.alpha.shape)).mean(axis=0)

        def draw(self, state, rng):
            return rng.beta(state.alpha, state.beta)

    class Vague(elsv.structure.Free):
        def belief(self):
            return Drawn()

    problem = problem_of(Vague(), 2)
    found = elsv.check(problem, elsv.State([2, 1], [1, 1]))
    assert found.evidence.factor is None
    assert found.evidence.ratio == 0
    assert "Bayes factor" not in str(found)
    assert [a.prior for a in found.arms] == [a.prior for a in elsv.check(problem).arms]


def test_data_that_contradict_are_warned_of_with_a_remedy():
    problem = problem_of(decreasing(), 2)
    found = elsv.check(problem, elsv.State([1, 9], [9, 1]))
    assert found.evidence.contradicted
    assert "warning" in str(found)
    assert "mixture" in str(found)
    assert found.to_dict()["evidence"]["warning"] == found.evidence.warning()
    assert [doubt["about"] for doubt in found.to_dict()["doubts"]] == ["structure"]
    robust = elsv.check(
        problem_of(mixture([(0.9, decreasing()), (0.1, free())]), 2), elsv.State([1, 9], [9, 1])
    )
    assert robust.evidence.factor == pytest.approx(0.1, rel=0.01)
    assert robust.evidence.parts[1] > 0.99
    assert "0.1 → 1 " in str(robust)
    assert "P(assumed | data)" not in str(robust)
    either = elsv.check(
        problem_of(mixture([(0.5, decreasing()), (0.5, increasing())]), 2), elsv.State([1, 9], [9, 1])
    )
    assert "Bayes factor" in str(either)
    assert "0.5 → 1 " in str(either)
    assert "now 1:" in robust.svg()


def test_the_cost_of_a_decision_is_measured_and_says_how_many_beliefs():
    start = str(elsv.check(problem_of(decreasing(), 2)))
    assert "a state, plan " in start
    assert "a decision, on this machine\n" in start
    nested = mixture([(0.9, mixture([(0.5, decreasing()), (0.5, increasing())])), (0.1, free())])
    assert "; each evaluates 3 beliefs" in " ".join(str(elsv.check(problem_of(nested, 2))).split())
    over = elsv.check(elsv.Problem([1, 1], order="decreasing", horizon=2), elsv.State([2, 1], [2, 1]))
    assert over.decision is None
    assert "decision" not in str(over)
    assert over.to_dict()["decision_milliseconds"] is None


def test_a_state_without_pulls_and_nothing_assumed():
    problem = problem_of(decreasing(), 2)
    assert "none yet" in str(elsv.check(problem, elsv.State.initial(problem)))
    nothing = problem_of(free(), 2)
    assert "nothing is assumed, so" in str(elsv.check(nothing, elsv.State([2, 1], [1, 1])))
    assert "exact to rounding" in str(elsv.check(nothing))


def test_bad_states_are_refused():
    problem = problem_of(decreasing(), 2)
    with pytest.raises(elsv.InvalidInputError, match="one instance"):
        elsv.check(problem, elsv.State.initial(problem, (3,)))
    with pytest.raises(elsv.InvalidInputError, match="2 arms"):
        elsv.check(problem, elsv.State([1, 1, 1], [1, 1, 1]))


def test_evidence_at_the_ends():
    assert Evidence(-1e6).probability == pytest.approx(0, abs=1e-300)
    assert Evidence(1e6).factor < math.inf
    assert Evidence(None).probability is None
    json.dumps(Evidence(-1e6).to_dict(), allow_nan=False)


@pytest.fixture
def stated(tmp_path):
    path = tmp_path / "prices.toml"
    path.write_text(
        'rewards = [0.5, 0.75, 1.0]\nhorizon = 20\nnames = ["low", "middle", "high"]\n'
        "[structure]\norder = [[1, 2], [1, 3]]\n"
    )
    return path


def test_the_command(stated, tmp_path):
    run = CliRunner().invoke
    done = run(app, ["check", str(stated), "--state", "1,6 1,1 6,1", "--svg", str(tmp_path / "order.svg")])
    assert done.exit_code == 0, done.output
    for words in ("low is at least as good as middle and high", "├ ≥ middle", "a tree of 3 arms", "warning"):
        assert words in done.stdout
    ElementTree.parse(tmp_path / "order.svg")
    values = json.loads(run(app, ["check", str(stated), "--json"]).stdout)
    assert values["outline"]["pairs"] == [[1, 2], [1, 3]]
    assert values["evidence"] is None
    assert [arm["prior"]["mean"] for arm in values["arms"]] == pytest.approx([0.75, 0.375, 0.375])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--svg", "order.png"], "written as .svg"),
        (["--svg", "/proc/none/order.svg"], "cannot write"),
        (["--state", "1,1"], "arms"),
        (["--state", "nonsense"], "pairs such as"),
    ],
)
def test_the_command_refuses(stated, options, words):
    done = CliRunner().invoke(app, ["check", str(stated), *options])
    assert isinstance(done.exception, elsv.ElsvError)
    assert words in str(done.exception)
    assert done.stdout == ""


class TestWatched:
    """The explanation and the live bandit say what outcomes make of the assumption."""

    AGAINST = elsv.State([1, 12], [12, 1])

    def test_explain_shows_probability_and_factor(self):
        bandit = elsv.Bandit(problem_of(decreasing(), 2), "greedy", state=elsv.State([3, 1], [1, 1]))
        explained = bandit.explain()
        assert explained.evidence == bandit.evidence()
        assert f"assumed: {explained.assumed}; the data agree with what is assumed" in str(explained)
        assert "with this prior: P(assumed | data) = " in str(explained)
        assert "warning" not in str(explained)
        values = json.loads(json.dumps(explained.to_dict(), allow_nan=False))
        assert values["evidence"]["bayes_factor"] == pytest.approx(explained.evidence.factor)
        assert values["assumed"] == "the means decrease: each arm succeeds at least as often as the next"

    def test_explain_warns(self):
        explained = elsv.Bandit(problem_of(decreasing(), 2), "greedy", state=self.AGAINST).explain()
        assert str(explained).splitlines()[-1] == f"warning: {explained.doubts[0].words}"
        assert explained.doubts[0].words.startswith("The outcomes speak against what is assumed: the means")

    def test_a_mixture_tells_its_parts(self):
        structure = mixture([(0.9, decreasing()), (0.1, free())])
        explained = elsv.Bandit(problem_of(structure, 2), "greedy", state=self.AGAINST).explain()
        assert "its parts now have the probabilities" in str(explained)
        assert "before any data 0.9, 0.1" in str(explained)
        assert "even odds" not in str(explained)
        assert explained.to_dict()["evidence"]["before"] == pytest.approx([0.9, 0.1])
        assert "warning" not in str(explained)

    @pytest.mark.parametrize(
        ("structure", "state"), [(free(), elsv.State([3, 1], [1, 1])), (decreasing(), None)]
    )
    def test_nothing_is_said_where_nothing_is_assumed_or_seen(self, structure, state):
        bandit = elsv.Bandit(problem_of(structure, 2), "greedy", state=state)
        assert bandit.evidence() is None
        assert "assumed" not in str(bandit.explain())
        assert bandit.explain().to_dict()["evidence"] is None

    def test_the_bandit_says_it_once(self, caplog, monkeypatch):
        monkeypatch.setattr("elsv._base.notices._said", set())
        caplog.set_level("INFO", "elsv")
        bandit = elsv.Bandit(problem_of(decreasing(), 2), "greedy", state=self.AGAINST)
        bandit.choose()
        bandit.choose()
        (record,) = [r for r in caplog.records if "speak against" in r.getMessage()]
        assert record.getMessage().startswith("after 22 outcomes the data speak against what is assumed")

    def test_the_bandit_is_silent_where_data_agree(self, caplog, monkeypatch):
        monkeypatch.setattr("elsv._base.notices._said", set())
        caplog.set_level("INFO", "elsv")
        elsv.Bandit(problem_of(decreasing(), 2), "greedy", state=elsv.State([12, 1], [1, 12])).choose()
        assert not [r for r in caplog.records if "assumed" in r.getMessage()]

    def test_decide_shows_it(self, stated):
        done = CliRunner().invoke(app, ["decide", str(stated), "-p", "greedy", "--state", "1,6 1,1 6,1"])
        assert "P(assumed | data)" in done.stdout
        assert "warning" in done.stdout


def test_what_a_wrong_order_costs_is_measured_on_the_same_means(monkeypatch):
    from benchmarks import wrong_order

    monkeypatch.setattr(wrong_order, "HORIZON", 12)
    found = wrong_order.regrets((0.8, 0.9, 1.0), increasing(), 60)
    assert list(found) == ["decreasing()", "mixture .9/.1", "free()"]
    wrong, robust, nothing = (mean for mean, _ in found.values())
    assert nothing < robust < wrong
    again = wrong_order.regrets((0.8, 0.9, 1.0), increasing(), 60)
    assert again == found
