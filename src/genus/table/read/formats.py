"""The file formats of tables; add new formats here.

A format has a name, the suffixes of its files, the bytes that they begin with, and the function
that opens them. That function takes `Files` and returns a `Source`; its module is imported when a
file of the format is first opened.
"""

from __future__ import annotations

import os
import re
import zipfile
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module

from genus.table.read.sources import Source, TableError

COMPRESSED = re.compile(r"\.(gz|gzip|zst|bz2|xz|zip)$", re.I)
START = 16  # bytes read to recognise a format


@dataclass(frozen=True)
class Files:
    """Files of one format that together make one table.

    `name` is used in messages, `base` is the folder of the files, and `part` names a table inside a
    file that holds several: a sheet of a workbook, or a table or query of a database.
    """

    name: str
    paths: Sequence[str]
    base: str
    part: str = ""
    encoding: str = "utf-8"


@dataclass(frozen=True)
class Format:
    """A file format: its `name`, suffixes, first bytes, and the function that opens its files.

    `unpacks` are the suffixes of compressions that the function reads itself. `parts` is true if
    one file can hold several tables.
    """

    name: str
    suffixes: tuple[str, ...]
    start: bytes
    opener: str
    unpacks: tuple[str, ...] = ()
    parts: bool = False

    def open(self, files: Files) -> Source:
        """Open files of this format."""
        module, name = self.opener.split(":")
        function: Callable[[Files], Source] = getattr(
            import_module(f"genus.table.read.{module}"), name
        )
        return function(files)


BY_DUCKDB = (".gz", ".zst")
FORMATS = (
    Format("csv", (".csv", ".tsv", ".tab", ".txt"), b"", "files:csv_files", BY_DUCKDB),
    Format("json", (".json", ".jsonl", ".ndjson"), b"", "files:json_files", BY_DUCKDB),
    Format("parquet", (".parquet", ".pq"), b"PAR1", "files:parquet_files"),
    Format("arrow", (".arrow", ".feather", ".ipc"), b"ARROW1", "files:arrow_files"),
    Format("arrow stream", (".arrows",), b"\xff\xff\xff\xff", "files:arrow_streams"),
    Format("orc", (".orc",), b"ORC", "files:arrow_files"),
    Format("excel", (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods"), b"", "excel:workbooks", (), True),
    Format(
        "sqlite",
        (".sqlite", ".sqlite3", ".db", ".db3"),
        b"SQLite format 3",
        "databases:sqlite_files",
        (),
        True,
    ),
    Format("duckdb", (".duckdb", ".ddb"), b"", "databases:duckdb_files", (), True),
)
READERS = {suffix: one.name for one in FORMATS for suffix in one.suffixes}
CONVERT = "Convert it to CSV or Parquet"
# Formats that genus does not read: what they are, and what to do.
UNSUPPORTED = {
    (".sav", ".zsav", ".por"): ("an SPSS file", f"{CONVERT}, for example with pandas.read_spss."),
    (".dta",): ("a Stata file", f"{CONVERT}, for example with pandas.read_stata."),
    (".sas7bdat", ".xpt"): ("a SAS file", f"{CONVERT}, for example with pandas.read_sas."),
    (".rds", ".rda", ".rdata"): ("an R data file", f"{CONVERT}, for example with R's write.csv."),
    (".pkl", ".pickle"): ("a pickle", f"Reading it could run code. {CONVERT} where it was made."),
    (".h5", ".hdf5", ".hdf"): ("an HDF5 file", f"{CONVERT}, for example with pandas.read_hdf."),
    (".npy", ".npz", ".mat"): ("a file of arrays", "Load it in Python, and give the array."),
    (".avro",): ("an Avro file", f"{CONVERT}."),
    (".xml", ".html", ".htm"): (
        "a web page or XML",
        f"{CONVERT}, for example with pandas.read_html.",
    ),
    (".pdf",): ("a PDF", f"{CONVERT}."),
    (".doc", ".docx", ".odt"): ("a document", f"{CONVERT}."),
    (".ppt", ".pptx", ".odp"): ("a presentation", f"{CONVERT}."),
    (".epub",): ("an e-book", f"{CONVERT}."),
    (".mdb", ".accdb"): ("an Access database", f"{CONVERT}."),
    (".tar", ".tgz", ".7z", ".rar"): ("an archive", "Unpack it, and give the folder."),
    (".lz4", ".br", ".z", ".lzma"): ("compressed in an unknown way", "Unpack it first."),
    (".numbers",): ("a Numbers file", "Export it as CSV or as Excel."),
}
FOREIGN = {suffix: told for suffixes, told in UNSUPPORTED.items() for suffix in suffixes}
FOREIGN_STARTS = {
    b"%PDF": ".pdf",
    b"\x89HDF": ".h5",
    b"7z\xbc\xaf": ".7z",
    b"Rar!": ".rar",
    b"\x93NUMPY": ".npy",
    b"Obj\x01": ".avro",
    b"\x80\x04\x95": ".pkl",
    b"\x80\x05\x95": ".pkl",
    b"$FL2": ".sav",
}
# What tells apart the documents that are ZIP archives: a member, or the content of "mimetype".
OFFICE_PARTS = {
    "xl/workbook.xml": ".xlsx",
    "xl/workbook.bin": ".xlsb",
    "word/document.xml": ".docx",
    "ppt/presentation.xml": ".pptx",
}
MIME_TYPES = {
    b"application/vnd.oasis.opendocument.spreadsheet": ".ods",
    b"application/vnd.oasis.opendocument.text": ".odt",
    b"application/vnd.oasis.opendocument.presentation": ".odp",
    b"application/epub+zip": ".epub",
}


def format_named(name: str) -> Format:
    """Return the format with this name."""
    return next(one for one in FORMATS if one.name == name)


def suffix_of(path: str) -> str:
    """Return the suffix of a file name, without the suffix of a compression."""
    return os.path.splitext(re.sub(COMPRESSED, "", path.lower()))[1]


def suffixless(name: str) -> str:
    """Return a file name without its suffixes.

    >>> suffixless("log.CSV.gz"), suffixless("log")
    ('log', 'log')
    """
    return os.path.splitext(re.sub(COMPRESSED, "", name))[0]


def start_of(path: str) -> bytes:
    """Return the first bytes of a file."""
    try:
        with open(path, "rb") as file:
            return file.read(START)
    except OSError as error:
        raise TableError(f"Cannot read {path}: {error.strerror}.") from None


def kind_of(path: str, name: str = "") -> str:
    """Return the name of a file's format, found by its first bytes or its suffix; CSV if unknown.

    Raises TableError for a format that genus does not read; the message uses `name`, if given.
    """
    start = start_of(path)
    for one in FORMATS:
        if one.start and start.startswith(one.start):
            return one.name
    if start[8:12] == b"DUCK":
        return "duckdb"
    document = document_suffix(path, start)
    if start.startswith(b"\xd0\xcf\x11\xe0") or document in READERS:
        return "excel"
    suffix = document or suffix_of(path)
    marked = next((s for mark, s in FOREIGN_STARTS.items() if start.startswith(mark)), suffix)
    if marked in FOREIGN:
        told, todo = FOREIGN[marked]
        raise TableError(f"{name or path} is {told}, which genus does not read. {todo}")
    kind = READERS.get(suffix)
    # A text file with the suffix of a binary format is damaged or has the wrong suffix.
    if kind is not None and (kind in ("csv", "json", "orc") or not start):
        return kind
    if kind is not None:
        raise TableError(
            f"{name or path} has the suffix {suffix} of the format {kind}, but begins with "
            f"{start[:8]!r}. "
            "It may be damaged; copy it again, or correct its suffix."
        )
    return "json" if start.lstrip()[:1] in (b"{", b"[") else "csv"


def document_suffix(path: str, start: bytes) -> str:
    """Return the suffix of a workbook or document that is a ZIP archive; "" for other files."""
    if not start.startswith(b"PK\x03\x04") or not zipfile.is_zipfile(path):
        return ""
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
            kind = archive.open("mimetype").read(100) if "mimetype" in names else b""
    except (EOFError, zipfile.BadZipFile, zlib.error, RuntimeError):
        return ""  # the error is reported when the archive is unpacked
    found = [suffix for part, suffix in OFFICE_PARTS.items() if part in names]
    found += [suffix for mark, suffix in MIME_TYPES.items() if kind.startswith(mark)]
    return found[0] if found else ""
