"""Read numbers and dates in the many ways that people write them.

A single value may be ambiguous: 1,358 can be more than a thousand or less than two, and 12/05/2020
can be in May or in December. So the reading is decided from all values of a column, and the plan of
the table keeps it. Later values are read in the same way.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from genus.arrays import arrow

POINT, COMMA = "decimal points", "decimal commas"
THOUSANDS = COMMA + ", dots for thousands"  # of columns that have dots and no commas
SCALED = ", scaled by k, M and B"  # after the form of numbers such as 1.4k
DAY_FIRST, MONTH_FIRST, NAMED = "day first", "month first", "months by name"
ISO, YEAR_MONTH, MONTH_YEAR = "dates", "years and months", "months and years"
TIMES = "times of day"
IN = " in "  # before the unit that follows all numbers
PLAIN = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$", re.ASCII)
EXPONENT = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)[eE][+-]?\d+$", re.ASCII)
GROUPED = re.compile(r"[+-]?([1-9]\d{0,2}(\.\d{3})?|0)$", re.ASCII)  # dots may be for thousands
LETTERS = "[A-Za-zÀ-ÿ]"
SECOND = r"(?::(?P<second>\d\d(?:[.,]\d{1,6})?))?"
HALF = r"\s*(?P<half>[AaPp]\.?[Mm]\.?)?"
ZONE = r"(?:Z| ?(?:UTC|GMT)| ?(?P<zone>[+-]\d\d(?::?\d\d)?))"  # 10:00-12:00 may be an interval:
SPACED_ZONE = r"(?:Z| (?:UTC|GMT)| (?P<zone>[+-]\d\d:?\d\d))"
CLOCK = rf"(?:(?:,? +|T|:)(?P<hour>\d{{1,2}}):(?P<minute>\d\d){SECOND}{HALF}{SPACED_ZONE}?)?Z?$"
# the first two letters of a weekday in English, German or French, and what follows them
WEEKDAY = rf"(?:(?i:mo|tu|we|th|fr|sa|su|di|mi|do|so|lu|ma|me|je|ve){LETTERS}{{0,8}}[.,]* +)?"
SLASHED = re.compile(
    r"(?P<first>\d{1,2})[/.-](?P<second_number>\d{1,2})[/.-](?P<year>\d{4}|\d{2})" + CLOCK
)
DOTTED = SLASHED.pattern.replace("[/.-]", "[.-]")  # with slashes the order is not known
MONTH_NAME = re.compile(
    rf"{WEEKDAY}(?P<month>{LETTERS}{{3,9}})\.? +(?P<day>\d{{1,2}})(?:st|nd|rd|th)?,?"
    rf" +(?P<year>\d{{4}}){CLOCK}"
)
DAY_NAME = re.compile(
    rf"{WEEKDAY}(?P<day>\d{{1,2}})(?:\.|st|nd|rd|th|er)?[ /-](?P<month>{LETTERS}{{3,9}})\.?"
    rf"[ /-](?P<year>\d{{4}}|\d{{2}}){CLOCK}"
)
TIME = re.compile(rf"(?P<hour>\d{{1,2}}):(?P<minute>\d\d){SECOND}{HALF}$")
DURATION = re.compile(  # as genus writes durations
    r"(?P<sign>-?)(?P<hour>\d+):(?P<minute>[0-5]\d)(?::(?P<second>[0-5]\d(?:\.\d{1,6})?))?$"
)
ISO_DATE = re.compile(
    rf"\d{{4}}(-\d\d-\d\d|/\d\d/\d\d)([T ]\d\d:\d\d(:\d\d([.,]\d{{1,6}})?)?{ZONE}?)?$"
)
ZONED = rf"(?P<time>:\d\d(?:[.,]\d+)?{HALF}){ZONE}$"  # the end of a text with a time zone
ISO_PARTS = re.compile(
    r"(?P<year>\d{4})[-/](?P<month>\d\d)[-/](?P<day>\d\d)"
    r"(?:[T ](?P<hour>\d\d):(?P<minute>\d\d)(?P<half>)(?::(?P<second>\d\d))?)?"
)
ISO_MONTH = re.compile(r"[12]\d{3}[-/](0[1-9]|1[0-2])$")
MONTH_FIRST_YEAR = re.compile(r"(?P<month>0?[1-9]|1[0-2])/(?P<year>[12]\d{3})$")
MONTHS = {  # in English, German and French
    name: i
    for i, names in enumerate(
        (
            "jan january januar jän jänner janv janvier",
            "feb february februar fév févr février fevr fevrier",
            "mar march mär märz mrz mars",
            "apr april avr avril",
            "may mai",
            "jun june juni juin",
            "jul july juli juil juillet",
            "aug august août aout",
            "sep sept september septembre",
            "oct october okt oktober octobre",
            "nov november novembre",
            "dec december dez dezember déc décembre decembre",
        ),
        start=1,
    )
    for name in names.split()
}
SPACE = "[ \u00a0\u202f]*"
# Only these, for the plan keeps the unit, and must not keep a word of the data.
KNOWN_UNITS = """
    k K M B pcs pc Stk St
    kg g mg µg μg ug t lb lbs oz m cm mm km µm μm um nm in ft yd mi
    m2 cm2 mm2 km2 m² cm² mm² km² ha ac sqft sqm m3 cm3 m³ cm³ l L ml mL cl dl hl gal
    s sec min h hr hrs ms µs μs us ns d day days week weeks month months y yr yrs year years
    hour hours minute minutes second seconds Std Sek Tage Jahre
    ° °C °F km/h mph m/s kn kt rpm bpm Hz kHz MHz GHz W kW MW GW Wh kWh MWh V mV kV A mA Ω
    J kJ MJ cal kcal N kN Nm hp PS Pa hPa kPa MPa bar mbar psi mmHg dB ppm ppb px pt
    kB KB MB GB TB KiB MiB GiB kbit/s Mbit/s mol mmol g/l mg/l mg/dl mg/dL g/dl g/dL mmol/l mmol/L
    g/km kg/m2 kg/m² kg/m3 kg/m³ l/min mpg
"""
UNIT = re.compile(
    rf"[0-9]{SPACE}(?P<unit>({'|'.join(sorted(KNOWN_UNITS.split(), key=len, reverse=True))})\.?)$"
)
SUFFIXES = tuple("kKMB")  # among the units if they follow all numbers of a column
SCALES = {"k": 1e3, "m": 1e6, "b": 1e9}
CURRENCIES = ("$", "€", "£", "¥", "AUD", "CAD", "CHF", "CNY", "CZK", "DKK", "EUR", "GBP", "INR",
              "JPY", "NOK", "PLN", "SEK", "USD")  # fmt: skip
MONEY = "|".join(map(re.escape, CURRENCIES))
SPACES = "' \u2019\u00a0\u202f"  # beside comma or point, what separates thousands
GLANCE = 1000  # values that are looked at first
MANY_DOTS = 20  # of all-distinct decimals, one in ten ends with 0, which is not written
FURTHER = 10  # factor between numbers without dots and decimals, if the dots are for thousands
CENTURY = 69  # two-digit years from here on belong to the previous century, as in POSIX


def written(thousands: str, decimal: str, scales: str = "") -> re.Pattern[str]:
    """Return a pattern for numbers with signs, units and brackets, given the separators.

    `scales` are the letters that may follow a number and multiply it.
    """
    whole = rf"([1-9]\d{{0,2}}([{thousands}{SPACES}]\d{{3}})+|\d+)?"
    money, gap, sign = f"(?:{MONEY})", "[\\s\u00a0\u202f]*", "[+\u2212-]"
    signed = rf"({sign}{gap}{money}?{gap}|{money}?{gap}{sign}?)"
    before = rf"(\({gap})?{signed}{whole}({decimal}\d+)?"
    after = rf"{gap}{money}?{gap}[%{scales}]?({gap}\))?"
    minus_last = rf"{money}?{gap}{whole}{decimal}\d+-{gap}{money}?"  # as SAP writes
    return re.compile(rf"({before}{after}|{minus_last})$")


NUMBERS = {
    POINT: written(",", r"\."),
    COMMA: written(".", ","),
    THOUSANDS: written(".", ","),
    POINT + SCALED: written(",", r"\.", "kKmMbB"),
    COMMA + SCALED: written(".", ",", "kKmMbB"),
}
GAP = "[\\s\u00a0\u202f]*"
SCALE = rf"[0-9]{GAP}(?:{MONEY})?{GAP}[kKmMbB]\)?$"
SEPARATED_SCALE = rf"[.,{SPACES}][0-9]+{GAP}[kKmMbB]\)?$"
OTHER_LETTER = r"[0-9] ?[AC-JLN-Zac-jln-zÀ-ÿ]$"  # as in house numbers
# Forms of text, the most special first. A column is read in one of them, or in a few if all fit.
FORMS = (PLAIN, *dict.fromkeys(NUMBERS.values()), SLASHED, MONTH_NAME, DAY_NAME, ISO_DATE,
         ISO_MONTH, MONTH_FIRST_YEAR, TIME)  # fmt: skip
DATES = (DAY_FIRST, MONTH_FIRST, NAMED, ISO, YEAR_MONTH, MONTH_YEAR)
UNITS = dict.fromkeys(DATES, "days") | {TIMES: "seconds"}
NOTES = {
    COMMA: "with decimal commas",
    THOUSANDS: "with decimal commas",
    POINT: "numbers with signs and units",
    COMMA + SCALED: "with decimal commas, k, M and B",
    POINT + SCALED: "numbers with signs and units",
    ISO: "dates, counted as days",
    YEAR_MONTH: "years and months, counted as days",
    MONTH_YEAR: "months and years, counted as days",
    TIMES: "times of day, counted as seconds",
    DAY_FIRST: "dates, day first, counted as days",
    MONTH_FIRST: "dates, month first, counted as days",
    NAMED: "dates, counted as days",
}


def all_match(strings: Any, pattern: re.Pattern[str]) -> bool:
    """Return whether all strings match a pattern."""
    import pyarrow.compute as pc

    form = f"^(?:{pattern.pattern})"
    return all(pc.all(pc.match_substring_regex(s, form)).as_py() for s in first_and_all(strings))


def first_and_all(strings: Any) -> tuple[Any, ...]:
    """Return the first strings, which often suffice to decide, and all strings."""
    return (strings[:GLANCE], strings) if len(strings) > GLANCE else (strings,)


def matching(strings: Any, pattern: re.Pattern[str]) -> Any:
    """Return the strings that have digits and match a pattern."""
    import pyarrow.compute as pc

    has_digits = pc.match_substring_regex(strings, r"\d")
    fits = pc.match_substring_regex(strings, f"^(?:{pattern.pattern})")
    return strings.filter(pc.and_(has_digits, fits))


def are_thousands(strings: Any, commas: bool = False) -> bool | None:
    """Return whether dots in plain numbers separate thousands, None if it is not clear.

    Each dot stands before three digits. If other columns have decimal `commas`, the dots separate
    thousands. Otherwise some numbers must be whole, and seem far too large beside the decimals.

    >>> are_thousands(arrow.strings(["2.954", "768", "12.340"]))
    True
    >>> are_thousands(arrow.strings(["2.954", "3", "12.340"]))
    >>> are_thousands(arrow.strings(["2.954", "768", "12.34"]))
    False
    """
    import pyarrow.compute as pc

    has_dot = pc.match_substring(strings, ".")
    if not (pc.any(has_dot).as_py() and all_match(strings, GROUPED)):
        return False
    decimals, whole = strings.filter(has_dot), strings.filter(pc.invert(has_dot))
    if commas or len(whole) == 0:
        return commas
    small, large = (np.median(np.abs(arrow.plain(read(s, ""), 0))) for s in (decimals, whole))
    keeps_zeros = len(decimals) >= MANY_DOTS or pc.any(pc.ends_with(decimals, "0")).as_py()
    return True if keeps_zeros and large >= FURTHER * small else None


def decimal_of(reading: str | None) -> str:
    """Return whether a reading has decimal points or commas, "" if it is of plain numbers or dates.

    >>> decimal_of("decimal commas in kg")
    'decimal commas'
    """
    return next((mark for mark in (POINT, COMMA) if (reading or "").startswith(mark)), "")


def are_scales(strings: Any) -> bool:
    """Return whether the letters k, M and B after numbers stand for thousands, millions, billions.

    A number with a letter must have a currency or a separator, such as 1.4k, because 12b can be a
    house number. If there is no other letter than m, as in 1.5m, a currency is required.

    >>> [are_scales(arrow.strings(texts)) for texts in (["1.4k", "2M"], ["12", "12b"], ["1.5m"])]
    [True, False, False]
    """
    import pyarrow.compute as pc

    scaled = strings.filter(pc.match_substring_regex(strings, SCALE))
    if pc.any(pc.match_substring_regex(scaled, MONEY)).as_py():
        return True
    separated = pc.any(pc.match_substring_regex(scaled, SEPARATED_SCALE)).as_py()
    return bool(separated) and not pc.all(pc.match_substring(scaled, "m")).as_py()


def reading_of(strings: Any, commas: bool = False) -> str | None:
    """Return how to read trimmed, non-null strings as numbers, dates or times of day.

    Return "" for plain numbers, and None if the strings are none of these. `commas` says whether
    other columns of the table have decimal commas.

    >>> reading_of(arrow.strings(["$1,357.72", "(12)", "1.4k"]))
    'decimal points, scaled by k, M and B'
    >>> reading_of(arrow.strings(["12/05/2020", "9/30/1990 0:00:00"]))
    'month first'
    >>> reading_of(arrow.strings(["red", "green"]))
    """
    import pyarrow.compute as pc

    if len(strings) == 0:
        return None
    if all_match(strings, PLAIN):
        return THOUSANDS if are_thousands(strings, commas) else ""
    has_digits = pc.all(pc.match_substring_regex(strings, r"\d")).as_py()
    for how, pattern in NUMBERS.items():
        if (
            has_digits
            and all_match(strings, pattern)
            and (SCALED not in how or are_scales(strings))
        ):
            return how
    for how in UNITS:
        if is_read_by(strings, how) and (how != DAY_FIRST or not is_month_first(strings)):
            return how
    unit = common_unit(strings)
    if unit:
        bare = reading_of(without(strings, unit), commas)
        if bare in ("", *NUMBERS):
            return (bare or POINT) + IN + unit
    return None


def common_unit(strings: Any) -> str:
    """Return the known unit that follows the numbers in all strings, "" if there is none.

    >>> common_unit(arrow.strings(["145.0 kg", "98 kg"]))
    'kg'
    >>> common_unit(arrow.strings(["145.0 kg", "98 g"]))
    ''
    """
    import pyarrow.compute as pc

    found = UNIT.search(strings[0].as_py())
    unit = found["unit"] if found else ""
    return unit if unit and pc.all(pc.ends_with(strings, unit)).as_py() else ""


def without(strings: Any, unit: str) -> Any:
    """Return strings without the unit that follows their numbers."""
    import pyarrow.compute as pc

    ends = rf"([0-9]){SPACE}{re.escape(unit)}$"
    return pc.replace_substring_regex(strings, ends, r"\1")


def are_readable(strings: Iterable[str]) -> list[bool]:
    """Return which trimmed strings have the form of a number, a date or a time of day.

    >>> are_readable(["1.5", "twelve", "$3k", "12/05/2020"])
    [True, False, True, True]
    """
    digits = re.compile(r"\d")
    return [
        digits.search(one) is not None and any(form.match(one) for form in FORMS) for one in strings
    ]


def currencies_in(strings: Any) -> list[str]:
    """Return the signs of currencies that occur in strings."""
    import pyarrow.compute as pc

    return [sign for sign in CURRENCIES if pc.any(pc.match_substring(strings, sign)).as_py()]


def is_month_first(strings: Any) -> bool:
    """Return whether dates look like US dates: some have slashes, and all are valid month first."""
    import pyarrow.compute as pc

    slashes = bool(pc.any(pc.match_substring(strings, "/")).as_py())
    return slashes and is_read_by(strings, MONTH_FIRST)


def is_read_by(strings: Any, how: str) -> bool:
    """Return whether all strings can be read in the way `how`."""
    try:
        for some in first_and_all(strings):
            read(some, how)
    except ValueError:
        return False
    return True


def read(strings: Any, how: str) -> Any:
    """Parse trimmed strings as float64 in the way `how`.

    Dates become days since 1970, and times of day seconds since midnight. Raises ValueError if one
    of them cannot be read in this way.
    """
    import pyarrow as pa

    if IN in how:
        bare, _, unit = how.partition(IN)
        return read(without(strings, unit), bare)
    if how in NUMBERS:
        return read_numbers(strings, how)
    if how == TIMES:
        return read_times(strings)
    if how in (ISO, YEAR_MONTH):
        return read_iso(strings, how)
    if how in DATES:
        return read_dates(strings, how)
    return strings.cast(pa.float64())


def ways_of(how: str) -> list[tuple[str, str]]:
    """Return the forms that leave no doubt in a column read as `how`, each with its reading."""
    if how == "":
        return [("", PLAIN.pattern), (POINT, NUMBERS[POINT].pattern)]
    if how in NUMBERS:  # 52.6 contradicts that 52.600 is 52600
        plain = EXPONENT if how == THOUSANDS else PLAIN
        return [(how, NUMBERS[how].pattern), ("", plain.pattern)]
    if how == TIMES:
        return [(TIMES, TIME.pattern)]
    own = {DAY_FIRST: SLASHED, MONTH_FIRST: SLASHED, YEAR_MONTH: ISO_MONTH,
           MONTH_YEAR: MONTH_FIRST_YEAR}  # fmt: skip
    last = (how, own[how].pattern) if how in own else (DAY_FIRST, DOTTED)
    return [(ISO, ISO_DATE.pattern), (NAMED, DAY_NAME.pattern), (NAMED, MONTH_NAME.pattern), last]


def read_each(strings: Any, how: str, lenient: bool = False) -> Any:
    """Parse trimmed strings in the way `how` or, each by its form, in a way that leaves no doubt.

    Those that cannot be read so become NaN if `lenient`; otherwise they raise ValueError. A string
    is read in the same way in any company.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if IN in how:
        bare, _, unit = how.partition(IN)
        return read_each(without(strings, unit), bare, lenient)
    numbers = np.full(len(strings), np.nan)
    left = strings.is_valid().to_numpy(zero_copy_only=False).astype(bool)
    for way, form in ways_of(how):
        fits = pc.match_substring_regex(strings, f"^(?:{form})")
        if how in ("", *NUMBERS):
            fits = pc.and_(fits, pc.match_substring_regex(strings, r"\d"))
        here = left & pc.fill_null(fits, False).to_numpy(zero_copy_only=False)
        if here.any():
            some = strings.filter(pa.array(here))
            numbers[here] = parsed(some, way) if lenient else arrow.plain(read(some, way), np.nan)
            left &= ~here
    if left.any() and not lenient:
        raise ValueError("these are not numbers or dates")
    return pa.array(numbers)


def parsed(strings: Any, how: str) -> NDArray[Any]:
    """Parse strings that have the form of a reading, NaN for days or times that do not exist."""
    import pyarrow as pa

    try:
        return np.asarray(arrow.plain(read(strings, how), np.nan))
    except ValueError:
        there = exist(strings, how)
    out = np.full(len(strings), np.nan)
    if not there.any():
        return out
    if not there.all():
        out[there] = parsed(strings.filter(pa.array(there)), how)
    elif len(strings) > 1:  # halve
        half = len(strings) // 2
        out = np.concatenate([parsed(strings[:half], how), parsed(strings[half:], how)])
    return out


def exist(strings: Any, how: str) -> NDArray[np.bool_]:
    """Return which dates or times of day exist, unlike 30 February; `how` tells their form."""
    form = {DAY_FIRST: SLASHED, MONTH_FIRST: SLASHED, ISO: ISO_PARTS, TIMES: TIME}.get(how)
    if how == NAMED:
        form = DAY_NAME if all_match(strings, DAY_NAME) else MONTH_NAME
    if form is None:
        return np.ones(len(strings), dtype=bool)
    try:
        parts = extracted(strings, form)
    except ValueError:  # of other forms
        return np.zeros(len(strings), dtype=bool)
    there = np.ones(len(strings), dtype=bool)
    if how != TIMES:
        there = ~np.isnan(possible_days(*year_month_day(parts, how)))
    return there & ~np.isnan(possible_times(parts)) if "hour" in parts else there


def read_iso(strings: Any, how: str) -> Any:
    """Parse dates that begin with the year; those with an offset from UTC are read in UTC."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not all_match(strings.drop_null(), ISO_DATE if how == ISO else ISO_MONTH):
        raise ValueError("these are not dates")
    strings = pc.replace_substring(strings, "/", "-")
    if how == YEAR_MONTH:
        strings = pc.replace_substring_regex(strings, "$", "-01")
    try:
        micros = pc.utf8_rtrim(strings, "Z").cast(pa.timestamp("us")).cast(pa.int64())
    except pa.ArrowInvalid:  # some have offsets, or commas before the fractions of seconds
        bare = pc.utf8_rtrim_whitespace(pc.replace_substring_regex(strings, ZONED, r"\1"))
        local = pc.replace_substring(bare, ",", ".").cast(pa.timestamp("us")).cast(pa.int64())
        zones = pc.fill_null(pc.struct_field(pc.extract_regex(strings, ZONED), "zone"), "")
        offsets = np.round(offsets_in(zones) * 86_400e6).astype(np.int64)
        micros = pc.subtract(local, arrow.numbers(offsets))
    return pc.divide(micros.cast(pa.float64(), safe=False), 86_400e6)


def read_numbers(strings: Any, how: str) -> Any:
    """Parse numbers with separators, currencies, %, k, M or B; brackets mean a negative number."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not all_match(strings.drop_null(), NUMBERS[how]):
        raise ValueError("these are not numbers")
    strings = pc.replace_substring_regex(strings, MONEY, "")
    strings = pc.replace_substring(strings, "\u2212", "-")
    bare = pc.replace_substring_regex(strings, rf"[\s{SPACES}()%kKmMbB+]", "")
    if decimal_of(how) == COMMA:
        bare = pc.replace_substring(bare, ".", "")
        bare = pc.replace_substring(bare, ",", ".")
    else:
        bare = pc.replace_substring(bare, ",", "")
    is_last = pc.ends_with(bare, "-")
    numbers = pc.utf8_rtrim(bare, "-").cast(pa.float64())
    lower = pc.utf8_lower(strings)
    for unit, scale in {"%": 0.01, **(SCALES if SCALED in how else {})}.items():
        has = pc.match_substring(lower, unit)
        if pc.any(has).as_py():
            numbers = pc.if_else(has, pc.multiply(numbers, scale), numbers)
    negative = pc.or_(pc.match_substring(strings, "("), is_last)
    if pc.any(negative).as_py():
        numbers = pc.if_else(negative, pc.negate(numbers), numbers)
    return numbers


def read_dates(strings: Any, how: str) -> Any:
    """Parse dates in the way `how`, with the time of day if given; null becomes NaN."""
    there = np.asarray(strings.is_valid().to_numpy(zero_copy_only=False), dtype=bool)
    own = strings.drop_null()
    form = {MONTH_YEAR: MONTH_FIRST_YEAR, NAMED: MONTH_NAME}.get(how, SLASHED)
    if how == NAMED and all_match(own, DAY_NAME):
        form = DAY_NAME
    parts = extracted(own, form)
    days = np.full(len(there), np.nan)
    days[there] = days_of(*year_month_day(parts, how)) + (time_of(parts) if "hour" in parts else 0)
    return arrow.numbers(days)


def year_month_day(parts: dict[str, Any], how: str) -> tuple[NDArray[Any], ...]:
    """Return the years, months and days in the parts of dates, NaN for the names of no month."""
    if "first" in parts:
        first, second = numbers_in(parts["first"]), numbers_in(parts["second_number"])
        day, month = (first, second) if how == DAY_FIRST else (second, first)
    else:
        month = (month_numbers if how == NAMED else numbers_in)(parts["month"])
        day = numbers_in(parts["day"]) if "day" in parts else np.ones(len(month))
    year = numbers_in(parts["year"])
    is_short = (year < 100) & (how not in (ISO, YEAR_MONTH))
    return np.where(is_short, year + np.where(year < CENTURY, 2000, 1900), year), month, day


def read_times(strings: Any) -> Any:
    """Parse trimmed times of day, such as 7:05, as seconds since midnight; null becomes NaN.

    >>> read_times(arrow.strings(["0:58", "07:05:30.5"])).to_pylist()
    [3480.0, 25530.5]
    """
    there = np.asarray(strings.is_valid().to_numpy(zero_copy_only=False), dtype=bool)
    seconds = np.full(len(there), np.nan)
    if there.any():
        days = time_of(extracted(strings.drop_null(), TIME))
        seconds[there] = np.round(days * 86_400e6) / 1e6  # microseconds, as in Arrow's times
    return arrow.numbers(seconds)


def read_durations(strings: Any) -> Any:
    """Parse trimmed durations in hours, minutes and seconds as seconds; null becomes NaN.

    >>> read_durations(arrow.strings(["26:05:00", "-0:30:00.5"])).to_pylist()
    [93900.0, -1800.5]
    """
    there = np.asarray(strings.is_valid().to_numpy(zero_copy_only=False), dtype=bool)
    seconds = np.full(len(there), np.nan)
    if there.any():
        import pyarrow.compute as pc

        parts = extracted(strings.drop_null(), DURATION)
        hour, minute, second = (numbers_in(parts[name]) for name in ("hour", "minute", "second"))
        sign = np.asarray(pc.equal(parts["sign"], "-").to_numpy(zero_copy_only=False))
        seconds[there] = np.where(sign, -1.0, 1.0) * (3600 * hour + 60 * minute + second)
    return arrow.numbers(seconds)


def extracted(strings: Any, pattern: re.Pattern[str]) -> dict[str, Any]:
    """Return the named groups of a pattern; raise ValueError if a string does not match."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if isinstance(strings, pa.ChunkedArray):
        strings = strings.combine_chunks()
    found = pc.extract_regex(strings, f"^(?:{pattern.pattern})")
    if found.null_count or len(strings) == 0:
        raise ValueError("these are not dates")
    return {field.name: found.field(i) for i, field in enumerate(found.type)}


def numbers_in(strings: Any) -> NDArray[Any]:
    """Convert digits to numbers, and empty strings to 0."""
    import pyarrow as pa
    import pyarrow.compute as pc

    filled = pc.if_else(pc.equal(strings, ""), "0", strings)
    return np.asarray(filled.cast(pa.float64()).to_numpy(zero_copy_only=False))


def month_numbers(names: Any) -> NDArray[Any]:
    """Return the month numbers (1 to 12) for names, NaN for names of no month."""
    import pyarrow.compute as pc

    lower = pc.utf8_lower(names)
    at = pc.index_in(lower, value_set=arrow.strings(list(MONTHS)).cast(lower.type))
    return np.array([*MONTHS.values(), np.nan])[arrow.plain(at, -1)]


def days_of(year: NDArray[Any], month: NDArray[Any], day: NDArray[Any]) -> NDArray[np.float64]:
    """Return days since 1970; raise ValueError for dates such as 30 February."""
    days = possible_days(year, month, day)
    if np.isnan(days).any():
        raise ValueError("there is no such day")
    return days


def possible_days(
    year: NDArray[Any], month: NDArray[Any], day: NDArray[Any]
) -> NDArray[np.float64]:
    """Return days since 1970, NaN for dates such as 30 February."""
    fits = (month >= 1) & (month <= 12) & (day >= 1)
    numbered = (year - 1970) * 12 + np.where(fits, month, 1) - 1
    months = numbered.astype(np.int64).astype("datetime64[M]")
    dates = months.astype("datetime64[D]") + (day - 1).astype(np.int64)
    fits &= dates.astype("datetime64[M]") == months
    return np.where(fits, dates.astype(np.int64).astype(np.float64), np.nan)


def time_of(parts: dict[str, Any]) -> NDArray[np.float64]:
    """Return the time of day, in UTC if there is an offset, as a fraction of a day.

    Raises ValueError for times such as 12:60.
    """
    time = possible_times(parts)
    if np.isnan(time).any():
        raise ValueError("there is no such time")
    return time - offsets_in(parts["zone"]) if occurs(parts.get("zone")) else time


def possible_times(parts: dict[str, Any]) -> NDArray[np.float64]:
    """Return the local time of day as a fraction of a day, NaN for times such as 12:60."""
    import pyarrow.compute as pc

    point = pc.replace_substring(parts["second"], ",", ".")
    hour, minute, second = map(numbers_in, (parts["hour"], parts["minute"], point))
    if occurs(parts["half"]):
        half = pc.utf8_lower(parts["half"])
        late, early = (
            np.asarray(pc.starts_with(half, mark).to_numpy(zero_copy_only=False)) for mark in "pa"
        )
        hour = np.where(late & (hour < 12), hour + 12, np.where(early & (hour == 12), 0, hour))
    over = (hour > 24) | ((hour == 24) & (minute + second > 0))  # 24:00 is the end of a day
    over |= (minute > 59) | (second >= 61)
    return np.where(over, np.nan, (hour + minute / 60 + second / 3600) / 24)


def occurs(strings: Any) -> bool:
    """Return whether some strings are not empty; None is no strings."""
    import pyarrow.compute as pc

    return strings is not None and bool(pc.any(pc.not_equal(strings, "")).as_py())


def offsets_in(zones: Any) -> NDArray[np.float64]:
    """Return offsets from UTC, such as +02:00, +0200 and +02, as fractions of a day.

    >>> offsets_in(arrow.strings(["+02:00", "-0030", "+02", ""])) * 24
    array([ 2. , -0.5,  2. ,  0. ])
    """
    import pyarrow.compute as pc

    whole = pc.replace_substring_regex(zones, r"^(.\d\d)$", r"\100")
    numbers = numbers_in(pc.replace_substring(whole, ":", ""))
    return (np.trunc(numbers / 100) * 60 + np.fmod(numbers, 100)) / 1440
