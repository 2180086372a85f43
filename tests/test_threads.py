"""Threads: no more than are asked for, also where work that is shared out shares its own out."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pytest
from numpy.testing import assert_array_equal
from threadpoolctl import threadpool_info, threadpool_limits

from genus import TableClassifier
from genus.arrays.matrix import ONE_BLAS_THREAD, in_order, in_threads, threads


@pytest.mark.parametrize(("number", "tasks", "each"), [(4, 9, 1), (4, 2, 2), (5, 2, 2), (1, 3, 1)])
def test_work_that_is_shared_out_has_a_share_of_the_threads(
    monkeypatch: pytest.MonkeyPatch, number: int, tasks: int, each: int
) -> None:
    monkeypatch.setenv("GENUS_THREADS", str(number))
    inside = in_threads(lambda run: [threads() for _ in run], range(tasks))
    assert {share for shares in inside for share in shares} == {each}
    assert len(inside) * each <= number
    assert threads() == number


def test_threads_within_threads_are_no_more_than_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GENUS_THREADS", "3")
    lock, running, most = threading.Lock(), 0, 0

    def innermost(run: Iterator[int]) -> int:
        nonlocal running, most
        with lock:
            running += threads()
            most = max(most, running)
        total = sum(float(np.sort(np.random.default_rng(i).random(20_000))[0]) >= 0 for i in run)
        with lock:
            running -= threads()
        return total

    def shared_out(task: int) -> int:
        return sum(in_threads(innermost, range(task, task + 5)))

    assert list(in_order(shared_out, range(12))) == [5] * 12
    assert sum(in_threads(lambda run: sum(map(shared_out, run)), range(7))) == 35
    assert most <= 3


@pytest.mark.parametrize("number", ["1", "3"])
def test_results_come_in_order(monkeypatch: pytest.MonkeyPatch, number: str) -> None:
    monkeypatch.setenv("GENUS_THREADS", number)
    for size in (0, 1, 2, 50):
        assert list(in_order(lambda i: i * i, range(size))) == [i * i for i in range(size)]


def test_a_task_that_is_alone_has_all_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GENUS_THREADS", "4")
    assert list(in_order(lambda _: threads(), range(1))) == [4]
    assert set(in_order(lambda _: threads(), range(9))) == {1}


def test_blas_has_its_threads_again_when_the_last_is_done() -> None:
    def numbers() -> set[int]:
        return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}

    with threadpool_limits(2, "blas"):
        before = numbers()
        ONE_BLAS_THREAD.__enter__()
        ONE_BLAS_THREAD.__enter__()
        ONE_BLAS_THREAD.__exit__()
        assert numbers() == {1}
        ONE_BLAS_THREAD.__exit__()
        assert numbers() == before


def test_a_table_of_many_batches_is_counted_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    table = pa.table({"x": rng.normal(size=3000), "c": rng.choice(list("abc"), 3000)})
    y = np.where(table.column("x").to_numpy() > 0, "yes", "no")
    table = table.append_column("y", pa.array(y))
    found = []
    for number in ("1", "3"):
        monkeypatch.setenv("GENUS_THREADS", number)
        stream = pa.RecordBatchReader.from_batches(table.schema, table.to_batches(100))
        found.append(TableClassifier().fit(stream, "y"))
    assert found[0].model_ == found[1].model_
    assert_array_equal(*(model.predict_proba(table) for model in found))
