import math

from elsv._base.numbers import as_float, counted, duration, memory, shown


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


def test_times_read_as_people_say_them():
    said = {
        0.0: "0 s", 3e-9: "3.0 ns", 4.2e-6: "4.2 µs", 1.1e-3: "1.1 ms", 0.35: "350 ms", 0.9994: "999 ms",
        0.9996: "1.0 s", 1.1: "1.1 s", 9.96: "10 s", 17.4: "17 s", 59.6: "1 min", 130: "2 min 10 s",
        3599.6: "1 h", 3660: "1 h 1 min", 47 * 3600.0: "47 h", 12 * 86_400.0: "12 days",
        1100.0: "18 min 20 s", 31_557_600.0 * 1234: "1,234 years", 1e30: "10^22 years", math.inf: "forever",
    }  # fmt: skip
    assert {seconds: duration(seconds) for seconds in said} == said
