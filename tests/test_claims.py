"""The verdict rules exactly where they turn."""

import pytest

from elsv.paper.claims import (
    Change,
    Lead,
    Ratio,
    Verdict,
    far_better,
    grows,
    least_regret,
    no_difference,
)


def lead(difference, half_width, in_paper=True, rival="A"):
    return Lead("a", rival, difference, half_width, in_paper)


@pytest.mark.parametrize(
    ("difference", "half_width", "clear", "reverse"),
    [
        (1.0, 1.0, False, False),
        (1.0 + 1e-12, 1.0, True, False),
        (-1.0, 1.0, False, False),
        (-1.0 - 1e-12, 1.0, False, True),
        (0.0, 0.0, False, False),
        (1e-300, 0.0, True, False),
        (-1e-300, 0.0, False, True),
    ],
)
def test_a_lead_is_clear_when_its_interval_excludes_zero(difference, half_width, clear, reverse):
    assert lead(difference, half_width).clear is clear
    assert lead(difference, half_width).reversed is reverse


def test_a_rival_of_the_paper_on_the_edge_is_not_better():
    beaten = lead(5.0, 1.0, rival="B")
    assert least_regret([beaten, lead(-1.0, 1.0)])[0] is Verdict.PARTLY
    assert least_regret([beaten, lead(-1.1, 1.0)])[0] is Verdict.NOT_REPRODUCED
    assert least_regret([beaten, lead(-1.1, 1.0, in_paper=False)])[0] is Verdict.PARTLY
    assert least_regret([beaten, lead(1.0, 1.0)])[0] is Verdict.PARTLY
    assert least_regret([beaten, lead(1.1, 1.0)]) == (Verdict.HOLDS, "holds against every rival")
    assert least_regret([beaten, lead(0.5, 1.0)])[1] == "holds against B only, not against A"
    assert least_regret([beaten, lead(0.5, 1.0, in_paper=False)])[1] == (
        "holds against every rival of the paper, but not against A"
    )
    assert least_regret([lead(0.5, 1.0), lead(0.0, 1.0, rival="B")])[0] is Verdict.NOT_REPRODUCED
    assert least_regret([lead(1e-6, 0.0)])[0] is Verdict.HOLDS  # exact


def test_a_change_may_fill_the_margin_but_not_pass_it():
    for percent in (6.0, -6.0):
        assert Change("a", "depth 3", percent, 4.0).within(10.0)
        assert not Change("a", "depth 3", percent, 4.1).within(10.0)
        assert no_difference([Change("a", "depth 3", percent, 4.0)])[0] is Verdict.HOLDS
        verdict, words = no_difference([Change("a", "depth 3", percent, 4.1)])
        assert verdict is Verdict.PARTLY
        assert words == "holds but for depth 3, where the interval reaches past ± 10 %"


def test_an_interval_that_ends_at_the_margin_is_not_clearly_past_it():
    for percent in (15.0, -15.0):
        assert no_difference([Change("a", "depth 3", percent, 5.0)])[1].startswith("holds but for depth 3")
    assert no_difference([Change("a", "depth 3", 15.1, 5.0)])[1].startswith("no depth helps")
    assert no_difference([Change("a", "depth 3", -15.1, 5.0)])[0] is Verdict.NOT_REPRODUCED
    # Less regret counts before more.
    both = [Change("a", "depth 3", 20.0, 5.0), Change("a", "depth 5", -20.0, 5.0)]
    assert no_difference(both)[0] is Verdict.NOT_REPRODUCED
    assert no_difference([Change("a", "depth 3", 6.0, 4.0)], margin=9.0)[0] is Verdict.PARTLY


def test_a_lead_grows_when_the_difference_passes_both_half_widths_together():
    assert grows([[(0.0, 3.0), (5.0, 4.0)]], ["x"])[0] is Verdict.NOT_REPRODUCED
    assert grows([[(0.0, 3.0), (5.1, 4.0)]], ["x"])[0] is Verdict.HOLDS
    both = [[(0.0, 3.0), (5.1, 4.0)], [(0.0, 3.0), (5.0, 4.0)]]
    assert grows(both, ["x", "y"]) == (Verdict.PARTLY, "holds for x only")
    assert grows([[(0.0, 0.0), (10.0, 3.0), (5.0, 4.0)]], ["x"])[0] is Verdict.HOLDS
    assert grows([[(0.0, 0.0), (10.1, 3.0), (5.0, 4.0)]], ["x"])[0] is Verdict.NOT_REPRODUCED
    assert grows([[(2.0, 0.1), (1.0, 0.1), (9.0, 0.1)]], ["x"])[0] is Verdict.NOT_REPRODUCED
    assert grows([[(0.0, 0.1), (5.0, 0.1), (4.0, 0.1), (9.0, 0.1)]], ["x"])[0] is Verdict.NOT_REPRODUCED


def test_far_better_is_half_the_regret_and_a_clear_difference():
    assert far_better([Ratio("a", "p", 0.5, 5.0, 1.0)]) == (Verdict.HOLDS, "holds")
    assert far_better([Ratio("a", "p", 0.5 + 1e-12, 5.0, 1.0)])[0] is Verdict.NOT_REPRODUCED
    assert far_better([Ratio("a", "p", 0.1, 1.0, 1.0)])[0] is Verdict.NOT_REPRODUCED
    assert far_better([Ratio("a", "p", 0.1, 1.1, 1.0)])[0] is Verdict.HOLDS
    both = [Ratio("a", "p", 0.4, 5.0, 1.0), Ratio("a", "q", 0.9, 5.0, 1.0)]
    assert far_better(both) == (Verdict.PARTLY, "holds for p only")
