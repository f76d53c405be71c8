"""What policies earn, and how much more than always pulling one arm: simulated and exact."""

import json
import re

import numpy as np
import pytest

import elsv
from commands import elsv as command
from elsv.errors import InvalidInputError
from elsv.exact import Evaluation, PolicyValue
from elsv.policies.registry import legend, meaning
from elsv.policies.single import Gain, best_single_arm, expected_rewards, find_arm, labels_of
from elsv.problem import Problem
from elsv.report.evaluation import earned as earned_exactly
from elsv.report.evaluation import evaluation_table
from elsv.report.headline import (
    earned,
    gain_cells,
    gain_sentence,
    headers,
    headline_rows,
    number,
    shown_digits,
)

NAMES = ("30 % off", "20 % off", "10 % off", "full price")
SHOP = Problem(rewards=[0.7, 0.8, 0.9, 1.0], order="decreasing", horizon=20, names=NAMES)
FREE = Problem(rewards=[1, 2, 1.5], horizon=15, names=["a", "b", "c"])


@pytest.fixture(scope="module")
def shops():
    policies = ["thompson", "fixed:arm=4", "fixed:arm=1", "plan"]
    return elsv.compare(SHOP, policies, 800, seed=3, keep_raw=True, against="full price")


def test_the_best_single_arm_is_that_of_the_prior_and_the_order():
    assert expected_rewards(SHOP) == pytest.approx([0.56, 0.48, 0.36, 0.2])
    assert best_single_arm(SHOP) == 0
    assert best_single_arm(FREE) == 1
    assert best_single_arm(Problem(rewards=[1, 1], horizon=2)) == 0  # ties: the first
    assert best_single_arm(Problem(rewards=[1, 1], horizon=2, prior=[(1, 1), (2, 1)])) == 1


def test_earnings_and_regret_make_up_what_one_who_knew_would_earn(shops):
    sums = [result.earnings + result.mean for result in shops.totals.policies]
    for one in sums[1:]:
        np.testing.assert_allclose(one, sums[0], rtol=1e-12)
    assert shops.earnings()["plan"] == (shops["plan"].earnings[-1], shops["plan"].earnings_ci95[-1])


def test_gains_are_paired_differences_to_the_arm_played_alone(shops):
    for policy in shops.names:
        for arm, rival in ((3, "fixed:arm=4"), (0, "fixed:arm=1")):
            gain = shops.gain(policy, arm)
            difference, half = shops.difference(rival, policy)
            assert gain.amount == pytest.approx(difference, abs=1e-12)
            assert gain.ci95 == pytest.approx(half, abs=1e-7)
            assert gain.percent == pytest.approx(100 * difference / shops.earnings()[rival][0], abs=1e-9)
            assert (gain.arm, gain.name) == (arm, NAMES[arm])
    assert shops.gain("plan") == shops.gain("plan", "30 % off") == shops.gain("plan", "1")


def test_intervals_of_earnings_and_per_cents_are_those_of_the_instances(shops):
    best = shops["fixed:arm=4"].earnings[-1] + shops["fixed:arm=4"].mean[-1]
    rng = np.random.default_rng(0)
    curves = {name: shops[name].curves[-1] for name in shops.names}
    knower = 20 * (SHOP.rewards * _means(shops)).max(axis=1)
    earned_by = {name: knower - curve for name, curve in curves.items()}
    assert knower.mean() == pytest.approx(best)
    deviation = earned_by["thompson"].std(ddof=1)
    assert shops.earnings()["thompson"][1] == pytest.approx(1.959964 * deviation / 800**0.5, rel=1e-6)
    again = rng.integers(800, size=(2000, 800))
    ratios = earned_by["thompson"][again].mean(axis=1) / earned_by["fixed:arm=4"][again].mean(axis=1)
    assert shops.gain("thompson", 3).percent_ci95 == pytest.approx(100 * 1.96 * ratios.std(), rel=0.08)


def _means(shops):
    from elsv.simulation.engine import Run
    from elsv.simulation.instances import FromPrior

    run = Run(SHOP, ("random",), 800, 20, 3, FromPrior(SHOP), np.array([20]))
    parts = []
    for chunk in range(run.chunks):
        start, stop = chunk * run.chunk_size, min(800, (chunk + 1) * run.chunk_size)
        seeds = np.random.SeedSequence(3, spawn_key=(chunk,)).spawn(3)
        parts.append(FromPrior(SHOP).means(start, stop, np.random.default_rng(seeds[0])))
    return np.concatenate(parts)


def test_simulated_gains_agree_with_the_exact_ones():
    names = ["greedy", "thompson", "fixed:arm=3"]
    exact = elsv.evaluate(FREE, ["optimal", *names])
    simulated = elsv.compare(FREE, names, 20_000, seed=5)
    for name in names:
        for arm in range(3):
            gain, known = simulated.gain(name, arm), exact.gain(name, arm)
            assert abs(gain.amount - known.amount) < 1.7 * gain.ci95 + 1e-9
            assert abs(gain.percent - known.percent) < 1.7 * gain.percent_ci95 + 1e-9
    assert exact.singles == pytest.approx([7.5, 15, 11.25])
    assert exact["fixed:arm=3"].value == pytest.approx(exact.singles[2])
    assert exact.gain("fixed:arm=3", "c") == Gain(2, "c", 0.0, 0.0)


def test_arms_are_called_by_their_names(shops):
    assert shops.labels == ("thompson", "always full price", "always 30 % off", "plan")
    text = " ".join(cell for row in headline_rows(shops) for cell in row)
    assert "always full price" in text
    assert "fixed" not in text
    assert shops.to_dict()["policies"][1]["policy"] == "fixed:arm=4"
    assert shops.to_dict()["policies"][1]["label"] == "always full price"
    axes = shops.plot()
    legends = [legend for legend in (axes.get_legend(), *axes.figure.legends) if legend is not None]
    drawn = " ".join(text.get_text() for text in axes.texts)
    drawn += " ".join(text.get_text() for legend in legends for text in legend.get_texts())
    assert "always full" in drawn.replace("\n", " ")
    assert "fixed" not in drawn


def test_labels_never_hide_a_name():
    def label(*pairs):
        return labels_of([name for name, _ in pairs], [policy for _, policy in pairs], SHOP)

    assert label(("fixed", "fixed"), ("fixed:arm=1", "fixed:arm=1")) == ("always 30 % off", "fixed:arm=1")
    assert label(("mine", "fixed:arm=4"), ("fixed:arm=2", print)) == ("mine", "fixed:arm=2")
    assert label(("fixed:arm=4", "fixed:arm=4"), ("always full price", print))[0] == "fixed:arm=4"
    with pytest.raises(InvalidInputError, match="from 1 to 4"):
        label(("fixed:arm=9", "fixed:arm=9"))


@pytest.mark.parametrize(
    ("arm", "found"), [("full price", 3), ("4", 3), (3, 3), (np.int64(0), 0), (" 1 ", 0)]
)
def test_arms_are_found_by_name_or_number(arm, found):
    assert find_arm(SHOP, arm) == found
    assert find_arm(Problem(rewards=[1, 2], horizon=3, names=["2", "1"]), "2") == 0  # names go first


@pytest.mark.parametrize(
    ("arm", "words"),
    [
        ("ful price", "did you mean 'full price'"),
        ("5", "1 to 4, got 5"),
        ("0", "1 to 4"),
        (4, "0 to 3, got 4"),
        (-1, "0 to 3"),
        (True, "a name or a number"),
        (1.0, "a name or a number"),
    ],
)
def test_arms_that_are_none(shops, arm, words):
    with pytest.raises(InvalidInputError, match=words):
        shops.gain("plan", arm)
    with pytest.raises(InvalidInputError, match=words):
        elsv.compare(SHOP, ["greedy"], 10, against=arm)
    with pytest.raises(InvalidInputError, match=words):
        elsv.evaluate(SHOP.with_horizon(3), ["greedy"], against=arm)


@pytest.mark.parametrize(
    ("gain", "says"),
    [
        (Gain(0, "x", 0.5, 1.4, 0.1, 0.3), "0.50 ± 0.10 more than always `x` (+1.4 ± 0.3 %)"),
        (Gain(0, "x", 0.2, 0.5, 0.1, 0.2), "0.20 ± 0.10 more than always `x` (+0.5 ± 0.2 %, under 1 %)"),
        (Gain(0, "x", -0.2, -0.5, 0.1, 0.2), "0.20 ± 0.10 less than always `x` (−0.5 ± 0.2 %, under 1 %)"),
        (Gain(0, "x", 0.2, 0.9, 0.1, 0.2), "0.20 ± 0.10 more than always `x` (+0.9 ± 0.2 %)"),
        (
            Gain(0, "x", 0.05, 0.1, 0.1, 0.2),
            "not to be told apart from always `x` (+0.05 ± 0.10, +0.1 ± 0.2 %)",
        ),
        (Gain(0, "x", 1e-15, 1e-13, 1e-16, 1e-14), "as much as always `x`"),
        (Gain(0, "x", 0.2, 0.5), "0.20 more than always `x` (+0.5 %, under 1 %)"),
        (Gain(0, "x", 0.2, np.nan, 0.1, np.nan), "0.20 ± 0.10 more than always `x` (–)"),
        (Gain(0, "x", 0.2, 0.5, np.inf, np.inf), "+0.20 (+0.5 %) against always `x`"),
    ],
)
def test_a_gain_in_words(gain, says):
    assert gain_sentence(gain, 2, 1, beforehand=False) == says
    assert "best in expectation beforehand" in gain_sentence(gain, 2, 1, beforehand=True)


def test_numbers_have_signs_but_nothing_has_none():
    assert number(-0.001, 2, signed=True) == "0.00"
    assert number(-0.01, 2, signed=True) == "−0.01"
    assert number(12345.6, 1) == "12,345.6"
    assert number(3.21e-15, 17) == "3.210e−15"
    assert gain_cells(Gain(0, "x", 0.0, 0.0), 3, 2) == ("0.000", "0.00 %")


@pytest.mark.parametrize(("rate", "digits"), [(1e-6, 8), (1, 2), (1e6, 0)])
def test_digits_follow_the_currency(rate, digits):
    result = elsv.compare(Problem(rate * FREE.rewards, horizon=15), ["greedy", "random"], 600, seed=1)
    assert shown_digits(result) == pytest.approx(digits, abs=1)
    regret = next(row for row in headline_rows(result) if row[0] == "random")[4]
    assert sum(c.isdigit() for c in regret.partition(" ±")[0].lstrip("0.")) >= 3


def test_tables_and_sentences_of_a_comparison(shops):
    heads = headers(shops)
    assert heads[2:6] == [
        "over always 30 % off ± 95 %", "over always 30 % off in % ± 95 %",
        "over always full price ± 95 %", "over always full price in % ± 95 %",
    ]  # fmt: skip
    assert "; and " in earned(shops)
    latex = shops.to_latex()
    assert latex.startswith("\\begin{tabular}{l" + "r" * (len(heads) - 2) + "}\n\\toprule\n")  # no times
    assert "over always full price in \\% $\\pm$ 95 \\%" in latex
    assert latex.count(r"\\") == 5
    columns = shops.columns()
    assert set(columns["label"]) == set(shops.labels)
    assert columns["earnings"][19] == shops["thompson"].earnings[-1]
    single = elsv.compare(SHOP, ["random"], 1)
    assert "±" not in earned(single)
    json.dumps(elsv._base.numbers.finite(single.to_dict()), allow_nan=False)


def test_the_command_that_repeats_a_run(shops):
    from elsv.report.comparison import repeat_command

    assert repeat_command(shops).endswith("--instances 800 --seed 3 --against 'full price'")


def test_an_arm_that_earns_nothing_has_no_per_cent():
    result = elsv.compare(FREE, ["greedy"], 10, means=[[0.0, 0.0, 0.0]])
    assert np.isnan(result.gain("greedy").percent)
    assert headline_rows(result)[0][3] == "–"


def test_an_evaluation_is_a_sequence_and_a_table():
    found = elsv.evaluate(FREE, ["optimal", "greedy", "fixed:arm=1"], against="c")
    assert isinstance(found, Evaluation)
    assert len(found) == 3
    best, *rows = found
    assert (best.name, [row.name for row in rows]) == ("optimal", ["greedy", "fixed:arm=1"])
    assert found[0] is found["optimal"] is best
    assert found[1:] == tuple(rows)
    assert found.earnings() == {row.name: row.value for row in found}
    assert isinstance(found[0], PolicyValue)
    with pytest.raises(InvalidInputError, match="no policy 'plan' here"):
        found["plan"]
    for frame in (found.to_polars(), found.to_pandas()):
        assert list(frame["label"]) == ["optimal", "greedy", "always a"]
        assert list(frame["earnings"]) == [row.value for row in found]
        assert list(frame["gain_over_best_single"]) == [found.gain(row).amount for row in found]
        assert list(frame["gain_over_against_percent"]) == [found.gain(row, "c").percent for row in found]
        assert list(frame["best_single_arm"]) == ["b"] * 3
        assert next(iter(frame["above_optimum_percent"])) == 0.0
    heads, cells = evaluation_table(found)
    assert [row[0] for row in cells] == ["optimal", "greedy", "always a", "always b", "always c"]
    assert cells[3][2] == "0.000000"[: len(cells[3][2])]
    assert "above optimum" in heads
    assert found.to_latex().count("&") == 6 * (len(heads) - 1)
    assert "`greedy` earns the most" in earned_exactly(found)
    assert found.to_dict()["single_arms"][0] == {
        "arm": 2, "name": "b", "best_beforehand": True, "earnings": pytest.approx(15),
    }  # fmt: skip
    without = elsv.evaluate(FREE, ["greedy"])
    assert np.isnan(without.columns()["above_optimum_percent"]).all()
    assert without.rivals == (1,)


def test_results_print_as_on_the_terminal(shops):
    found = elsv.evaluate(FREE, ["optimal", "greedy"], horizon=6)
    assert found.problem.horizon == 6
    assert found["optimal"].value == elsv.solve(FREE, horizon=6).value
    assert str(found).startswith("policy ") or "\npolicy " in str(found)
    assert "greedy earns " in str(found)
    assert "Regret is what" in str(found)
    assert repr(found) == "Evaluation(['optimal', 'greedy'], horizon=6)"
    solved = elsv.solve(FREE, horizon=6, keep=6)
    assert [line.split()[0] for line in str(solved).splitlines()] == [
        "value", "regret", "first", "reward", "states",
    ]  # fmt: skip
    assert "\n" not in repr(solved)
    text = str(shops)
    assert "over always" in text
    assert "Regret is what" in text
    assert "\x1b" not in text
    assert repr(shops).startswith("Comparison(problem=")
    assert "\n" not in repr(shops)


def test_latex_has_options(shops):
    found = elsv.evaluate(FREE, ["optimal", "greedy"])
    for result in (found, shops):
        plain = result.to_latex(digits=1, booktabs=False)
        assert plain.count(r"\hline") == 3
        assert "toprule" not in plain
        whole = result.to_latex(caption="90 % of it", label="tab:shops")
        assert whole.startswith("\\begin{table}\n\\centering\n\\caption{90 \\% of it}\n\\label{tab:shops}\n")
        assert whole.endswith("\\end{tabular}\n\\end{table}\n")
        with pytest.raises(InvalidInputError, match="digits must be"):
            result.to_latex(digits=-1)
    assert f"& {found[0].value:.2f} &" in found.to_latex()
    assert f"& {found[0].value:.5f} &" in found.to_latex(digits=5)


def test_latex_has_the_columns_asked_for_and_the_best_in_bold(shops):
    assert "time /" not in shops.to_latex()
    assert "time / decision" in shops.to_latex(columns=["time"])
    found = elsv.evaluate(FREE, ["optimal", "greedy", "thompson"], horizon=6)
    latex = found.to_latex(columns=["regret", "earns"], bold_best=True).splitlines()
    assert latex[2] == r"policy & regret & earns \\"
    by_policy = {line.partition(" &")[0]: line for line in latex[4:-2]}
    assert "textbf" not in by_policy["optimal"]  # it is a bound, not a rival
    assert "textbf" not in by_policy["thompson"]
    assert by_policy["greedy"].count(r"\textbf{") == 2
    with pytest.raises(InvalidInputError, match=r"unknown column 'regrets'.*above_optimum"):
        found.to_latex(columns=["regrets"])
    with pytest.raises(InvalidInputError, match="unknown column 'time'"):
        found.to_latex(columns=["time"])


def test_figures_that_read_the_same_are_both_the_best():
    found = elsv.evaluate(FREE, ["fixed:arm=2", "greedy", "fixed:arm=1"], horizon=1)
    assert found.to_latex(columns=["earns"], bold_best=True).count(r"\textbf{") == 2


def test_several_problems_stand_in_one_table(shops):
    exact = elsv.evaluate(FREE, ["optimal", "thompson"], horizon=6)
    table = elsv.to_latex({"shops": shops, "6 & free": exact}, bold_best=True, caption="Both").splitlines()
    assert table[3] == r"\begin{tabular}{lrr}"
    assert table[5] == r" & \multicolumn{1}{c}{shops} & \multicolumn{1}{c}{6 \& free} \\"
    assert table[6] == r"\cmidrule(lr){2-2}\cmidrule(lr){3-3}"
    rows = {line.partition(" &")[0]: line.removesuffix(r" \\").split(" & ") for line in table[9:-3]}
    assert len({len(row) for row in rows.values()}) == 1
    assert rows["optimal"][1] == ""  # it was not simulated
    assert rows["thompson"][1]
    assert rows["thompson"][2]
    assert r"\cline{2-4}\cline{5-7}" in elsv.to_latex(
        {"a": exact, "b": exact}, columns=["earns", "regret", "above_optimum"], booktabs=False
    )
    with pytest.raises(InvalidInputError, match="got none"):
        elsv.to_latex({})
    with pytest.raises(InvalidInputError, match=r"got list.*by their titles"):
        elsv.to_latex([exact])


def test_latex_is_escaped():
    from elsv._base.export import latex_table

    text = latex_table(["a_b", "5 %"], [["$x^2$ & {y}~\\", "1 ± 2 × 3 – 4 −5 µs"]])
    assert r"a\_b & 5 \% \\" in text
    assert r"\$x\textasciicircum{}2\$ \& \{y\}\textasciitilde{}\textbackslash{} & " in text
    assert r"1 $\pm$ 2 $\times$ 3 -- 4 $-$5 \textmu{}s \\" in text


def test_parquet_is_read_by_pandas(tmp_path, shops):
    pytest.importorskip("pyarrow")
    import pandas

    from elsv._base.export import write_columns

    write_columns(tmp_path / "r.parquet", shops.columns())
    pandas.testing.assert_frame_equal(
        pandas.read_parquet(tmp_path / "r.parquet"), shops.to_pandas(), check_dtype=False
    )


def test_what_policies_do_is_said():
    assert set(elsv.policy_names()) - {"fixed"} <= {n for n in elsv.policy_names() if meaning(n)}
    assert meaning("fixed:arm=2") is None
    assert meaning("my own") is None
    assert meaning("") is None
    assert list(legend({"elsv:depth=2": "elsv:depth=2", "elsv": "elsv", "mine": "plan", "plan": None})) == [
        "elsv", "mine",
    ]  # fmt: skip


def test_the_command_line_shows_money(tmp_path):
    path = tmp_path / "shop.toml"
    SHOP.with_horizon(8).save(path)
    text = command("evaluate", path, "-p", "greedy", "-p", "fixed:arm=4", "--against", "10 % off").stdout
    assert "always full price" in text
    assert "fixed:arm" not in text
    assert "always 30 % off" in text
    assert "Regret is what" in text
    assert re.search(r"^elsv|^greedy: ", text, re.MULTILINE)
    answer = json.loads(command("evaluate", path, "-p", "greedy", "--against", "4", "--json").stdout)
    assert [g["name"] for g in answer["policies"][0]["gains"]] == ["30 % off", "full price"]
    assert [g["arm"] for g in answer["optimal"]["gains"]] == [1, 4]
    out = tmp_path / "o"
    names = ("-p", "greedy", "-p", "fixed:arm=4")
    text = command("compare", path, *names, "--instances", 300, "--against", "4", "--out", out).stdout
    assert "always full price" in text
    assert "Regret is what" in text
    page = (out / "report.html").read_text()
    assert "pseudo" not in page
    assert "fixed:arm=4" in page  # in the command and the settings
    assert "best in expectation beforehand" in page
    assert "--against 4" in page
    assert "unknown arm" in command("compare", path, "--against", "none", code=2).stderr
