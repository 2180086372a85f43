"""All jobs by name, and the suites that they make."""

from __future__ import annotations

from benchmarks import jobs, small_jobs, table_jobs, text_jobs

JOBS = {
    job.name: job
    for job in (
        *jobs.discriminant_analysis(),
        *jobs.naive_bayes(),
        *small_jobs.small(),
        *jobs.folds(),
        *jobs.peers(),
        *jobs.growth(),
        *text_jobs.texts(),
        *table_jobs.tables(),
    )
}
SUITES = tuple(dict.fromkeys(job.suite for job in JOBS.values()))
