"""Real clusters on loopback: Spark, Dask and Ray, each with worker processes of its own.

A test module has the fixtures with `pytest_plugins = ("clusters",)`. PYTEST_DONT_REWRITE
"""

from __future__ import annotations

import os
import shutil
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from scope import EVERYTHING, SANITIZED

HOST = "127.0.0.1"


def needs(package: str) -> Any:
    """Import a package, or skip the test."""
    if SANITIZED:
        pytest.skip("clusters run without the sanitizer, which looks at the kernel")
    return pytest.importorskip(package)


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A session with two workers: in the long suite, of a cluster of two executors.

    In the short one Spark runs them from one process, which starts in half the time; its Python
    workers are processes of their own in both.
    """
    needs("pyspark")
    if shutil.which("java") is None:
        pytest.skip("java is not installed: run scripts/install-java")
    from pyspark.sql import SparkSession

    folder = tmp_path_factory.mktemp("spark")
    os.environ |= {
        "SPARK_LOCAL_IP": HOST,
        "SPARK_LOCAL_HOSTNAME": "localhost",
        "SPARK_WORKER_DIR": str(folder / "work"),
        "PYSPARK_PYTHON": sys.executable,
    }
    settings = {
        "spark.driver.host": HOST,
        "spark.driver.bindAddress": HOST,
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.sql.shuffle.partitions": "3",
        "spark.task.maxFailures": "4",
        "spark.local.dir": str(folder / "local"),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.executorEnv.OPENBLAS_NUM_THREADS": "1",
    }
    master = "local-cluster[2,1,1024]" if EVERYTHING else "local[2,4]"
    builder = SparkSession.builder.master(master).appName("genus")
    for name, value in settings.items():
        builder = builder.config(name, value)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


@pytest.fixture(scope="module")
def dask_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A client of two worker processes."""
    distributed = needs("distributed")
    folder = Path(tmp_path_factory.mktemp("dask"))
    with (
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            dashboard_address=None,
            host=HOST,
            local_directory=str(folder),
            silence_logs=50,
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def ray_cluster() -> Iterator[Any]:
    """A node of two workers."""
    ray = needs("ray")
    ray.init(
        num_cpus=2,
        include_dashboard=False,
        _node_ip_address=HOST,
        log_to_driver=False,
        logging_level="ERROR",
        object_store_memory=200_000_000,
        configure_logging=False,
    )
    ray.data.DataContext.get_current().enable_progress_bars = False
    yield ray
    ray.shutdown()
