"""The state of the studio: rows, versions of the model, and running jobs.

The state is kept on the server, so that a reloaded or second page shows the same. `serial`
increases whenever anything changes.
"""

from __future__ import annotations

import copy
import hashlib
import shutil
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from genus import TableClassifier, TableError, TextClassifier
from genus.display import text as shown
from genus.report.figures import Colours
from genus.studio import edits as edits_of
from genus.studio import judging
from genus.studio.data import Data
from genus.studio.edits import Edit
from genus.studio.journal import Journal, identifier
from genus.studio.judging import Scores
from genus.studio.work import Job, Worker
from genus.table import Source, open_table

FEWEST = 2  # rows that a class needs to be scored
MOST_KEPT = 12  # versions that undo can restore at once


class Version:
    """A model, its rows with their classes, and everything computed from it."""

    def __init__(self, model: Any, active: NDArray[np.bool_], codes: NDArray[np.int64]) -> None:
        self.model, self.active, self.codes = model, active, codes
        self.scores: Scores | None = None
        self.comparison: Any = None
        self.curves: Any = None
        self.kept: dict[Any, Any] = {}  # results of views

    @cached_property
    def density(self) -> Any:
        """The generative model with the same counts, for densities of rows; it is solved once."""
        return self.model.generative()


@dataclass(frozen=True, eq=False)
class Opened:
    """A table that was opened: its rows, name, path, and identifier for the journal.

    The identifier of a dropped file is a hash of its content.
    """

    table: Any
    name: str
    path: Any
    identifier: str
    is_dropped: bool


@dataclass(frozen=True, eq=False)
class Named:
    """The table and the target that the command named."""

    source: Any
    name: str
    path: Any
    target: str | None


class Session:
    """The state of the studio.

    `mail` is the store of a spam filter, if the command named one. `files` are the tables that the
    command named. The exported script opens `path`, a table or a model.
    """

    def __init__(
        self,
        name: str = "",
        *,
        model: Any = None,
        options: dict[str, Any] | None = None,
        path: Any = "",
        files: Sequence[str] = (),
        encoding: str = "utf-8",
        mail: Any = None,
        journal: Journal | None = None,
    ) -> None:
        self.name, self.path, self.encoding, self.mail = name, path, encoding, mail
        self.model_name = name
        self.files = files
        self.named: Named | None = None
        self._asked = options or {}
        self.options = self._asked  # those for columns of the table that is shown
        self.journal = journal
        self.identifier = identifier(files)  # of the table that is shown
        self.is_dropped = False
        self.serial = 1
        self._lock = threading.Lock()
        self.worker = Worker(self.bump)
        self.aside = Worker(self.bump)  # for jobs that do not change the model
        self.table: Any = None  # all rows, before a target is chosen
        self.targets: Any = None  # possible targets, once the page has asked
        self.data: Data | None = None
        self.edits: list[Edit] = []
        self.solved: list[bool] = []  # for each edit, whether it needed no rows
        self.decision: dict[str, Any] = {}
        self.versions: list[Version] = []
        self.first: Version | None = None  # the model before any change
        self.classes: NDArray[Any] = np.zeros(0, dtype=object)
        self.given = model  # a given model, not fitted here
        self.text: Any = None
        if isinstance(model, TextClassifier):
            self.text = model
            self.classes = model.classes_
        elif model is not None:
            self.classes = model.classes_
            self._add(Version(model, np.zeros(0, bool), np.zeros(0, np.int64)))
            self.versions[0].scores = judging.of_itself(model)

    # State

    @property
    def version(self) -> Version | None:
        """The version of the model that is shown."""
        return self.versions[-1] if self.versions else None

    @property
    def now(self) -> Version:
        """The version that is shown; an error is raised if there is none."""
        if not self.versions:
            raise ValueError(
                "There is no model yet. Open a table, and choose the column to predict."
            )
        return self.versions[-1]

    @property
    def is_own(self) -> bool:
        """Whether the studio fitted the model to these rows."""
        return self.data is not None and self.given is None

    def bump(self) -> None:
        """Record that something has changed."""
        with self._lock:
            self.serial += 1

    def class_names(self) -> list[str]:
        """Return the classes as the page shows them."""
        return shown.names(self.classes.tolist())

    def place(self, label: Any) -> int:
        """Return the position of a class in the session; -1 if it is new."""
        found = [k for k, own in enumerate(self.classes.tolist()) if own == label]
        return found[0] if found else -1

    def colours(self) -> list[int]:
        """Return the colour of each class; the most frequent ones have their own."""
        counts = np.zeros(len(self.classes))
        model = self.text if self.first is None else self.first.model
        for label, rows in zip(model.classes_.tolist(), model.class_count_.tolist(), strict=True):
            counts[self.place(label)] = rows
        place = Colours(counts).place
        return [place[k] for k in range(len(self.classes))]

    # Opening

    def open(self, source: Any, name: str, target: str | None) -> Job:
        """Read the table that the command named, and fit a model if the target is known."""
        self.named = Named(source, name, self.path, target)
        return self.reopen()

    def reopen(self) -> Job:
        """Read the table that the command named.

        This is done at the start, and again after another table was dropped on the page.
        """
        named = self.named
        if named is None:
            raise ValueError("The command named no table. Drop one on the page.")

        def work(job: Job) -> None:
            found = identifier(self.files)
            table = read(self._as_learned(named.source), job)
            self._show(Opened(table, named.name, named.path, found, False), named.target, job)

        return self.run(f"Reading {shown.name(named.name)}", work)

    def open_upload(self, path: Path, name: str, content: str) -> Job:
        """Open a file that was dropped on the page.

        `path` is a copy of the file, which is deleted after reading; `content` is a hash of it.
        """

        def work(job: Job) -> None:
            try:
                table = read(self._as_learned(open_table(str(path), self.encoding)), job)
            except ValueError as error:
                raise TableError(str(error).replace(str(path), shown.name(name))) from None
            finally:
                shutil.rmtree(path.parent, ignore_errors=True)
            self._show(Opened(table, name, name, content, True), None, job)

        return self.run(f"Reading {shown.name(name)}", work)

    def _as_learned(self, source: Any) -> Any:
        """Return the source, with text where the command's model reads text."""
        if self.given is None or self.text is not None:
            return source
        plan = self.given.plan_
        labels = [plan.target] if self.classes.dtype.kind == "U" else []
        return open_table(source, texts=[*plan.texts, *labels])

    def _show(self, opened: Opened, target: str | None, job: Job) -> None:
        """Show another table, and its model if the target is known."""
        if self.given is not None:
            self._show_new_rows(opened, target or self.given.plan_.target, job)
            return
        if self.journal is not None:
            target = self.journal.target(opened.identifier) or target
        with job.keeping():
            self.aside.stop()
            self._clear()
            self.decision = {}
            self._keep(opened)
            self.bump()
        if target is not None:
            self._start(target, job)

    def _show_new_rows(self, opened: Opened, target: str, job: Job) -> None:
        """Score the command's model, including its changes, on the rows of a table."""
        data = Data.of(opened.table, target, opened.name)
        everything, codes = np.ones(len(data), bool), data.codes(self.classes)
        with job.keeping():
            self.aside.stop()
            self._keep(opened)
            self.data = data
            assert self.first is not None
            self.first = Version(self.first.model, everything, codes)
            rest = [Version(one.model, everything, codes) for one in self.versions]
            self.versions = [self.first, *rest[1:]] if len(self.edits) < MOST_KEPT else rest
            self.bump()
        if self.edits:
            self._judge(job)
        else:
            self._resume(job)

    def _keep(self, opened: Opened) -> None:
        self.table, self.identifier = opened.table, opened.identifier
        self.is_dropped = opened.is_dropped
        if self.given is None:
            self.name, self.path = opened.name, opened.path
            self.options = options_for(self._asked, opened.table.column_names)
        else:
            self.name = f"{self.model_name}, {opened.name}"

    def _clear(self) -> None:
        """Drop the model and its rows."""
        self.versions, self.edits, self.solved, self.data, self.first = [], [], [], None, None

    def close(self, seconds: float = 0) -> bool:
        """Stop running jobs, wait some seconds for them, and return whether all have ended."""
        self.worker.stop()
        self.aside.stop()
        return self.worker.ended(seconds) & self.aside.ended(seconds)

    @property
    def shown(self) -> str:
        """A key that changes when the page shows rows of another table or target."""
        if self.data is None:
            return ""
        known = f"{self.identifier} {len(self.data)} {self.data.target}"
        return hashlib.sha256(known.encode("utf-8", "surrogateescape")).hexdigest()[:12]

    def unsaved(self) -> list[str]:
        """Describe the changes that are closed with the present table if another one is opened."""
        if not self.is_own:
            return []  # changes to a given model stay
        return [edit.told(self.class_names()) for edit in self.edits]

    def refuse_to_lose(self, known: int) -> None:
        """Raise an error unless `known` is the number of changes that opening a table closes."""
        found = self.unsaved()
        if len(found) != known:
            raise UnsavedError(
                f"Opening another table closes {shown.name(self.name)}, which has "
                f"{shown.count(len(found), 'change')}: {'; '.join(found[:10])}. Confirm it first."
            )

    def choose(self, target: str) -> Job:
        """Fit a model that predicts a column."""
        if self.table is None:
            raise ValueError("There is no table yet. Open one.")
        if self.given is not None:
            raise ValueError(
                "The target of a model cannot be changed. Start the studio without a model to "
                "choose a target."
            )
        if target not in self.table.column_names:
            raise ValueError("This table has no such column. Reload the page.")
        return self.run("Fitting", lambda job: self._start(target, job))

    def _start(self, target: str, job: Job) -> None:
        data = Data.of(self.table, target, self.name)
        model = fitted(self.options, data.table, target, job)
        with job.keeping():
            self._clear()
            self.data, self.classes = data, model.classes_
            everything = np.ones(len(data), dtype=bool)
            self._add(Version(model, everything, data.codes(model.classes_)))
        self._resume(job)

    def resume(self) -> Job:
        """Repeat the changes of the last session on a model that was opened without rows."""
        return self.run("Repeating your changes", self._resume)

    def _resume(self, job: Job) -> None:
        """Repeat the changes in the journal, and score the model."""
        done: list[Edit] = []
        decision: dict[str, Any] = {}
        if self.journal is not None:
            table, target, rows = self._journal_key
            done = self.journal.edits(table, target, rows)
            decision = self.journal.decision(table, target)
        self.decision = decision
        for edit in done:
            self._apply(edit, job)
        self._write_journal()
        self._judge(job)

    # Changing

    def run(self, title: str, work: Callable[[Job], None]) -> Job:
        """Start a job; a running job that only computes scores is stopped first."""
        running = self.worker.job
        if running is not None and running.makes_way:
            self.worker.stop()
        return self.worker.run(title, work)

    def do(self, edit: Edit) -> Job:
        """Change the model, and score it again."""
        self.check(edit)

        def work(job: Job) -> None:
            self._apply(edit, job)
            self._write_journal()
            self._judge(job)

        return self.run(told(edit), work)

    def undo(self) -> Job:
        """Return to the model before the last change."""
        if not self.edits:
            raise ValueError("There is nothing to undo.")

        def work(job: Job) -> None:
            rest = self.edits[:-1]
            versions, solved = self.versions[:-1], self.solved[:-1]
            if not versions:  # too many changes ago to be kept
                versions, solved = self._replayed(rest, job)
            with job.keeping():
                self.versions, self.edits, self.solved = versions, rest, solved
                self._write_journal()
                self.bump()
            self._judge(job)

        return self.run("Undoing", work)

    def judge(self) -> Job:
        """Compute missing scores, for example after a stopped job."""
        return self.run("Scoring", self._judge)

    def check(self, edit: Edit, before: Version | None = None) -> None:
        """Raise an error if an edit is impossible, by default for the version that is shown."""
        before = before or self.now
        if edit.is_of_rows:
            if not self.is_own:
                raise ValueError(
                    "Rows can be changed only if the studio fitted the model to them. Start with "
                    "genus studio DATA --target COL."
                )
            assert self.data is not None
            at = np.asarray(edit.rows, dtype=np.int64)
            if len(at) == 0:
                raise ValueError("No row is selected. Select one.")
            if at.min() < 0 or at.max() >= len(self.data):
                raise ValueError("This table has no such row. Reload the page.")
            if edit.kind == edits_of.RELABEL and not 0 <= edit.label < len(self.classes):
                raise ValueError("The model has no such class. Reload the page.")
            active, codes = before.active.copy(), before.codes.copy()
            if not active[at].all():
                raise ValueError("Some of these rows are already forgotten. Select other rows.")
            if edit.kind == edits_of.FORGET:
                active[at] = False
            else:
                codes[at] = edit.label
            counts = np.bincount(codes[active], minlength=len(self.classes))
            if np.count_nonzero(counts >= FEWEST) < 2:
                raise ValueError(
                    f"At least two classes with {FEWEST} or more rows each must remain. Select "
                    "fewer rows."
                )
        elif edit.kind != edits_of.FAMILY and not self.is_own:
            raise ValueError(
                "Columns can be added or left out only if the studio fitted the model. Start with "
                "genus studio DATA --target COL."
            )

    def _apply(self, edit: Edit, job: Job) -> None:
        version, is_solved = self._applied(self.now, self.edits, edit, job)
        with job.keeping():
            self.edits = [*self.edits, edit]
            self.solved = [*self.solved, is_solved]
            self._add(version)
            self.bump()

    def _applied(
        self, before: Version, done: Sequence[Edit], edit: Edit, job: Job
    ) -> tuple[Version, bool]:
        """Return the version after one more edit, and whether this was done without the rows."""
        self.check(edit, before)
        job.start(0, told(edit))
        active, codes = before.active, before.codes
        is_solved = False
        if edit.is_of_rows:
            active, codes = edits_of.rows_after([edit], before.codes)
            active &= before.active
            model = self._without(edit, before, codes)
        else:
            options = edits_of.options_after([*done, edit], self._start_options())
            model, is_solved = self._with_options(options, before, edit, job)
        model.summary()  # solves the model
        return Version(model, active, codes), is_solved

    def _start_options(self) -> dict[str, Any]:
        if self.given is None:
            return self.options
        return {name: getattr(self.given, name) for name in ("families", "ignore")}

    def _without(self, edit: Edit, before: Version, codes: NDArray[np.int64]) -> Any:
        """Return the model without some rows, or with new labels for them; both are exact."""
        data = self.data
        assert data is not None
        model = copy.copy(before.model)
        at = np.asarray(edit.rows)
        labels = data.label_values(self.classes)
        model.forget(data.rows(at, before.codes, labels), target=data.target)
        if edit.kind == edits_of.RELABEL:
            model.partial_fit(data.rows(at, codes, labels), target=data.target)
        return model

    def _with_options(
        self, options: dict[str, Any], before: Version, edit: Edit, job: Job
    ) -> tuple[Any, bool]:
        """Return the model with other options, and whether this was done without the rows."""
        if edit.kind == edits_of.FAMILY:
            try:
                return before.model.resolve(families=options["families"]), True
            except ValueError:
                if not self.is_own:
                    raise
        data = self.data
        assert data is not None
        at = np.flatnonzero(before.active)
        rows = data.rows(at, before.codes, data.label_values(self.classes))
        return fitted(options, rows, data.target, job), False

    def _replayed(self, edits: Sequence[Edit], job: Job) -> tuple[list[Version], list[bool]]:
        """Apply edits to the first version, one after another.

        Return the versions before and after the edits, of which only the newest MOST_KEPT, and for
        each edit whether it was made without the rows.
        """
        assert self.first is not None
        versions, solved = [self.first], []
        for i, edit in enumerate(edits):
            version, is_solved = self._applied(versions[-1], edits[:i], edit, job)
            versions.append(version)
            solved.append(is_solved)
        return versions[-MOST_KEPT:], solved

    def _add(self, version: Version) -> None:
        if not self.versions:
            self.first = version
        self.versions = [*self.versions, version][-MOST_KEPT:]

    def _judge(self, job: Job) -> None:
        """Compute missing scores of the version that is shown and of the first version."""
        job.makes_way = True
        versions = [self.now]
        if self.edits and self.first is not None and self.is_own:
            versions.append(self.first)
        for version in versions:
            if version.scores is None:
                found = self._scores_of(version, job)
                with job.keeping():
                    version.scores = found
                    self.bump()

    def _scores_of(self, version: Version, job: Job) -> Scores | None:
        data = self.data
        if data is None:
            return judging.of_itself(version.model)
        at = data.judged[version.active[data.judged]]
        table = data.table.take(at).drop_columns([data.target])
        total = int(version.active.sum())
        if not self.is_own:
            job.start(0, "Scoring the rows")
            return judging.of_new_rows(version.model, version.density, data, at, table, total)
        y = self.classes[version.codes[at]]
        return judging.out_of_fold(version.model, version.density, table, y, at, total, job)

    def decide(self, decision: dict[str, Any]) -> None:
        """Set the decision rule."""
        self.decision = decision
        self._write_journal()
        self.bump()

    @property
    def _journal_key(self) -> tuple[str, str, int]:
        """The table, the target and the number of rows: the journal's key for a model."""
        if self.data is None or not self.is_own:  # a given model is changed without its rows
            return identifier(self.files), "", 0
        return self.identifier, self.data.target, len(self.data)

    def _write_journal(self) -> None:
        if self.journal is not None and self.version is not None:
            table, target, rows = self._journal_key
            name = self.name if self.is_dropped and self.is_own else ""
            self.journal.write(table, name, target, rows, self.edits, self.decision)


class UnsavedError(RuntimeError):
    """Opening another table would close this one, with changes that the user did not confirm."""


def options_for(options: dict[str, Any], columns: Sequence[str]) -> dict[str, Any]:
    """Restrict the command's options to the columns of a table.

    >>> options_for({"ignore": ["id", "key"], "families": {"age": "poisson"}}, ["id", "sex"])
    {'ignore': ['id'], 'families': {}}
    """
    found = dict(options)
    if "ignore" in found:
        found["ignore"] = [name for name in found["ignore"] if name in columns]
    if isinstance(found.get("families"), dict):
        found["families"] = {k: v for k, v in found["families"].items() if k in columns}
    return found


def told(edit: Edit) -> str:
    """Return the title of the job for an edit."""
    return {
        edits_of.FAMILY: "Solving with another family",
        edits_of.LEAVE_OUT: "Fitting without the column",
        edits_of.TAKE_IN: "Fitting with the column",
        edits_of.FORGET: "Forgetting rows",
        edits_of.RELABEL: "Relabelling rows",
    }[edit.kind]


def read(source: Any, job: Job) -> Any:
    """Read all rows of a source as an Arrow table."""
    import pyarrow as pa

    opened = source if isinstance(source, Source) else open_table(source)

    def rows(one: Source) -> Any:
        job.start(one.rows or 0)
        found = []
        for batch in one.batches():
            found.append(batch)
            job.step(batch.num_rows)
        return pa.Table.from_batches(found, one.schema)

    table = opened.read(rows)
    if table.num_rows == 0:
        raise TableError(
            f"{shown.name(opened.name)} has column names, but no rows. Give a table with rows."
        )
    return table


def fitted(options: dict[str, Any], rows: Any, target: str, job: Job) -> TableClassifier:
    """Fit a classifier to a table with its target."""
    job.start(rows.num_rows, "Counting rows")

    def progress(rows: int, total: int | None = None) -> None:
        job.step(rows, total)
        if job.total and job.done >= job.total:
            job.start(0, "Learning weights from a sample of rows")

    model = TableClassifier(**options).fit(rows, target=target, progress=progress)
    job.check()
    model.summary()
    return model
