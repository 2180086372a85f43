"""The plan of a table: whether each column holds numbers, categories or texts, or is left out.

The plan is made from a first look at some rows, before anything is counted. The model keeps it, and
reads all later rows in the same way.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, time, timedelta
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from genus.arrays import arrow, labels
from genus.arrays.options import warn
from genus.solve.grid import Grid, dyadic_edges
from genus.table import calendar
from genus.table.categories import NUMBER, plain
from genus.table.numerals import (
    COMMA,
    DAY_FIRST,
    DURATION,
    FORMS,
    IN,
    ISO,
    MONTH_FIRST,
    MONTH_YEAR,
    NAMED,
    NOTES,
    NUMBERS,
    OTHER_LETTER,
    PLAIN,
    SCALED,
    SLASHED,
    SUFFIXES,
    THOUSANDS,
    TIMES,
    UNITS,
    YEAR_MONTH,
    ZONED,
    all_match,
    are_thousands,
    currencies_in,
    decimal_of,
    exist,
    matching,
    read,
    read_durations,
    read_each,
    reading_of,
)
from genus.table.read.sources import TableError
from genus.text import Texts, Tokenizer

Array = NDArray[np.float64]
HELD = {"days": "dates", "seconds": "times", "": "numbers"}  # by unit
CONSTANT = "holds one value only"
NOTHING = ("", "?", "NA", "N/A", "n/a", "NaN", "nan", "NULL", "null")  # missing values
ERRORS = ("#N/A", "#NA", "#DIV/0!", "#NAME?", "#NULL!", "#NUM!", "#REF!", "#VALUE!")  # of sheets
# Missing numbers and dates; a column of categories has those that are not in NOTHING as values.
MARKS = (*NOTHING, *ERRORS, "<NA>", "None", "none", "n.a.", "k.A.", "k. A.", "-", "--", ".",
         *(f"{sign}{name}" for name in ("inf", "Inf", "INF", "infinity", "Infinity")
           for sign in ("", "+", "-")))  # fmt: skip
AS_MISSING = "read as missing"
WORDS = 3.0  # mean number of words from which a column of mostly distinct strings holds texts
DISTINCT = 0.5  # share of distinct values from which a column holds texts
MOST_PAIRED = 64  # most categories of a column that is counted in pairs
MOST_CELLS, FEWEST_CELLS = 76, 4  # of a paired column of numbers, approximately
CELLS_BEYOND = 5  # for missing numbers, and numbers outside the range of the first look
MOST_SLOTS = 1000  # cells of all paired columns together
MOST_SUMS = 1 << 24  # counts of pairs of cells, over all classes
MOST_WORDS = 1 << 21  # words, or pairs of words, times classes: about 800 bytes each
BITS = 18  # of the hash buckets for columns with more words
MOST_READ = 20_000  # texts from which the number of words is estimated
MANY_ROWS = 10_000_000  # assumed length of a table of unknown length
FEW = 0.1  # largest share of texts in a column of numbers
HALF = 0.5  # the same if the user has chosen a family of numbers
ENOUGH = 20  # fewest rows for which all-distinct values count as row identifiers


@dataclass(frozen=True)
class Column:
    """A column: its `name`, what it holds (`kind`), and its original Arrow `type`.

    `note` says how it is read, or why it is left out (kind ""). Numbers are counted in the cells of
    a `grid`; `unit` is "days" for dates and "seconds" for times. If the column is `paired`, it is
    counted together with other columns: numbers in the coarser cells between `edges`, categories by
    themselves if their hashes are `known`, and all other categories as one. An `unseen` column has
    held no value so far, so later rows may decide its kind. If `runs`, pairs of words are counted
    in texts; if `bits` is not 0, words are counted in 2^bits hash buckets. `written` says how text
    is read as numbers or dates (`genus.table.numerals`), "" for plain numbers. If the column is a
    `part` of dates, such as the weekday, the dates are in the column `of`. If it is `lenient`, a
    text that cannot be read as a number or date is a missing value, and no error.
    """

    name: str
    kind: str
    type: str
    note: str = ""
    unit: str = ""
    grid: Grid = field(default_factory=Grid)
    paired: bool = False
    edges: tuple[float, ...] = ()
    known: tuple[int, ...] = ()
    unseen: bool = False
    runs: bool = True
    bits: int = 0
    written: str = ""
    part: str = ""
    of: str = ""
    lenient: bool = False

    @property
    def source(self) -> str:
        """The name of the table's column that this column is read from."""
        return self.of or self.name

    @property
    def is_ordinary(self) -> bool:
        """Whether there is no note, except on marks of missing values."""
        return not self.note or ("; " not in self.note and self.note.endswith(AS_MISSING))

    @property
    def is_written(self) -> bool:
        """Whether values depend on how they are written, as 2.500, 3.10 and 05/12/2020 may do."""
        if self.kind == "number" or self.part:
            is_lenient = self.lenient and "string" in self.type
            return is_lenient or self.written not in ("", ISO, TIMES)
        return bool(self.kind) and "string" in self.type

    @property
    def is_date(self) -> bool:
        """Whether a column of numbers counts days since 1970."""
        return self.unit == "days"

    def common(self, other: Column) -> Column:
        """Return a column with the cells and categories that both have.

        It can represent the counts of either. If one of the two is unseen or left out, return the
        other. Raise ValueError if the two cannot be merged, such as a number and a category.
        """
        if self.unseen or other.unseen:
            return other if self.unseen else self
        if not (self.kind and other.kind):
            return other if self.kind else self
        if self.kind != other.kind:
            raise ValueError(
                f"Column {self.name!r} is a {self.kind} in one model and a {other.kind} in the "
                "other. Fit one model with the plan of the other (like=, or genus fit --plan)."
            )
        if self.unit != other.unit:
            held = sorted({HELD[self.unit], HELD[other.unit]})
            raise ValueError(
                f"Column {self.name!r} holds {held[0]} in one model and {held[1]} in the other. "
                "Convert the column in one of the tables, and fit again."
            )
        clear = {ISO, NAMED, YEAR_MONTH, MONTH_YEAR, TIMES} if self.unit else set()
        written = {self.written, other.written} - {"", *clear}
        forms = {one.replace(SCALED, "").replace(THOUSANDS, COMMA) for one in written}
        if len(written) > len(forms) == 1:  # they differ only in what else they accept
            written = {one for one in written if SCALED in one} or forms
        if len(written) > 1:
            raise ValueError(
                f"Column {self.name!r} is read with {min(written)} in one model and with "
                f"{max(written)} in the other, so the same text would mean different values. Fit "
                "both with one plan (like=, or genus plan)."
            )
        if self.part != other.part:
            raise ValueError(
                f"Column {self.name!r} is in the table of one model, and computed from dates in "
                "the other. Rename it, or leave it out (ignore=, --ignore)."
            )
        if (self.runs, self.bits) != (other.runs, other.bits):
            raise ValueError(
                f"The two models count the texts of column {self.name!r} in different ways, "
                "because their plans expect different numbers of words or classes. Fit both with "
                "one plan (like=, or genus plan)."
            )
        grid = self.grid.common(other.grid)
        edges = np.array(sorted(set(self.edges) & set(other.edges)))
        is_number = self.kind == "number" or all(map(NUMBER.fullmatch, (self.type, other.type)))
        general = "double" if is_number else "string"
        return replace(
            self,
            type=self.type if self.type == other.type else general,
            note=self.note if self.note == other.note else "",
            grid=grid,
            paired=self.paired and other.paired,
            written=max(written, default=max(self.written, other.written)),
            edges=tuple(edges[grid.holds(edges)].tolist()) if len(edges) else (),
            known=tuple(sorted(set(self.known) & set(other.known))),
            lenient=self.lenient or other.lenient,
        )


@dataclass(frozen=True)
class Plan:
    """How the rows of a table are read: its columns, in order, and the name of the target.

    `joined` means that it was made from several plans, and has only the cells that all of them
    share.
    """

    columns: tuple[Column, ...]
    target: str | None = None
    joined: bool = False

    def __len__(self) -> int:
        return len(self.used)

    @cached_property
    def used(self) -> tuple[Column, ...]:
        """The columns that are counted."""
        return tuple(column for column in self.columns if column.kind)

    @property
    def texts(self) -> tuple[str, ...]:
        """The table's columns that are to be read as they are written in a CSV file."""
        return tuple(dict.fromkeys(column.source for column in self.used if column.is_written))

    @property
    def readings(self) -> dict[str, tuple[str, str]]:
        """What the numbers of each column count, and how text is read as such numbers."""
        return {c.name: (c.unit, c.written) for c in self.columns if c.kind == "number"}

    @property
    def left_out(self) -> tuple[Column, ...]:
        """The columns that are not counted."""
        return tuple(column for column in self.columns if not column.kind)

    def require(self) -> None:
        """Raise an error, with reasons, if no column is in use."""
        if not self.used:
            told = "; ".join(f"{c.name!r} {c.note}" for c in self.left_out[:5])
            raise TableError(
                f"No column is left to learn from: {told or 'there is none besides the target'}. "
                "Add a column, or choose a family for one that was left out (families=, --family)."
            )

    def require_columns(self, names: Collection[str]) -> None:
        """Raise an error unless a table has all counted columns."""
        there = set(names)
        missing = [c.name for c in self.used if c.name not in there and not c.part]
        if missing:
            listed = ", ".join(map(repr, missing[:10]))
            which, are, it = ("columns", "are", "them") if missing[1:] else ("column", "is", "it")
            raise TableError(
                f"The {which} {listed} {are} missing; the model was fitted with {it}. Add "
                f"{it}; leave unknown values empty."
            )

    def refuse_other_target(self, other: Plan) -> None:
        """Raise an error if the two plans have different targets."""
        targets = {plan.target for plan in (self, other)} - {None}
        if len(targets) > 1:
            named = " and ".join(map(repr, sorted(map(str, targets))))
            raise ValueError(
                f"The two models predict different columns, {named}. Merge models of one target."
            )

    def common(self, other: Plan) -> Plan:
        """Return a plan for the rows of both; the order of the two does not matter.

        If only one of them has a column, it is missing in the rows of the other.
        """
        mine, theirs = ({c.name: c for c in plan.columns} for plan in (self, other))
        both = {c.name for c in self.used} & {c.name for c in other.used}
        if not both:
            raise ValueError(
                f"The two models have no column in common: one has {listed(self)}, the "
                f"other {listed(other)}. Merge models of the same table."
            )
        # The order must not depend on which plan comes first: keep a common one, else sort by name.
        names = list(mine) if list(mine) == list(theirs) else sorted({*mine, *theirs})
        columns = tuple(
            mine[name].common(theirs[name])
            if name in mine and name in theirs
            else (mine.get(name) or theirs[name])
            for name in names
        )
        return Plan(columns, self.target or other.target, joined=True)


def listed(plan: Plan) -> str:
    """Return the first columns of a plan, for messages."""
    names = [repr(column.name) for column in plan.used]
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")


def look(
    table: Any,
    target: str | None = None,
    kinds: Mapping[str, str] | None = None,
    ignored: Collection[str] = (),
    y: NDArray[np.int64] | None = None,
    total: int | None = None,
) -> Plan:
    """Make the plan for tables like this one, an Arrow table of some of the rows.

    `kinds` gives the kinds of columns that are not to be guessed; `ignored` columns are left out.
    `y` are the codes of the rows' labels, and `total` is the number of all rows, if known.
    """
    kinds = kinds or {}
    y = np.zeros(0, dtype=np.int64) if y is None else y
    classes = labels.about(y)
    for name in [*kinds, *ignored]:
        if not {name, calendar.dates_of(name)} & set(table.column_names):
            shown = ", ".join(map(repr, table.column_names[:20]))
            alone = " Give one name at a time." if "," in name else ""
            hint = labels.meant(name, table.column_names)
            raise TableError(f"There is no column {name!r}.{alone} {hint}The columns are {shown}.")
    skipped = {target, *ignored}
    commas = has_commas(table.select([c for c in table.column_names if c not in skipped]))
    seen = []
    for name in table.column_names:
        if name == target:
            continue
        if name in ignored:
            kind = str(table.schema.field(name).type)
            seen.append(unread(name, kind, "left out on request"))
            continue
        seen.append(looked_at(name, table.column(name), kinds.get(name), commas))
        for one in parts_of(seen[-1], y):
            if one.column.name in ignored:
                left_out = replace(one.column, kind="", note="left out on request")
                seen.append(Seen(left_out))
            elif one.column.name not in table.column_names:
                seen.append(one)
    columns = [
        bounded(column, table.column(column.source), classes, total)
        for column in cut_into_cells(seen, classes)
    ]
    return Plan(tuple(columns), target)


def has_commas(table: Any) -> bool:
    """Return whether a column of a table holds numbers with decimal commas."""
    import pyarrow.compute as pc

    for column in table.columns:
        if not arrow.is_text(column.type):
            continue
        texts = unmarked(column.drop_null())
        some = pc.any(pc.match_substring(texts, ",")).as_py()
        if some and decimal_of(reading_guessed(texts)) == COMMA:
            return True
    return False


def reading_guessed(strings: Any, commas: bool = False) -> str | None:
    """Return how to read trimmed strings that are, except for a few, numbers or dates, else None.

    `commas` says whether other columns have decimal commas.
    """
    import pyarrow.compute as pc

    reading = reading_of(strings, commas)
    if reading is None and pc.count_distinct(strings).as_py() >= ENOUGH:
        reading = reading_of_most(strings, FEW, commas)
    return reading


def bounded(column: Column, values: Any, classes: int, total: int | None) -> Column:
    """Return the column, with `runs` and `bits` chosen so that its texts take bounded memory.

    The number of distinct words grows as a power of the number of texts (Heaps' law), and so does
    the number of distinct pairs. Each exponent is estimated by comparing half of the texts with all
    of them.
    """
    if column.kind != "text":
        return column
    rows = min(len(values), MOST_READ)
    texts = Texts.of(values.slice(0, rows).fill_null("").cast("large_string"))
    tokenizer = Tokenizer(ngrams=(1, 2))
    half, full = (tokenizer.encode(texts[:n]).words.runs for n in (rows // 2, rows))
    times = max(MANY_ROWS if total is None else total, rows) / max(rows, 1)
    found = [
        n * times ** np.clip(np.log2(max(n, 1) / max(m, 1)), 0, 1)
        for n, m in ((full.sum(), half.sum()), ((~full).sum(), (~half).sum()))
    ]
    runs, words = (count * classes for count in found)
    notes = [column.note]
    if runs > MOST_WORDS:
        notes.append(f"about {found[0]:,.0f} pairs of words, too many to count")
    if words > MOST_WORDS:
        notes.append(f"about {found[1]:,.0f} different words, hashed into 2^{BITS} buckets")
    return replace(
        column,
        runs=bool(runs <= MOST_WORDS),
        bits=BITS if words > MOST_WORDS else 0,
        note="; ".join(filter(None, notes)),
    )


@dataclass(frozen=True, eq=False)
class Seen:
    """A column before its cells are chosen: its numbers, or the hashes of a few categories.

    `weights` are the weights of the numbers, None if all are equal. `dates` are the dates of all
    rows, NaN where missing.
    """

    column: Column
    known: tuple[int, ...] = ()
    numbers: Array | None = None
    weights: Array | None = None
    dates: Array | None = None


def unread(name: str, type: str, note: str, unseen: bool = False) -> Seen:
    """Return the plan of a column that is left out."""
    return Seen(Column(name, "", type, note, unseen=unseen))


def looked_at(name: str, values: Any, asked: str | None, commas: bool = False) -> Seen:
    """Decide from some values what a column holds.

    `asked` is the kind that the user chose. `commas` says whether other columns have decimal
    commas.
    """
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.types as pt

    kind, note = asked or "", ""
    told = str(values.type)
    if pt.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
        kind = kind or "category"
    if pt.is_string_view(values.type):
        values = values.cast(pa.large_string())
    there = values.drop_null()
    type = values.type
    if len(there) == 0 or pt.is_null(type):
        return unread(name, told, "holds nothing", unseen=True)
    odd = pt.is_nested(type) or pt.is_binary(type) or pt.is_large_binary(type)
    if odd or pt.is_interval(type) or pt.is_fixed_size_binary(type):
        return unread(name, told, f"holds {told}, which cannot be used")
    if kind == "":
        kind, note = kind_and_note(there, commas)
    if kind == "":
        return unread(name, told, note)
    distinct = pc.count_distinct(there).as_py()
    if distinct < 2 and len(there) == len(values) and not asked:
        note = CONSTANT  # later rows may hold other values
    elif kind == "category":
        many = f"{distinct:,} categories" if distinct > MOST_PAIRED else ""
        found = marks_in(there, NOTHING) if arrow.is_text(type) else ""
        note = "; ".join(filter(None, [note, many, found]))
    if kind != "number":
        known: set[int] = set()
        if kind == "category" and distinct <= MOST_PAIRED:
            known = {hashed(plain(v)) for v in there.cast(pa.large_string()).unique().to_pylist()}
        return Seen(Column(name, kind, told, note), tuple(sorted(known)))
    texts = unmarked(there) if arrow.is_text(type) else None
    written = "" if texts is None else reading_of(texts, commas)
    lenient = bool(asked)
    if texts is not None and written is None:
        written = reading_of_most(texts, HALF if asked else FEW, commas)
        lenient = written is not None
    written = written or ""
    if texts is not None and not (written or lenient) and are_thousands(texts, commas) is None:
        note = "; ".join(filter(None, [note, unclear_dots(name, texts)]))
    if texts is not None and commas and written == THOUSANDS:
        warn_of_thousands(name, texts)
    every = as_numbers(values, name, "" if asked else told, written, lenient=lenient)
    unit = UNITS.get(written) or unit_of(type)
    if texts is not None and lenient:
        note = "; ".join(filter(None, [note, unreadable(name, values, every, HELD[unit])]))
    numbers = every[np.isfinite(every)]
    grid = Grid.around(numbers)
    column = Column(name, kind, told, note, unit, grid, written=written, lenient=lenient)
    return Seen(column, (), numbers, dates=every if column.is_date else None)


def parts_of(seen: Seen, y: NDArray[np.int64]) -> Iterator[Seen]:
    """Yield the weekday, month and hour of dates, if they help to predict the class."""
    column = seen.column
    if seen.dates is None or len(y) != len(seen.dates):
        return
    for part in calendar.telling(seen.dates, y):
        name = calendar.column_of(column.name, part)
        known = sorted(map(hashed, calendar.PARTS[part].names))
        own = Column(name, "category", column.type, unit=column.unit, written=column.written,
                     part=part, of=column.name, lenient=column.lenient)  # fmt: skip
        yield Seen(own, tuple(known))


def unit_of(type: Any) -> str:
    """Return the unit of an Arrow type: "days" for dates, "seconds" for times, else ""."""
    import pyarrow.types as pt

    if not pt.is_temporal(type):
        return ""
    return "seconds" if is_time(type) else "days"


def cut_into_cells(seen: Sequence[Seen], classes: int) -> Iterator[Column]:
    """Yield all columns; decide which are counted in pairs, and by which cells.

    There are as many cells as memory allows. A column with one value cannot depend on others, so it
    is not paired.
    """
    room = min(MOST_SLOTS, int(np.sqrt(MOST_SUMS / max(classes, 1))))
    varies = [one.column.note != CONSTANT for one in seen]
    few = [j for j, one in enumerate(seen) if one.known and varies[j]]
    few.sort(key=lambda j: (len(seen[j].known), seen[j].column.name))
    taken = np.cumsum([2 + len(seen[j].known) for j in few])  # 2: missing, others
    paired = set(few[: int((taken <= room).sum())])
    left = room - (int(taken[len(paired) - 1]) if paired else 0)
    numeric = [j for j, one in enumerate(seen) if one.numbers is not None and varies[j]]
    cells = left // max(len(numeric), 1) - CELLS_BEYOND
    for j, one in enumerate(seen):
        column = one.column
        if one.numbers is not None and varies[j] and cells >= FEWEST_CELLS:
            edges = dyadic_edges(one.numbers, 1.6 / min(cells, MOST_CELLS), one.weights)
            edges = edges[column.grid.holds(edges)]
            yield replace(column, edges=tuple(edges.tolist()), paired=True)
        else:
            yield replace(column, known=one.known if j in paired else (), paired=j in paired)


def hashed(name: str) -> int:
    """Return 16 bits of a category's hash: enough to recognise it, too few to reveal it."""
    return zlib.crc32(name.encode("utf-8", "surrogatepass")) & 0xFFFF


def kind_and_note(there: Any, commas: bool) -> tuple[str, str]:
    """Return the kind of non-null values, and a note if the choice needs an explanation.

    `commas` says whether other columns have decimal commas.
    """
    import pyarrow.compute as pc
    import pyarrow.types as pt

    type = there.type
    if pt.is_boolean(type):
        return "category", ""
    if pt.is_temporal(type):
        return "number", "counted as days" if not is_time(type) else "counted as seconds"
    if pt.is_integer(type):
        if is_row_number(there):
            return "", "numbers the rows"
        return "number", ""
    if pt.is_floating(type) or pt.is_decimal(type):
        return "number", ""
    if not arrow.is_text(type):
        return "", f"holds {type}, which cannot be used"
    distinct = pc.count_distinct(there).as_py()
    rest = unmarked(there)
    reading = reading_guessed(rest, commas)
    if reading is not None:
        read = marks_in(there, MARKS)
        signs = currencies_in(rest) if reading in NUMBERS else []
        mixed = f"{' and '.join(signs)} mixed, without conversion" if len(signs) > 1 else ""
        return "number", "; ".join(filter(None, [note_on(reading), mixed, read]))
    words = pc.mean(pc.count_substring_regex(there, r"\S+")).as_py()
    if words >= WORDS and distinct > DISTINCT * len(there):
        return "text", ""
    if distinct == len(there) and len(there) >= ENOUGH:
        return ("text", "") if words >= WORDS else ("", "identifies its row: every value differs")
    return "category", ""


def note_on(reading: str) -> str:
    """Return a note on how text is read as numbers, dates or times, "" for plain numbers."""
    bare, _, unit = reading.partition(IN)
    if not unit:
        return NOTES.get(reading, "")
    return f"{NOTES[bare]}, in {unit}" if decimal_of(bare) == COMMA else f"numbers in {unit}"


def reading_of_most(strings: Any, few: float, commas: bool = False) -> str | None:
    """Return how to read trimmed strings if most are numbers or dates, else None.

    Those that are not may be a share of `few`. Days that do not exist, such as 30 February, are
    among them, but not days that contradict the order of the others.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    least = (1 - few) * len(strings)
    if (pc.sum(pc.match_substring_regex(strings, r"\d")).as_py() or 0) < least:
        return None
    letters = pc.any(pc.match_substring_regex(strings, OTHER_LETTER)).as_py()
    for form in FORMS:
        found = matching(strings, form)
        if len(found) < least:
            continue
        reading = reading_of(found, commas)
        if reading is None:
            ways = [DAY_FIRST, MONTH_FIRST] if form is SLASHED else [NAMED, ISO, TIMES]
            found = found.filter(pa.array(np.any([exist(found, way) for way in ways], axis=0)))
            reading = reading_of(found, commas)
        if reading is None or len(found) < least:
            continue
        return None if letters and SCALED in reading else reading
    return None


def unreadable(name: str, values: Any, numbers: Array, held: str) -> str:
    """Warn of texts among what a column holds, which count as missing; return a note.

    The note stays when all rows are forgotten, so it does not quote the texts.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    trimmed = pc.utf8_trim_whitespace(values.cast(pa.large_string()))
    there = pc.invert(pc.fill_null(pc.is_in(trimmed, value_set=marks()), True))
    there = pc.and_(pc.is_valid(trimmed), there)
    odd = trimmed.filter(pc.and_(there, pa.array(np.isnan(numbers))))
    if len(odd) == 0:
        return ""
    count = f"{len(odd):,} of {pc.sum(there).as_py():,} values"
    warn(
        f"In column {name!r}, {count} are not {held}, such as {shown(odd[0].as_py())}. They are "
        "read as missing values. Correct them, or choose another family for the column, such as "
        f'families={{"{name}": "categorical"}} (--family {name}=categorical).'
    )
    return f"{count} {AS_MISSING}"


def unclear_dots(name: str, texts: Any) -> str:
    """Warn of dots that are read as decimal points but may separate thousands; return a note."""
    import pyarrow.compute as pc

    one = texts.filter(pc.match_substring(texts, "."))[0].as_py()
    warn(
        f"In column {name!r}, values such as {one} are read as decimals. If the dots separate "
        f"thousands, write them without: {one.replace('.', '')}."
    )
    return "dots read as decimal points"


def warn_of_thousands(name: str, texts: Any) -> None:
    """Warn if all texts have three digits after a dot, and only other columns decimal commas."""
    import pyarrow.compute as pc

    if all_match(texts, PLAIN) and pc.all(pc.match_substring(texts, ".")).as_py():
        one = texts[0].as_py()
        warn(
            f"In column {name!r}, the dots in values such as {one} are read as separators of "
            f"thousands, because another column has decimal commas. If {one} is a decimal, write "
            f"{one.replace('.', ',')}."
        )


def is_time(type: Any) -> bool:
    import pyarrow.types as pt

    return pt.is_time(type) or pt.is_duration(type)


def is_row_number(values: Any) -> bool:
    """Return whether whole numbers seem to number the rows: sorted, they rise by equal steps."""
    if len(values) < ENOUGH:
        return False
    steps = np.diff(np.sort(values.to_numpy()).astype(np.float64))
    return bool(steps[0] > 0 and (steps == steps[0]).all())  # any step: rows may be thinned


def unmarked(values: Any) -> Any:
    """Trim texts, and drop those that mark missing values."""
    import pyarrow as pa
    import pyarrow.compute as pc

    trimmed = pc.utf8_trim_whitespace(values.cast(pa.large_string()))
    return trimmed.filter(pc.invert(pc.is_in(trimmed, value_set=marks())))


def marks_in(strings: Any, known: Collection[str]) -> str:
    """Return a note on the `known` marks of missing values that occur in strings, "" if none do."""
    import pyarrow.compute as pc

    found = set(pc.utf8_trim_whitespace(strings).unique().to_pylist()) & set(known) - {""}
    return f"{', '.join(map(repr, sorted(found)))} {AS_MISSING}" if found else ""


def marks() -> Any:
    """Return the texts that mark missing numbers."""
    return arrow.strings(MARKS)


def as_numbers(
    values: Any,
    name: str,
    learned: str,
    written: str = "",
    unit: str | None = None,
    lenient: bool = False,
) -> Any:
    """Convert Arrow values to float64, NaN if missing or infinite; dates become days since 1970.

    Times become seconds. `learned` is the column's original type, `written` says how its text is
    read, and `unit` what its numbers count. Raises TableError for text that cannot be read, unless
    `lenient`, and for dates where numbers are expected or the reverse.
    """
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.types as pt

    type = values.type
    if pt.is_dictionary(type):
        values = values.cast(type.value_type)
        type = values.type
    if pt.is_null(type):
        return np.full(len(values), np.nan)
    if unit is not None and not arrow.is_text(type):
        refuse_other_unit(values, name, unit, unit_of(type))
    if arrow.is_text(type):
        trimmed = pc.utf8_trim_whitespace(values.cast(pa.large_string()))
        known = pc.if_else(pc.is_in(trimmed, value_set=marks()), None, trimmed)
        written = written or {"days": ISO, "seconds": TIMES}.get(unit or "", "")
        try:
            if "duration" in learned and matches(known, DURATION):
                return arrow.plain(read_durations(known), np.nan)
            read = read_some if lenient else read_text
            values, found = read(known, written)
            if zone_of(learned):
                values = shown_in(zone_of(learned), values, known, name)
            if unit is not None:
                refuse_other_unit(known, name, unit, UNITS.get(found, ""))
        except (pa.ArrowInvalid, ValueError) as error:
            if isinstance(error, TableError):
                raise
            other = reading_of(known.drop_null())
            if unit is not None and other is not None:
                refuse_other_unit(known, name, unit, UNITS.get(other, ""))
            texts = [text for text in known.to_pylist() if text]
            wrong = next((text for text in texts if not is_read(text, written)), texts[0])
            held = NOTES[written].partition(", counted")[0] if written in UNITS else "numbers"
            held += "" if "string" in learned else f" ({learned})"
            raise TableError(
                f"Column {name!r} held {held} in the rows that decided how to read it, but now "
                f"holds text ({shown(wrong)}). Correct it, or fit again and choose a family. "
                f'With families={{"{name}": "discretised"}} (--family {name}=discretised), such '
                f"text counts as a missing value; with "
                f'families={{"{name}": "categorical"}} (--family {name}=categorical), every value '
                f"is a category."
                if learned
                else f"Column {name!r} holds text ({shown(wrong)}), which is not a number. Choose "
                "another family for it, such as categorical or text."
            ) from None
    elif pt.is_timestamp(type) or pt.is_date64(type):
        if getattr(type, "tz", None):
            values = local_times(values, zone_of(learned) or type.tz, name)
        values = days_in(values)
    elif pt.is_date32(type):
        values = values.cast(pa.int32()).cast(pa.float64())
    elif is_time(type):
        micro = pa.duration("us") if pt.is_duration(type) else pa.time64("us")
        micros = values.cast(micro, safe=False).cast(pa.int64())
        values = pc.divide(micros.cast(pa.float64(), safe=False), 1e6)
    else:
        values = values.cast(pa.float64(), safe=False)
    out = arrow.plain(values, np.nan)
    infinite = np.isinf(out)
    return np.where(infinite, np.nan, out) if infinite.any() else out


def zone_of(type: str) -> str:
    """Return the time zone in the name of a type, "" if there is none.

    >>> zone_of("timestamp[us, tz=Europe/Berlin]"), zone_of("timestamp[us]")
    ('Europe/Berlin', '')
    """
    return type.partition("tz=")[2].rstrip("]")


def local_times(moments: Any, zone: str, name: str) -> Any:
    """Convert moments to the times that clocks show in a zone, as timestamps without a zone."""
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        return pc.local_timestamp(moments.cast(pa.timestamp(moments.type.unit, zone)))
    except pa.ArrowInvalid as error:
        raise TableError(
            f"The time zone {zone!r} of column {name!r} is not known on this machine: {error}. "
            "Install a database of time zones (tzdata), or convert the column to UTC."
        ) from None


def days_in(moments: Any) -> Any:
    """Convert timestamps to days since 1970."""
    import pyarrow as pa
    import pyarrow.compute as pc

    micros = moments.cast(pa.timestamp("us"), safe=False).cast(pa.int64())
    return pc.divide(micros.cast(pa.float64(), safe=False), 86_400e6)


def shown_in(zone: str, days: Any, texts: Any, name: str) -> Any:
    """Convert days in UTC to what clocks show in a zone, if the texts have an offset from UTC."""
    import pyarrow as pa
    import pyarrow.compute as pc

    zoned = pc.fill_null(pc.match_substring_regex(texts, ZONED), False)
    zoned = pc.and_(zoned, pc.fill_null(pc.is_finite(days), False))
    if not pc.any(zoned).as_py():
        return days
    micros = pc.round(pc.multiply(pc.if_else(zoned, days, 0), 86_400e6)).cast(pa.int64())
    local = local_times(micros.cast(pa.timestamp("us", "UTC")), zone, name)
    return pc.if_else(zoned, days_in(local), days)


def refuse_other_unit(values: Any, name: str, unit: str, now: str) -> None:
    """Raise an error if a column's unit changed, such as from numbers to dates."""
    there = values.drop_null()
    if unit == now or len(there) == 0:
        return
    raise TableError(
        f"Column {name!r} held {HELD[unit]} in the rows that decided how to read it, but now holds "
        f"{HELD[now]} ({shown(there[0].as_py())}). Convert it to {HELD[unit]}, or fit again."
    )


def read_text(strings: Any, written: str) -> tuple[Any, str]:
    """Parse trimmed strings as float64; return the numbers and the way in which they were read.

    Strings that cannot be read in the way `written` are read in another way if that leaves no
    doubt, such as ISO dates: never with day and month, or comma and point, exchanged. Raises
    ValueError if there is no such way.
    """
    there = strings.drop_null()
    if len(there) == 0:
        return read(strings, ""), written
    if not written:
        found = "" if all_match(there, PLAIN) else reading_of(there)
        if found is None or found.partition(IN)[2] in SUFFIXES:  # 12B may be a house number
            raise ValueError("these are not numbers")
        return read(strings, found), found
    try:
        return read(strings, written), written
    except ValueError:
        return read_each(strings, written), written


def read_some(strings: Any, written: str) -> tuple[Any, str]:
    """Parse trimmed strings like `read_text`, but each by itself, and NaN if it cannot be read.

    A string becomes NaN also if it is of another unit, such as a date among numbers.
    """
    if matches(strings, PLAIN) and not written:
        return read(strings, ""), written
    return read_each(strings, written, lenient=True), written


def matches(strings: Any, pattern: re.Pattern[str]) -> bool:
    """Return whether all strings match a pattern, such as DURATION; nulls are ignored."""
    there = strings.drop_null()
    return len(there) > 0 and all_match(there, pattern)


def is_read(text: str, written: str) -> bool:
    """Return whether a text can be read as a number or a date, as `written` or in another way."""
    try:
        read_text(arrow.strings([text]), written)
    except ValueError:
        return False
    return True


def shown(value: Any) -> str:
    """Return a value in short form for a message."""
    text = str(value) if isinstance(value, date | time | timedelta) else repr(value)
    return text if len(text) <= 40 else text[:39] + "…"
