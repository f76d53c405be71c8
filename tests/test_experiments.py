"""The reproduction: each experiment in tiny settings, verdicts by made-up numbers, the files written."""

import dataclasses
import json
import math
import time
from fractions import Fraction

import numpy as np
import pytest
from typer.testing import CliRunner

from elsv.cli import app
from elsv.errors import ElsvError, InvalidInputError
from elsv.exact import evaluate, solve
from elsv.paper import depth, discount, growth, long_horizon, optimum, pictures, run, theorem
from elsv.paper.base import Context, Simulation
from elsv.paper.claims import (
    Verdict,
    all_of,
    at_most,
    listed,
    minus,
)
from elsv.paper.run import EXPERIMENTS, NAMES, chosen, reproduce
from elsv.problem import Problem
from elsv.report import figures
from elsv.report._drawing import last_finite
from elsv.simulation.compare import compare

TINY = {
    "transition": pictures.StateSettings(),
    "values": pictures.ValueSettings(gittins_steps=(6, 20), ucb_step=6, horizon=24),
    "theorem": theorem.Settings(steps=(2, 4, 9), states=20, horizon=9),
    "cost": growth.CostSettings(steps=(20, 40, 80), arms=(1, 4), arms_step=20, repeats=1),
    "depth": depth.Settings(
        horizon=12, instances=16, sweep_horizon=8, sweep_depths=(1, 2, 3), sweep_instances=16, grid_points=3,
        authors_horizon=4,
    ),
    "discount": discount.Settings(horizon=12, instances=32, grid_points=3, repetitions=2),
    "optimum": optimum.Settings(
        horizons=(3, 6, 8, 9), wide_to=8, free_to=8, discounts_to=6, thompson_to=3, searches_to=6,
        depth_horizon=6, depths=(1, 2, 6), region_horizon=12,
    ),
    "arms": discount.ArmsSettings(arms=(2, 4), instances=(32, 32), horizon=8),
    "growth": growth.Settings(
        horizon=60, fit_from=10, prior_instances=32, gaps=(0.2, 0.5), gap_instances=32,
        agreement_instances=16, agreement_horizon=15,
    ),
    "long-horizon": long_horizon.Settings(),
    "decomposition": theorem.LemmaSettings(
        indices=("gittins", "ucb:count_prior=true"), means=((0.6, 0.4),), horizon=12, instances=20
    ),
}  # fmt: skip
CLAIMED = {
    "transition": [],
    "values": ["C9"],
    "theorem": ["C1"],
    "cost": ["C2"],
    "depth": ["C3"],
    "discount": ["C4", "C6"],
    "optimum": ["C3 exact", "C4 exact"],
    "long-horizon": ["C4 at T = 290", "C6 at T = 290"],
    "arms": ["C5"],
    "growth": ["C7"],
    "decomposition": ["C8"],
}


def in_tiny_settings(patch):
    """Make ``quick`` tiny, and leave out nothing."""
    small = tuple(dataclasses.replace(e, quick=TINY[e.name]) for e in EXPERIMENTS)
    patch.setattr(run, "EXPERIMENTS", small)


@pytest.fixture(scope="module")
def reproduced(tmp_path_factory):
    """A whole reproduction in tiny settings on one thread, and where it was written."""
    out = tmp_path_factory.mktemp("reproduced") / "1"
    with pytest.MonkeyPatch.context() as patch:
        in_tiny_settings(patch)
        return reproduce(out, quick=True, seed=5, jobs=1), out


@pytest.fixture(scope="module")
def outcomes(reproduced):
    return {experiment.name: outcome for experiment, outcome in reproduced[0].parts}


@pytest.mark.parametrize("name", NAMES)
def test_every_experiment_runs_in_tiny_settings(outcomes, name):
    outcome = outcomes[name]
    assert [claim.label for claim in outcome.claims] == CLAIMED[name]
    assert outcome.drawings or outcome.tables
    assert outcome.text
    json.dumps(outcome.numbers)
    for table in outcome.tables:
        assert len(table.align) in (0, len(table.headers))
        assert {len(row) for row in table.rows} == {len(table.headers)}
    for claim in outcome.claims:
        assert claim.says
        assert claim.measured
        assert claim.rule
        assert claim.why.endswith(".")


def test_all_claims_are_judged_once():
    again = ("exact", "at T = 290")
    labels = [label for labels in CLAIMED.values() for label in labels if not label.endswith(again)]
    assert sorted(labels) == [f"C{k}" for k in range(1, 10)]


def test_no_policy_beats_the_optimum_and_commit_to_the_end_meets_it(outcomes):
    numbers = outcomes["optimum"].numbers
    for rows in [*numbers["regret"].values(), *numbers["regret_by_depth"].values()]:
        for row in rows.values():
            assert min(row.values()) >= row["optimum"] - 1e-9
    for rows in numbers["regret_by_depth"].values():
        assert rows["6"]["commit"] == pytest.approx(rows["6"]["optimum"], abs=1e-9)


def test_every_policy_is_followed_as_far_as_the_settings_say(outcomes):
    regret = outcomes["optimum"].numbers["regret"]
    ends = {
        name: {label: max(int(t) for t, row in rows.items() if label in row) for label in optimum.POLICIES}
        for name, rows in regret.items()
    }
    pair, discounts, wide, free = ends.values()
    assert set(pair.values()) == {9}
    assert {label for label, end in discounts.items() if end < 6} == {"TS", "TS constrained"}
    assert (wide["TS"], wide["plan"], wide["commit, depth 5"], wide["greedy on the belief"]) == (3, 6, 6, 8)
    assert free == wide
    captions = {drawing.name: drawing.caption for drawing in outcomes["optimum"].drawings}
    assert "end early" not in captions["horizon-pair"]
    assert "(T = 3: " in captions["horizon-wide"]
    assert "(T = 6: " in captions["horizon-wide"]


def test_horizons_that_need_more_memory_than_there_is_are_left_out(monkeypatch):
    full = optimum.EXPERIMENT.full
    monkeypatch.setattr("elsv.paper.optimum.available_memory", lambda: 10**9)
    cases = optimum.cases_of(full)
    assert cases["wide"].horizons[-1] == 70
    assert cases["pair"].horizons == full.horizons
    assert optimum.short_of_memory(cases).endswith("memory: T = 100 (ordered, rewards 0.4, 0.7, 1).")
    monkeypatch.setattr("elsv.paper.optimum.available_memory", lambda: 0)
    assert optimum.cases_of(full)["discounts"].horizons[-1] == 50
    monkeypatch.setattr("elsv.paper.optimum.available_memory", lambda: None)
    assert optimum.cases_of(full)["wide"].horizons[-1] == 100
    assert optimum.short_of_memory(optimum.cases_of(full)) == ""


def test_a_line_that_ends_early_has_its_place_by_its_last_value():
    assert last_finite([3.0, 2.0, np.nan]) == 2.0
    figure = figures.lines([1, 2], {"on": [1.0, 4.0], "off": [2.0, np.nan]}, x_label="x", y_label="y")
    assert [text.get_text() for text in figure.axes[0].get_legend().get_texts()] == ["on", "off"]


def test_what_is_evaluated_once_without_an_order_is_the_same_policy(outcomes):
    problem = Problem(rewards=[1.0, 1.0, 1.0], horizon=6)
    case = optimum.Case("free", (1.0, 1.0, 1.0), None, (6,))
    labels = [*optimum.POLICIES, "best fixed arm"]
    names = [*optimum.POLICIES.values(), "fixed:arm=1"]
    found = {label: row.regret for label, row in zip(labels, evaluate(problem, names), strict=True)}
    found["optimum"] = solve(problem).regret
    assert optimum.regrets_of(case, 6, 1, lambda done, total: None) == pytest.approx(found, rel=1e-12)


def test_what_does_not_depend_on_chance_holds_in_any_size(outcomes):
    for name in ("theorem", "cost", "decomposition"):
        assert [claim.verdict for claim in outcomes[name].claims] == [Verdict.HOLDS], name


def test_comparisons_side_by_side_are_those_one_by_one():
    shares = []
    context = Context(seed=3, jobs=2, progress=shares.append)
    problem = Problem([0.8, 1.0], "decreasing", 10)
    options = {"until": 5}
    several = {
        "long": Simulation(problem, {"ours": "elsv"}, 300, weight=2),
        "short": Simulation(problem, {"ours": "thompson"}, 20, options=options),
    }
    found = context.compare_all(several)
    assert list(found) == ["long", "short"]
    assert shares == sorted(shares)
    assert shares[-1] == pytest.approx(1.0)
    for key, one in several.items():
        alone = compare(problem, one.policies, one.instances, 3, **one.options)
        assert np.array_equal(found[key]["ours"].mean, alone["ours"].mean)


def test_an_error_in_one_of_several_comparisons_is_raised():
    problem = Problem([0.8, 1.0], "decreasing", 10)
    several = {"good": Simulation(problem, {"a": "elsv"}, 20), "bad": Simulation(problem, {"a": "elsv"}, 0)}
    with pytest.raises(InvalidInputError, match="instances"):
        Context(jobs=2).compare_all(several)


def test_an_error_does_not_wait_for_the_other_comparisons():
    steps = []

    def slow(state, step, rng):
        steps.append(step)
        time.sleep(0.01)
        return np.zeros(state.shape, dtype=np.int64)

    def broken(state, step, rng):
        raise ZeroDivisionError

    problem = Problem([0.8, 1.0], "decreasing", 1000)
    several = {"slow": Simulation(problem, {"a": slow}, 20), "bad": Simulation(problem, {"a": broken}, 20)}
    with pytest.raises(ZeroDivisionError):
        Context(jobs=2).compare_all(several)
    assert len(steps) < 900
    with pytest.raises(InvalidInputError, match="jobs must be at least 1"):
        Context(jobs=0).compare_all(several)


def test_full_and_quick_settings_are_of_one_kind():
    for experiment in EXPERIMENTS:
        assert type(experiment.full) is type(experiment.quick)
        assert dataclasses.is_dataclass(experiment.full)


def test_transition_with_an_order_by_integration(outcomes):
    # P(success of arm 1 | μ₁ ≥ μ₂) by exact integration of polynomials.
    def weight(a1, b1, a2, b2):
        total = Fraction(0)  # ∫₀¹ x^(a1−1) (1−x)^(b1−1) ∫₀ˣ y^(a2−1) (1−y)^(b2−1) dy dx
        for k in range(b2):
            inner = Fraction((-1) ** k * math.comb(b2 - 1, k), a2 + k)
            for j in range(b1):
                total += inner * (-1) ** j * math.comb(b1 - 1, j) / (a1 + a2 + k + j)
        return total

    found = outcomes["transition"].numbers["success_probability"]
    assert found["independent"] == [0.4, 0.5]
    whole = weight(2, 3, 10, 10)
    assert found["ordered"][0] == pytest.approx(float(weight(3, 3, 10, 10) / whole), abs=1e-10)
    assert found["ordered"][1] == pytest.approx(float(weight(2, 3, 11, 10) / whole), abs=1e-10)


def test_misprints_show(outcomes):
    numbers = outcomes["theorem"].numbers
    assert numbers["ucb:count_prior=true"]["later_bonus"] > 0.01
    assert numbers["gittins"]["later_bonus"] < 1e-9
    assert numbers["gittins"]["stops_at_one"] > 0.1
    assert numbers["ucb"]["stops_at_one"] is None


def test_cells_are_those_of_the_triangle(outcomes):
    assert outcomes["cost"].numbers["cells_one_step"] == [t * (t + 1) // 2 for t in (20, 40, 80)]
    assert outcomes["cost"].numbers["cells_all_steps"] == [t * (t + 1) * (t + 2) // 6 for t in (20, 40, 80)]


def test_lemma_1_by_hand_for_one_step():
    settings = theorem.LemmaSettings(horizon=1, instances=5)
    mu, rng = np.array([0.3, 0.7]), np.random.default_rng(0)
    regret, bound, least_slack = theorem.both_sides("greedy", mu, settings, rng)
    # Greedy ties at the prior and pulls arm 1: q is equal, so the bound is the regret.
    assert regret == pytest.approx(0.4)
    assert bound == pytest.approx(0.4)
    assert least_slack == pytest.approx(0, abs=1e-10)


def test_bayes_ucb_without_rewards_is_the_plain_index():
    from elsv.indices import Setting, make_index

    problem = Problem(rewards=[0.5, 0.9, 1.0], horizon=50)
    state = theorem.random_states(problem, 20, 200, np.random.default_rng(1))
    z = make_index("bayes-ucb")(state.alpha, state.beta, 20, Setting.of(problem))
    rng = np.random.default_rng(0)
    assert (discount.bayes_ucb_without_rewards(state, 20, rng) == z.argmax(axis=-1)).all()
    assert (discount.bayes_ucb_without_rewards(state, 1, rng) == state.mean.argmax(axis=-1)).all()


def test_fitted_slope_of_the_bound_itself_is_one():
    t = np.arange(1, 2001)
    curve = 3 * np.sqrt(t * np.log(t + 1e-12))
    slope, half = growth.fitted_slope(curve, 0.01 * curve, 100)
    assert slope == pytest.approx(1, abs=1e-6)
    assert 0 < half < 0.05


def test_shapes_of_levels():
    assert pictures.falls_then_rises(np.array([3.0, 1.0, 2.0]))
    assert pictures.falls_then_rises(np.array([3.0, 1.0, 1.001, 1.0, 2.0]))
    assert not pictures.falls_then_rises(np.array([3.0, 1.0, 1.001, 1.0, 2.0]), slack=0.0)
    assert not pictures.falls_then_rises(np.array([1.0, 2.0, 3.0]))
    assert not pictures.falls_then_rises(np.array([3.0, 1.0, 2.0, 1.5, 4.0]))
    assert not pictures.falls_then_rises(np.zeros(4))


def test_small_rules():
    assert at_most(1.0, 1.0) == (Verdict.HOLDS, "holds")
    assert at_most(1.1, 1.0) == (Verdict.NOT_REPRODUCED, "not reproduced")
    assert [all_of(p)[0] for p in ([True, True], [True, False], [False])] == list(Verdict)
    assert listed(["a"]) == "a"
    assert listed(["a", "b", "c"]) == "a, b and c"
    assert minus("a-b -1.5") == "a-b −1.5"


def test_unknown_names():
    with pytest.raises(InvalidInputError, match="experiment"):
        chosen(["fig9"])
    assert [e.name for e in chosen(["depth", "values"])] == ["values", "depth"]
    assert len(chosen()) == len(NAMES)


@pytest.fixture
def tiny(monkeypatch):
    in_tiny_settings(monkeypatch)
    return run


def without_timing(path):
    summary = json.loads(path.read_text())
    assert summary.pop("timing")["seconds"]
    return json.dumps(summary, sort_keys=True)


def test_the_same_seed_gives_the_same_summary_on_any_number_of_jobs(tiny, tmp_path, reproduced):
    seen = [reproduced[1], tmp_path / "2"]
    reproduce(seen[1], quick=True, seed=5, jobs=2)
    assert without_timing(seen[0] / "summary.json") == without_timing(seen[1] / "summary.json")
    files = [sorted(p.relative_to(d) for p in d.rglob("*") if p.is_file()) for d in seen]
    assert files[0] == files[1]
    for path in files[0]:
        if path.suffix in (".parquet", ".json", ".svg") and path.name != "summary.json":
            assert (seen[0] / path).read_bytes() == (seen[1] / path).read_bytes(), path
    page = (seen[0] / "report.html").read_text()
    assert "http" not in page.replace("http://www.w3.org", "")
    for label in ("C1", "C9"):
        assert f"<strong>{label}" in page


def run_cli(*words):
    return CliRunner().invoke(app, ["reproduce", *words])


def test_only_and_json(tiny, tmp_path):
    out = tmp_path / "out"
    done = run_cli("--quick", "--only", "transition", "--only", "theorem", "--out", str(out), "--json")
    assert done.exit_code == 0, done.output
    summary = json.loads(done.stdout)
    assert set(summary["experiments"]) == {"transition", "theorem"}
    assert [claim["verdict"] for claim in summary["claims"]] == ["holds"]
    assert sorted(p.name for p in (out / "results").iterdir()) == ["theorem.json", "transition.json"]
    assert {p.name for p in (out / "figures").iterdir()} == {
        "transition-transition.svg",
        "transition-transition.png",
    }
    assert "wrote" in done.stderr
    mine = out / "figures" / "transition-mine.svg"
    mine.write_text("mine")
    again = ("--quick", "--only", "theorem", "--out", str(out))
    assert "another run" in str(run_cli(*again).exception)
    assert run_cli(*again, "--overwrite").stdout.startswith("C1              holds")
    assert list((out / "figures").iterdir()) == [mine]  # what the earlier run wrote is gone
    assert run_cli(*again).exit_code == 0


def test_what_others_put_there_is_not_touched(tiny, tmp_path):
    (tmp_path / "figures").mkdir()
    (tmp_path / "results").mkdir()
    mine = [
        tmp_path / name for name in ("figures/cost-breakdown.pdf", "figures/cost-a.svg", "results/cost.json")
    ]
    for path in mine:
        path.write_text("mine")
    reproduce(tmp_path, ["transition"], quick=True)
    reproduce(tmp_path, ["theorem"], quick=True, overwrite=True)
    with pytest.raises(
        InvalidInputError, match=r"did not write there: figures/cost-a.svg, results/cost.json; "
    ):
        reproduce(tmp_path, ["cost"], quick=True, overwrite=True)
    assert all(path.read_text() == "mine" for path in mine)
    assert (tmp_path / "results" / "theorem.json").exists()


def test_an_experiment_that_fails_stops_the_one_beside_it(tmp_path, monkeypatch):
    steps = []

    def slow(settings, context):
        for step in range(1000):
            steps.append(step)
            context.progress(step / 1000)
            time.sleep(0.01)

    def broken(settings, context):
        raise ZeroDivisionError

    first, second, *_ = EXPERIMENTS
    several = (
        dataclasses.replace(first, run=slow, weight=2.0),
        dataclasses.replace(second, run=broken, weight=1.0),
    )
    monkeypatch.setattr(run, "EXPERIMENTS", several)
    with pytest.raises(ZeroDivisionError):
        reproduce(tmp_path, quick=True, jobs=2)
    assert len(steps) < 900


def test_a_run_that_ended_half_way_can_be_started_again(tiny, tmp_path, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(tiny, "reproduction_page", interrupted)
        with pytest.raises(KeyboardInterrupt):
            reproduce(tmp_path, ["transition"], quick=True)
    assert (tmp_path / "results" / "transition.json").exists()
    reproduce(tmp_path, ["transition"], quick=True)
    assert (tmp_path / "report.html").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--only", "fig4"], "unknown experiment"),
        (["--seed", "-1"], "--seed must be at least 0"),
        (["--jobs", "0"], "--jobs must be at least 1"),
    ],
)
def test_what_cannot_be_run_is_refused(words, said, tmp_path):
    done = run_cli("--quick", *words, "--out", str(tmp_path))
    assert isinstance(done.exception, ElsvError)
    assert said in str(done.exception)


def test_out_must_be_a_directory(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InvalidInputError, match="directory"):
        reproduce(tmp_path / "file", ["transition"])


def test_out_is_required():
    assert run_cli("--quick").exit_code == 2


def test_the_papers_own_horizon_is_shown_from_the_results_that_are_kept():
    from elsv.paper.long_horizon import EXPERIMENT as LONG
    from elsv.paper.long_horizon import computed, kept

    known = kept()
    row = known["regrets"][(0.8, 0.9, 1.0)][290]
    assert row["optimum"] == pytest.approx(2.0297, abs=5e-5)
    assert row["optimum"] < row["arm 1 always"] < row["ELSV-Gittins"] < row["Gittins"]
    assert all(r["optimum"] == min(r.values()) for rows in known["regrets"].values() for r in rows.values())
    assert all(loss["loss"] > 0 for loss in known["plan"])
    outcome = LONG.run(LONG.full, Context())
    assert [claim.label for claim in outcome.claims] == ["C4 at T = 290", "C6 at T = 290"]
    assert "does not beat a fixed arm" in outcome.text
    # The same code computes them again, here on the CPU at a short horizon.
    short = computed((((0.8, 0.9, 1.0), 8),), "cpu", lambda share: None)
    assert short[(0.8, 0.9, 1.0)][8]["optimum"] == pytest.approx(
        solve(Problem([0.8, 0.9, 1.0], "decreasing", 8)).regret
    )
