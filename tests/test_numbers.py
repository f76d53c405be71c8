import math

import numpy as np
import pytest

from elsv._base.numbers import as_float, counted, duration, finite, memory, numbers, shown
from elsv.errors import InvalidInputError


def test_numbers_are_copied_in_their_own_shape():
    source = np.array([[1, 2], [3, 4]])
    copy = numbers("x", source)
    assert copy.dtype == np.float64
    source[0, 0] = 9
    assert copy.tolist() == [[1, 2], [3, 4]]
    assert numbers("x", [np.float32(0.5), 2]).tolist() == [0.5, 2]
    assert numbers("x", [[1.0, 2], (3, np.int8(4))]).shape == (2, 2)
    assert numbers("x", [np.arange(2), np.arange(2)]).shape == (2, 2)
    assert numbers("x", 3).shape == ()
    assert numbers("x", []).shape == (0,)
    assert math.isnan(numbers("x", [float("nan")])[0])


@pytest.mark.parametrize(
    "values",
    ["1", ["1"], [b"1"], True, [1, False], [np.True_], [None], [1j], [[1, 2], [3]], {"a": 1}, {1, 2},
     np.array([True]), np.array(["1"]), np.array([1j]), np.array([1, None]), [object()]],
)  # fmt: skip
def test_what_is_no_number_is_refused(values):
    with pytest.raises(InvalidInputError, match="x must be numbers, got"):
        numbers("x", values)


def test_what_is_shown_is_short():
    assert shown([1, "a"]) == "[1, 'a']"
    assert shown("a" * 58) == "'" + "a" * 58 + "'"
    assert shown("a" * 59) == "'" + "a" * 59 + "…"
    assert shown(10**5000) == "a number of thousands of digits"


def test_large_numbers_in_messages():
    assert [counted(n) for n in (0, 1234, 10**15 - 1)] == ["0", "1,234", "999,999,999,999,999"]
    assert [counted(n) for n in (10**15, 3 * 10**400)] == ["10^15", "10^400"]
    assert [memory(x) for x in (2e9, 1234567e6, 9e14)] == ["2 GB", "1,235 GB", "900,000 GB"]
    assert memory(1234567e6, 1) == "1,234.6 GB"
    assert memory(10**300) == memory(math.inf) == "more memory than any machine has"
    assert (as_float(7), as_float(10**400)) == (7.0, math.inf)


def test_what_json_cannot_hold_is_none():
    given = {"a": [1, math.inf, (math.nan, -0.5)], "b": {"c": -math.inf, "d": "inf", "e": None}}
    assert finite(given) == {"a": [1, None, [None, -0.5]], "b": {"c": None, "d": "inf", "e": None}}


def test_times_read_as_people_say_them():
    said = {
        0.0: "0 s", 3e-9: "3.0 ns", 4.2e-6: "4.2 µs", 1.1e-3: "1.1 ms", 0.35: "350 ms", 0.9994: "999 ms",
        0.9996: "1.0 s", 1.1: "1.1 s", 9.96: "10 s", 17.4: "17 s", 59.6: "1 min", 130: "2 min 10 s",
        3599.6: "1 h", 3660: "1 h 1 min", 47 * 3600.0: "47 h", 12 * 86_400.0: "12 days",
        1100.0: "18 min 20 s", 31_557_600.0 * 1234: "1,234 years", 1e30: "10^22 years", math.inf: "forever",
    }  # fmt: skip
    assert {seconds: duration(seconds) for seconds in said} == said
