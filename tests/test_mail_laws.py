"""The laws of what a spam filter has learned, for every kind of store.

Counts are sums of lessons: a message that is learned adds, one that is forgotten subtracts, and one
that fades counts for less, exactly. The twin of a store is a dictionary, counted from scratch.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from genus.mail import bogofilter, judgement, spamfilter
from genus.mail.bogofilter import import_dump, weights_of
from genus.mail.identity import digest
from genus.mail.spamfilter import SpamFilter, unlearn
from genus.mail.store import UNIT, Lesson, Store, Totals
from genus.mail.store.lessons import sums
from genus.mail.tokens import tokens_of
from laws import Laws, check

pytest_plugins = ("servers",)
pytestmark = pytest.mark.skipif(
    os.environ.get("GENUS_SANITIZED") == "1", reason="stores do not exercise the kernel"
)

few = settings(max_examples=max(settings().max_examples // 5, 5))
Place = Callable[[], str]
EVER = 1 << 40
DAY = 20_000


@pytest.fixture(scope="module", params=["SQLite", "PostgreSQL"])
def place(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Place:
    """Return names of stores that are not there yet."""
    numbers = count()
    if request.param == "SQLite":
        folder = tmp_path_factory.mktemp("stores")
        return lambda: str(folder / f"{next(numbers)}.sqlite")
    pytest.importorskip("psycopg", reason="psycopg is not installed")
    url = request.getfixturevalue("postgres").create()
    return lambda: f"{url}?owner=user{next(numbers)}"


@contextmanager
def opened(name: str, site: str | None = None) -> Iterator[SpamFilter]:
    spam_filter = SpamFilter.open(name, site)
    try:
        yield spam_filter
    finally:
        spam_filter.close()


@contextmanager
def on_day(day: int) -> Iterator[None]:
    with (
        mock.patch.object(spamfilter, "this_day", return_value=day),
        mock.patch.object(bogofilter, "this_day", return_value=day),
    ):
        yield


# Small messages that share some of their words

words = st.sampled_from(["cheap", "watches", "meeting", "pills", "free", "lunch", "Zürich", "見積"])
messages = st.builds(
    lambda subject, body: f"Subject: {' '.join(subject)}\n\n{' '.join(body)}\n".encode(),
    st.lists(words, max_size=2),
    st.lists(words, max_size=6),
)
labelled = st.lists(
    st.tuples(messages, st.booleans()), max_size=12, unique_by=lambda m: digest(m[0])
)


def learn(spam_filter: SpamFilter, some: list[tuple[bytes, bool]]) -> None:
    for spam in (False, True):
        spam_filter.learn([raw for raw, of_class in some if of_class == spam], spam)


# What is known, as values


def row(lesson: Lesson) -> tuple[Any, ...]:
    plain = (lesson.digest, lesson.spam, lesson.day, lesson.weight, lesson.halvings)
    return (*plain, tuple(lesson.tokens.tolist()))


def known(store: Store) -> dict[str, Any]:
    """Everything in a store but notes and the order of lessons; its counts are checked by sums."""
    lessons = list(store.oldest(EVER))
    ids, counted = sums(lessons)
    there = counted.any(axis=1)
    check(
        [
            ("counts == Σ lessons", store.counts(ids).tolist(), counted.tolist()),
            ("tokens that are known == tokens that count", store.distinct(), int(there.sum())),
            ("totals == Σ lessons", store.totals(), totals_of(lessons)),
        ]
    )
    return {
        "lessons": sorted(map(row, lessons)),
        "counts": dict(zip(ids.tolist(), store.counts(ids).tolist(), strict=True)),
        "totals": store.totals(),
    }


def totals_of(lessons: list[Lesson]) -> Totals:
    by_class = [[each.counts_for for each in lessons if each.spam == spam] for spam in (0, 1)]
    ham, spam = by_class
    return Totals(len(ham), len(spam), sum(ham), sum(spam))


NOTHING = {"lessons": [], "counts": {}, "totals": Totals()}


# The laws


@given(labelled, st.randoms(use_true_random=False), st.integers(1, 4))
@few
def test_learning_in_any_order_and_any_batches_is_the_same(
    place: Place, some: list[tuple[bytes, bool]], random: Any, size: int
) -> None:
    shuffled = random.sample(some, len(some))
    with on_day(DAY), opened(place()) as one, opened(place()) as two:
        learn(one, some)
        with mock.patch.object(spamfilter, "BATCH", size):
            cut = len(some) // 2
            learn(two, shuffled[:cut])
            learn(two, shuffled[cut:])
        check([("learn(A in another order) == learn(A)", known(two.store), known(one.store))])


@given(labelled, labelled)
@few
def test_forgetting_undoes_learning(
    place: Place, A: list[tuple[bytes, bool]], B: list[tuple[bytes, bool]]
) -> None:
    held = {digest(raw) for raw, _ in A}
    B = [each for each in B if digest(each[0]) not in held]

    def laws() -> Laws:
        with on_day(DAY), opened(name := place()) as a:
            learn(a, A)
            before = known(a.store)
            learn(a, B)
            outcomes = a.forget([raw for raw, _ in B])
            yield "forget(B) says so", outcomes, ["forgotten"] * len(B)
            yield "A + B - B == A", known(a.store), before
            yield "B is unknown", [a.label(raw) for raw, _ in B], [None] * len(B)
            yield (
                "forgetting B again is nothing",
                set(a.forget(raw for raw, _ in B)) | {"unknown"},
                {"unknown"},
            )
            a.close()
            with opened(name) as again:
                yield "open(close(A)) == A", known(again.store), before
                again.forget(raw for raw, _ in A)
                yield "A - A == nothing", known(again.store), NOTHING
                yield "no note is left", again.store.notes(""), {}

    check(laws())


@given(labelled.filter(bool))
@few
def test_learning_again_is_nothing_and_as_the_other_class_corrects(
    place: Place, A: list[tuple[bytes, bool]]
) -> None:
    (raw, spam), rest = A[0], A[1:]

    def laws() -> Laws:
        with on_day(DAY), opened(place()) as a, opened(place()) as b:
            learn(a, A)
            before = known(a.store)
            with on_day(DAY + 5):
                yield "A is known", a.learn([raw, raw], spam), ["known"] * 2
                yield "A + A == A", known(a.store), before
            yield "A is corrected", a.learn([raw, raw], not spam), ["corrected", "known"]
            yield "A has the other label", a.label(raw), "ham" if spam else "spam"
            learn(b, rest)
            b.learn([raw], not spam)
            yield "A corrected == A - a + a'", known(a.store), known(b.store)
            both = [(raw, spam), (raw, not spam), (raw, not spam)]
            told = a.learn_labelled(both)
            yield "A is corrected twice at once", told, ["corrected", "corrected", "known"]
            yield "A is as before", known(a.store), known(b.store)
        with on_day(DAY), opened(place()) as a, opened(place()) as b:
            learn(a, rest)
            learn(b, rest)
            a.learn_labelled(both)
            b.learn([raw], not spam)
            yield "a + a' in one batch == a'", known(a.store), known(b.store)

    check(laws())


moves = st.one_of(
    st.tuples(st.just("learn"), st.lists(messages, min_size=1, max_size=4), st.booleans()),
    st.tuples(st.just("forget"), st.lists(messages, min_size=1, max_size=3), st.none()),
    st.tuples(st.just("wait"), st.integers(0, 40), st.none()),
    st.tuples(st.just("fade"), st.sampled_from([0.5, 1, 2.5, 7, 30]), st.none()),
    st.tuples(st.just("keep"), st.integers(0, 6), st.none()),
)


class Twin:
    """What a store should hold, counted from scratch."""

    def __init__(self) -> None:
        self.lessons: dict[bytes, Lesson] = {}
        self.expired: int | None = None

    def learn(self, some: list[bytes], spam: bool, day: int) -> None:
        for raw in some:
            key = digest(raw)
            old = self.lessons.get(key)
            if old is None or old.spam != spam or old.halvings:  # a faded one counts in full again
                self.lessons.pop(key, None)
                self.lessons[key] = Lesson(key, spam, day, tokens_of(raw))

    def forget(self, some: list[bytes]) -> None:
        for raw in some:
            self.lessons.pop(digest(raw), None)
        self.clear()

    def fade(self, half_life: float, day: int) -> None:
        for key, old in list(self.lessons.items()):
            halvings = int((day - old.day) / half_life)
            if halvings > 8 and old.halvings == 8 and self.expired not in (None, day):
                del self.lessons[key]
            else:
                least = min(halvings, 8)
                self.lessons[key] = Lesson(key, old.spam, old.day, old.tokens, UNIT, least)
        if self.lessons:
            self.expired = day
        self.clear()

    def clear(self) -> None:
        if not self.lessons:
            self.expired = None

    def keep(self, number: int) -> None:
        while len(self.lessons) > number:
            of_class = [each.spam for each in self.lessons.values()]
            spam = of_class.count(True) >= of_class.count(False)  # the larger class gives first
            del self.lessons[next(key for key, each in self.lessons.items() if each.spam == spam)]
        self.clear()


@given(st.lists(moves, max_size=12))
@example([("learn", [b"a"], True), ("wait", 1, None), ("fade", 0.5, None), ("learn", [b"a"], True)])
@few
def test_whatever_happens_counts_are_sums_of_lessons(
    place: Place, steps: list[tuple[Any, ...]]
) -> None:
    twin, day = Twin(), DAY
    with opened(place()) as a:
        for move, what, spam in steps:
            with on_day(day):
                if move == "learn":
                    a.learn(what, spam)
                    twin.learn(what, spam, day)
                elif move == "forget":
                    a.forget(what)
                    twin.forget(what)
                elif move == "fade":
                    a.expire(half_life=what)
                    twin.fade(what, day)
                elif move == "keep":
                    a.expire(keep=what)
                    twin.keep(what)
                else:
                    day += what
            rows = sorted(map(row, twin.lessons.values()))
            check([(f"lessons after {move} == the twin's", known(a.store)["lessons"], rows)])
        newest = [each.digest for each in reversed(twin.lessons.values()) if each.spam]
        check([("newest == the twin's", [e.digest for e in a.store.newest(99, True)], newest)])


@given(labelled.filter(bool), st.sampled_from([1, 3, 7.5, 30]))
@few
def test_fading_is_learning_with_less_weight(
    place: Place, A: list[tuple[bytes, bool]], half_life: float
) -> None:
    def laws() -> Laws:
        with on_day(DAY), opened(place()) as a:
            learn(a, A)
            counts = known(a.store)["counts"]
            for halvings in range(10):
                today = DAY + int(np.ceil(halvings * half_life))
                _, gone = a.expire(half_life, today=today)
                now = known(a.store)
                if halvings == 9:
                    yield "after nine half-lives nothing is left", now, NOTHING
                    yield "and that is said", gone, len(A)
                else:
                    faded = {i: [n >> halvings for n in both] for i, both in counts.items()}
                    yield f"A after {halvings} half-lives == 2^-n A", now["counts"], faded
                yield "to expire twice is to expire", a.expire(half_life, today=today), (0, 0)
                yield "to expire twice is to expire", known(a.store), now

    check(laws())


@given(labelled.filter(bool), st.sampled_from([1, 3, 7.5, 30]), st.integers(-9999, 9999))
@few
def test_a_clock_that_is_wrong_for_a_day_does_no_harm(
    place: Place, A: list[tuple[bytes, bool]], half_life: float, ahead: int
) -> None:
    def laws() -> Laws:
        with on_day(DAY), opened(place()) as a:
            learn(a, A)
            today = DAY + int(2 * half_life)
            a.expire(half_life, today=today)
            right = known(a.store)
            for _ in range(2):
                _, gone = a.expire(half_life, today=today + ahead)
                yield "a wrong day forgets nothing", gone, 0
            a.expire(half_life, today=today + 1)
            a.expire(half_life, today=today)
            yield "the right day after a wrong one == the right day", known(a.store), right

    check(laws())


def test_lessons_of_days_to_come_are_of_today(place: Place) -> None:
    old, new = ([f"Subject: {each} {n}\n\n{n}".encode() for n in range(5)] for each in "ab")
    with opened(place()) as a:
        with on_day(DAY):
            a.learn(old, spam=False)
        with on_day(DAY + 5000):
            a.learn(new[:4], spam=True)
        a.expire(30, today=DAY + 1)
        days = {each.digest: each.day for each in a.store.oldest(EVER)}
        assert {days[digest(raw)] for raw in old} == {DAY}
        assert {days[digest(raw)] for raw in new[:4]} == {DAY + 1}
        a.expire(30, today=DAY + 31)
        assert [each.halvings for each in a.store.newest(9, True)] == [1] * 4
        known(a.store)
        # A clock that is behind makes all days ones to come, and changes none of them.
        a.expire(30, today=7)
        assert {each.day for each in a.store.oldest(EVER)} == {DAY, DAY + 1}


@given(labelled.filter(bool), st.integers(0, 12), st.integers(1, 4))
@few
def test_the_newest_stay(place: Place, A: list[tuple[bytes, bool]], keep: int, size: int) -> None:
    with on_day(DAY), opened(place()) as a, opened(place()) as b:
        for each in A:
            learn(a, [each])
        with mock.patch.object(spamfilter, "BATCH", size):
            told = a.expire(keep=keep)
        check([("what goes == what is too much", told, (0, max(len(A) - keep, 0)))])
        left = list(A)
        while len(left) > keep:
            spam = 2 * sum(is_spam for _, is_spam in left) >= len(left)
            left.remove(next(each for each in left if each[1] == spam))
        learn(b, left)
        check([("keep(n, A) == the last of the larger class", known(a.store), known(b.store))])


@given(labelled, labelled)
@few
def test_own_evidence_adds_to_a_sites(
    place: Place, A: list[tuple[bytes, bool]], B: list[tuple[bytes, bool]]
) -> None:
    own, site = place(), place()

    def laws() -> Laws:
        with on_day(DAY), opened(site) as b:
            learn(b, B)
            below = known(b.store)
        with on_day(DAY), opened(own, site) as both, opened(own) as a:
            learn(both, A)
            ids = np.unique(np.concatenate([tokens_of(raw) for raw, _ in A + B] or [[]]))
            ids = ids.astype(np.uint32)
            with opened(site) as b:
                yield (
                    "counts(own + site) == counts(own) + counts(site)",
                    both.store.counts(ids).tolist(),
                    (a.store.counts(ids) + b.store.counts(ids)).tolist(),
                )
                total = a.store.totals() + b.store.totals()
                yield "totals(own + site) == totals(own) + totals(site)", both.store.totals(), total
                yield "learning leaves the site as it is", known(b.store), below
            both.forget(raw for raw, _ in A + B)
            both.expire(half_life=1, keep=0, today=DAY + 99)
            yield "forgetting empties one's own", known(a.store), NOTHING
            with opened(site) as b:
                yield "forgetting leaves the site as it is", known(b.store), below

    check(laws())


def test_users_of_one_database_do_not_mix(place: Place) -> None:
    with on_day(DAY), opened(place()) as a, opened(place()) as b:
        learn(a, [(b"Subject: hello\n\nworld", True)])
        check([("what another learns == nothing", known(b.store), NOTHING)])


@given(labelled.filter(bool))
@few
def test_a_change_that_fails_changes_nothing(place: Place, A: list[tuple[bytes, bool]]) -> None:
    with on_day(DAY), opened(place()) as a:
        learn(a, A[1:])
        before, notes = known(a.store), a.store.notes("")
        lesson = Lesson(digest(A[0][0]), A[0][1], DAY, tokens_of(A[0][0]))
        with suppress(ZeroDivisionError), a.store.change() as change:
            change.write([lesson])
            change.put("a note", "of it")
            change.shift(*sums([lesson]))
            raise ZeroDivisionError
        check([("a change undone == no change", known(a.store), before)])
        check([("its notes, too", a.store.notes(""), notes)])


names = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=5)


@given(st.dictionaries(names, names, max_size=5), names, names)
@few
def test_notes_are_a_dictionary(place: Place, notes: dict[str, str], key: str, prefix: str) -> None:
    with opened(place()) as a:
        with a.store.change() as change:
            for name, value in notes.items():
                change.put(name, value + "before")
                change.put(name, value)
            change.put(key, None)
            assert change.get(key) is None
        left = {name: value for name, value in notes.items() if name != key}
        begun = {name: value for name, value in left.items() if name.startswith(prefix)}
        check([("notes(prefix) == those that begin so", a.store.notes(prefix), begun)])


# Judging


@pytest.mark.parametrize("imported", [False, True])
def test_lessons_are_judged_by_what_was_learned_outside_of_their_block(imported: bool) -> None:
    rng = np.random.default_rng(0)
    spam = rng.random(50) < 0.4
    lessons = [
        Lesson(
            bytes([i]),
            bool(spam[i]),
            DAY,
            np.unique(rng.integers(0, 300, 20)).astype(np.uint32),
            halvings=i % 3,
        )
        for i in range(50)
    ]
    others = [Lesson(b"imported", False, DAY, lessons[0].tokens)] if imported else []
    everything = added_up([*lessons, *others])
    store = mock.Mock(counts=lambda ids: np.array([everything[0].get(i, (0, 0)) for i in ids]))
    block = np.empty(50, int)
    for own in (np.flatnonzero(spam), np.flatnonzero(~spam)):
        block[own] = np.arange(len(own)) * judgement.BLOCKS // len(own)
    np.testing.assert_array_equal(judgement.blocks(spam, judgement.BLOCKS), block)
    found, new = judgement.Sample.of(lessons, store, everything[1]).without(block)
    for i, lesson in enumerate(lessons):
        rest = [each for each, at in zip(lessons, block, strict=True) if at != block[i]]
        counts, totals = added_up(rest + others)
        left = np.array([counts.get(token, (0, 0)) for token in lesson.tokens])
        odds = judgement.log_odds(lesson.tokens, left, totals)
        assert new[i] == np.mean(~left.any(axis=1))
        one = np.zeros(len(odds), np.intp)
        np.testing.assert_allclose(found[i], judgement.features(lesson.tokens, odds, one, 1)[0])


def added_up(lessons: list[Lesson]) -> tuple[dict[int, tuple[int, ...]], Totals]:
    """Return what lessons add up to: counts by token, and totals."""
    ids, counts = sums(lessons)
    weight = [sum(each.counts_for for each in lessons if each.spam == own) for own in (False, True)]
    number = [sum(each.spam == own for each in lessons) for own in (False, True)]
    return dict(zip(ids, map(tuple, counts), strict=True)), Totals(*number, *weight)


# Imports

counted = st.dictionaries(
    st.sampled_from(
        ["cheap", "meeting", "lunch", "subj:free", "subj:lunch", "to:anna", "url:shop"]
    ),
    st.tuples(st.integers(0, 70), st.integers(0, 70)),
    max_size=8,
)


def dump(path: Path, counts: dict[str, tuple[int, int]], spam: int, ham: int) -> str:
    """Write what bogoutil -d prints."""
    lines = {".WORDLIST_VERSION": (20040500, 0), ".ENCODING": (2, 0), ".MSG_COUNT": (spam, ham)}
    rows = (lines | counts).items()
    path.write_text("".join(f"{word} {n} {m} 20240229\n" for word, (n, m) in rows))
    return str(path)


@given(counted, st.integers(1, 80), st.integers(1, 80), counted)
@few
def test_an_import_is_the_counts_of_the_dump(
    place: Place,
    tmp_path_factory: pytest.TempPathFactory,
    counts: dict[str, tuple[int, int]],
    spam: int,
    ham: int,
    other: dict[str, tuple[int, int]],
) -> None:
    file = tmp_path_factory.mktemp("dump") / "dump"
    learned = [(b"Subject: cheap lunch\n\nmeeting", False)]

    def expected(halvings: int) -> dict[str, list[int]]:
        return {
            word: [min(m, ham) * UNIT >> halvings, min(n, spam) * UNIT >> halvings]
            for word, (n, m) in counts.items()
        }

    def found(store: Store, halvings: int = 0) -> dict[str, list[int]]:
        own = [Lesson(b"", s, DAY, tokens_of(raw), UNIT, halvings) for raw, s in learned]
        ids, by = sums(own)
        learned_of = dict(zip(ids.tolist(), by, strict=True))
        result = {}
        for word in counts:
            held = np.array(bogofilter.ids_of_word(word), np.uint32)
            assert len(held)
            less = np.array([learned_of.get(i, np.zeros(2, int)) for i in held.tolist()])
            (one,) = {tuple(each) for each in (store.counts(held) - less).tolist()}
            result[word] = list(one)
        return result

    def laws() -> Laws:
        with on_day(DAY), opened(place()) as a:
            learn(a, learned)
            before = known(a.store)
            import_dump(a, dump(file, other, 7, 1))
            import_dump(a, dump(file, counts, spam, ham))
            known(a.store)
            yield "import == the dump's counts", found(a.store), expected(0)
            weights = (1 + ham) * UNIT, spam * UNIT
            totals = a.store.totals()
            yield "totals == the dump's", (totals.ham_weight, totals.spam_weight), weights
            once = known(a.store)
            import_dump(a, dump(file, counts, spam, ham))
            yield "importing twice == importing once", known(a.store), once
            a.expire(half_life=10, today=DAY + 25)
            yield "imports fade", found(a.store, 2), expected(2)
            a.expire(half_life=10, today=DAY + 90)
            a.expire(half_life=10, today=DAY + 91)
            yield "imports go", known(a.store), NOTHING
            learn(a, learned)
            import_dump(a, dump(file, counts, spam, ham))
            with a.store.change() as change:
                noted = (change.get("bogofilter") or "").split()
                lessons = change.find([bytes.fromhex(each) for each in noted])
                unlearn(change, list(lessons.values()))
            yield "A + import - import == A", known(a.store), before

    check(laws())


@given(st.integers(1, 5000))
def test_weights_of_a_total_sum_up_to_every_number_below_it(total: int) -> None:
    reached = {0}
    for weight in weights_of(total):
        reached |= {n + weight for n in reached}
    assert reached == set(range(total + 1))


def test_a_dump_that_is_none_is_refused(place: Place, tmp_path: Path) -> None:
    with opened(place()) as a:
        for text in ("", "word 1 2\n", "word\n", "word one two\n", ".MSG_COUNT 0 5\n", "a ² 1\n"):
            (tmp_path / "dump").write_text(text)
            with pytest.raises(ValueError, match="bogoutil -d"):
                import_dump(a, str(tmp_path / "dump"))
        check([("what is left of them == nothing", known(a.store), NOTHING)])


# Forgetting leaves no trace in the file


def test_what_is_forgotten_is_gone_from_the_file(tmp_path: Path) -> None:
    random = np.random.default_rng(0)

    def made(number: int) -> bytes:
        letters = random.integers(97, 123, (80, 8), np.uint8)
        return b"Subject: %d\n\n" % number + b" ".join(map(bytes, letters))

    kept, forgotten = [made(i) for i in range(60)], [made(i) for i in range(100)]
    both = random.permutation(np.array(kept + forgotten, object)).tolist()
    file = tmp_path / "mail.sqlite"
    with opened(str(file)) as a:
        a.learn(both[:80], spam=True)
        a.learn(both[80:], spam=False)
        held = {t for raw in kept for t in tokens_of(raw).tolist()}
        tokens = sorted({t for raw in forgotten for t in tokens_of(raw).tolist()} - held)[::10]
        a.store.tidy()
        look = a.store._connection.execute
        packs = [content for (content,) in look("SELECT content FROM packs")]
        rows = dict(look("SELECT number, content FROM buckets"))
        traces = [digest(raw) for raw in forgotten]
        # SQLite may cut one of these in two, where a page ends.
        traces += [each[at : at + 40] for each in packs for at in range(20, len(each) - 40, 100)]
        traces += [rows[each >> 16] for each in tokens if each >> 16 not in {t >> 16 for t in held}]
        whole = file.read_bytes()
        traces = [each for each in traces if each in whole]
        assert len(traces) > 200
        a.forget(forgotten)
        a.store.tidy()
        left = b"".join(each.read_bytes() for each in tmp_path.iterdir())
        assert [each for each in traces if each in left] == []
        assert all(digest(raw) in left for raw in kept)
        assert len(left) < len(whole)
        assert {t for ids, _ in a.store.every() for t in ids.tolist()} == held
