"""Every format and place of a table gives the same rows, and what is not read is named."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import json
import lzma
import os
import re
import signal
import sqlite3
import subprocess
import sys
import threading
import zipfile
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.orc
import pyarrow.parquet
import pytest
from click.testing import CliRunner

from genus import TableClassifier, TableError
from genus.cli import cli
from genus.table import open_table
from genus.table.read.formats import FOREIGN, FORMATS
from genus.table.read.lines import ends_in, lines_in

pytest_plugins = ("servers",)

ROWS = 60
OPEN_DOCUMENT = "application/vnd.oasis.opendocument"
TABLE = pa.table(
    {
        "age": pa.array([20 + i % 37 if i % 11 else None for i in range(ROWS)], pa.int64()),
        "pay": [round(1.5 * i, 2) + 0.25 for i in range(ROWS)],
        "plan": ["basic" if i % 3 else 'it\'s, "odd"' for i in range(ROWS)],
        "left": ["yes" if (i % 37) > 15 else "no" for i in range(ROWS)],
    }
)


def as_csv() -> bytes:
    out = pa.BufferOutputStream()
    pa.csv.write_csv(TABLE, out)
    return out.getvalue().to_pybytes()


def archive(members: dict[str, str | bytes]) -> bytes:
    """A ZIP archive."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as made:
        for name, content in members.items():
            made.writestr(name, content)
    return out.getvalue()


def sheet(table: pa.Table) -> str:
    """The XML of a sheet: numbers, and texts written where they stand."""

    def cell(value, place: str) -> str:
        if value is None:
            return ""
        if isinstance(value, str):
            plain = value.replace("&", "&amp;").replace("<", "&lt;")
            return f'<c r="{place}" t="inlineStr"><is><t>{plain}</t></is></c>'
        return f'<c r="{place}"><v>{value}</v></c>'

    def row(i: int, line) -> str:
        cells = "".join(cell(value, f"{'ABCDEFGH'[j]}{i}") for j, value in enumerate(line))
        return f'<row r="{i}">{cells}</row>'

    lines = [table.column_names, *zip(*(c.to_pylist() for c in table.columns), strict=True)]
    rows = "".join(row(i, line) for i, line in enumerate(lines, 1))
    space = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    return f'<worksheet xmlns="{space}"><sheetData>{rows}</sheetData></worksheet>'


def workbook(*tables: pa.Table) -> bytes:
    """A workbook as Excel writes it, with as little as a reader needs."""
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    package = "http://schemas.openxmlformats.org/package/2006"
    numbers = range(1, len(tables) + 1)
    sheets = "".join(f'<sheet name="Sheet{i}" sheetId="{i}" r:id="r{i}"/>' for i in numbers)
    links = "".join(
        f'<Relationship Id="r{i}" Type="{office}/worksheet" Target="worksheets/sheet{i}.xml"/>'
        for i in numbers
    )
    kind = "application/vnd.openxmlformats-officedocument.spreadsheetml"
    parts = "".join(
        f'<Override PartName="/xl/worksheets/sheet{i}.xml" ContentType="{kind}.worksheet+xml"/>'
        for i in numbers
    )
    return archive(
        {
            "[Content_Types].xml": f'<Types xmlns="{package}/content-types">'
            f'<Override PartName="/xl/workbook.xml" ContentType="{kind}.sheet.main+xml"/>{parts}'
            "</Types>",
            "_rels/.rels": f'<Relationships xmlns="{package}/relationships"><Relationship Id="w" '
            f'Type="{office}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
            "xl/workbook.xml": f'<workbook xmlns="{main}" xmlns:r="{office}"><sheets>{sheets}'
            "</sheets></workbook>",
            "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{package}/relationships">{links}'
            "</Relationships>",
            **{
                f"xl/worksheets/sheet{i}.xml": sheet(t)
                for i, t in zip(numbers, tables, strict=True)
            },
        }
    )


def zstd(content: bytes) -> bytes:
    out = pa.BufferOutputStream()
    with pa.CompressedOutputStream(out, "zstd") as packed:
        packed.write(content)
    return out.getvalue().to_pybytes()


def stream() -> bytes:
    out = pa.BufferOutputStream()
    with pa.ipc.new_stream(out, TABLE.schema) as writer:
        writer.write_table(TABLE)
    return out.getvalue().to_pybytes()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The same table in every format."""
    at = tmp_path_factory.mktemp("formats")
    content = as_csv()
    packed = {
        "t.csv": content,
        "t.csv.gz": gzip.compress(content),
        "t.csv.gzip": gzip.compress(content),
        "t.csv.bz2": bz2.compress(content),
        "t.csv.xz": lzma.compress(content),
        "t.csv.zst": zstd(content),
        "gzip with no suffix": gzip.compress(content),
        "really gzip.csv": gzip.compress(content),
        "t.zip": archive({"t.csv": content, "__MACOSX/t.csv": b"x", "readme.md": b"hello"}),
        "two.zip": archive({"a.csv": b"x\n1\n", "in/t.csv": content}),
        "t.xlsx": workbook(TABLE),
        "two.xlsx": workbook(pa.table({"x": [1, 2]}), TABLE),
        "t.arrows": stream(),
        "number #1.csv": content,
    }
    for name, one in packed.items():
        (at / name).write_bytes(one)
    pa.feather.write_feather(TABLE, at / "t.feather")
    (at / "arrow with no suffix").write_bytes((at / "t.feather").read_bytes())
    pa.orc.write_table(TABLE, at / "t.orc")
    pa.parquet.write_table(TABLE, at / "t.parquet")
    (at / "t.parquet.bz2").write_bytes(bz2.compress((at / "t.parquet").read_bytes()))
    lines = TABLE.to_pylist()
    with sqlite3.connect(at / "t.sqlite") as database:
        database.execute('CREATE TABLE t (age, pay REAL, plan TEXT, "left" TEXT)')
        database.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", [[*r.values()] for r in lines])
        database.execute("CREATE VIEW short AS SELECT * FROM t LIMIT 5")
    database.close()
    with duckdb.connect(str(at / "t.duckdb")) as database:
        database.register("given", TABLE)
        database.execute("CREATE TABLE t AS SELECT * FROM given")
    return at


SAME = [
    "t.csv",
    "t.csv.gz",
    "t.csv.gzip",
    "t.csv.bz2",
    "t.csv.xz",
    "t.csv.zst",
    "gzip with no suffix",
    "really gzip.csv",
    "t.zip",
    "two.zip#in/t.csv",
    "t.xlsx",
    "two.xlsx#Sheet2",
    "t.arrows",
    "t.feather",
    "arrow with no suffix",
    "t.orc",
    "t.parquet",
    "t.parquet.bz2",
    "t.sqlite#t",
    't.sqlite#SELECT age, pay, plan, "left" FROM t',
    "t.duckdb",
    "number #1.csv",
]


@pytest.mark.parametrize("name", SAME)
def test_the_same_rows_from_every_format(folder, name):
    found = open_table(str(folder / name)).table()
    assert found.to_pydict() == TABLE.to_pydict()


def test_every_format_is_tried(folder):
    tried = {Path(name.partition("#")[0]).suffix for name in SAME}
    assert all(set(one.suffixes) & (tried | {".json"}) for one in FORMATS)


def test_several_formats_are_one_table(folder):
    found = open_table([str(folder / name) for name in ("t.csv.xz", "t.sqlite#t")])
    assert found.table().num_rows == 2 * ROWS


def test_a_file_is_unpacked_once_and_again_when_it_changes(tmp_path):
    path = tmp_path / "t.csv.bz2"
    path.write_bytes(bz2.compress(b"a\n1\n"))
    first, again = (open_table(str(path)).partitions[0].name for _ in range(2))
    assert first == again
    assert str(path) in first
    path.write_bytes(bz2.compress(b"a\n1\n2\n3\n4\n5\n6\n"))
    assert open_table(str(path)).table().num_rows == 6


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("two.zip", "Name one, such as"),
        ("two.zip#c.csv", "has no file 'c.csv'"),
        ("t.sqlite", "holds the tables 't', 'short'"),
        ("t.sqlite#nothing", "no table 'nothing'. It has 't', 'short'"),
        ("t.sqlite#SELECT * FROM nowhere", "no such table: nowhere"),
        ("t.sqlite#SELECT 1 AS a; DROP TABLE t", "Cannot read"),
        ("t.duckdb#nothing", "no table 'nothing'"),
        ("two.xlsx#Sheet3", "has 'Sheet1', 'Sheet2'"),
        ("t.csv#1", "a csv file holds one table"),
        ("cut.csv.xz", "Cannot unpack"),
        ("cut.csv.bz2", "Cannot unpack"),
        ("cut.zip", "Cannot unpack"),
        ("cut.csv.gz", "Cannot unpack"),
        ("cut.csv.zst", "Cannot unpack"),
        ("changed.csv.gz", "Cannot unpack"),
        ("cut.xlsx", "Cannot unpack"),
        ("text.parquet", "has the suffix .parquet of the format parquet, but begins with"),
        ("text.sqlite", "has the suffix .sqlite of the format sqlite, but begins with"),
        ("t.tar.gz", "is an archive, which genus does not read. Unpack it"),
        ("pdf.csv", "is a PDF"),
        ("https://example.org/t.csv", "Download it"),
    ],
)
def test_what_cannot_be_read_is_named(folder, name, words):
    changed = bytearray((folder / "t.csv.gz").read_bytes())
    changed[-8] ^= 1  # in the checksum
    (folder / "changed.csv.gz").write_bytes(changed)
    for suffix in (".csv.xz", ".csv.bz2", ".csv.gz", ".csv.zst", ".zip", ".xlsx"):
        whole = (folder / f"t{suffix}").read_bytes()
        (folder / f"cut{suffix}").write_bytes(whole[: len(whole) // 2])
    (folder / "text.parquet").write_text("a,b\n1,2\n")
    (folder / "text.sqlite").write_text("a,b\n1,2\n")
    (folder / "t.tar.gz").write_bytes(gzip.compress(b"x" * 600))
    (folder / "pdf.csv").write_bytes(b"%PDF-1.7 and so on\n")
    given = name if "://" in name else str(folder / name)
    with pytest.raises(TableError) as told:
        open_table(given).table()
    assert words in str(told.value)


@pytest.mark.parametrize(
    ("name", "members", "words"),
    [
        ("t.docx", {"[Content_Types].xml": "", "word/document.xml": ""}, "is a document"),
        ("t.xlsx", {"[Content_Types].xml": "", "word/document.xml": ""}, "is a document"),
        ("t.pptx", {"[Content_Types].xml": "", "ppt/presentation.xml": ""}, "is a presentation"),
        ("t.odt", {"mimetype": f"{OPEN_DOCUMENT}.text", "content.xml": ""}, "is a document"),
        ("t.epub", {"mimetype": "application/epub+zip", "a.csv": "x\n1\n"}, "is an e-book"),
    ],
)
def test_documents_in_archives_are_no_workbooks(tmp_path, name, members, words):
    (tmp_path / name).write_bytes(archive(members))
    with pytest.raises(TableError, match=rf"{name} {words}, which genus does not read\. Convert"):
        open_table(str(tmp_path / name))


def test_an_opendocument_workbook_is_read(tmp_path):
    lines = [["a", "b"], ["1", "u"], ["2", "v"]]
    cell = '<table:table-cell office:value-type="string"><text:p>{}</text:p></table:table-cell>'
    rows = "".join(
        f"<table:table-row>{''.join(map(cell.format, line))}</table:table-row>" for line in lines
    )
    names = "urn:oasis:names:tc:opendocument:xmlns"
    spaces = " ".join(f'xmlns:{one}="{names}:{one}:1.0"' for one in ("office", "table", "text"))
    content = (
        f"<office:document-content {spaces}><office:body><office:spreadsheet>"
        f'<table:table table:name="t">{rows}</table:table>'
        "</office:spreadsheet></office:body></office:document-content>"
    )
    manifest = f'<manifest:manifest xmlns:manifest="{names}:manifest:1.0"/>'
    members = {
        "mimetype": f"{OPEN_DOCUMENT}.spreadsheet",
        "content.xml": content,
        "META-INF/manifest.xml": manifest,
    }
    (tmp_path / "t.ods").write_bytes(archive(members))
    found = open_table(str(tmp_path / "t.ods")).table()
    assert found.to_pydict() == {"a": ["1", "2"], "b": ["u", "v"]}


@pytest.mark.parametrize("suffix", sorted(FOREIGN))
def test_formats_that_are_not_supported_say_what_to_do(tmp_path, suffix):
    path = tmp_path / f"t{suffix}"
    path.write_bytes(b"\x01\x02 something")
    with pytest.raises(TableError, match=r"which genus does not read\. \w+"):
        open_table(str(path))


def test_of_several_sheets_the_first_is_read_and_others_are_named(folder):
    with pytest.warns(UserWarning, match=r"has 2 sheets; genus reads 'Sheet1'.*two\.xlsx#Sheet2"):
        assert open_table(str(folder / "two.xlsx")).table().to_pydict() == {"x": [1, 2]}


def test_cells_of_several_kinds_are_texts():
    from genus.table.read.excel import column

    assert column([1.0, "a", "", True]).to_pylist() == ["1", "a", None, "True"]
    assert column([1.5, 2.0]).to_pylist() == [1.5, 2.0]


def test_columns_of_sqlite_are_what_their_values_are(tmp_path):
    with sqlite3.connect(tmp_path / "t.db") as database:
        database.execute("CREATE TABLE t (a, b, c, d)")
        rows = [(1, 1, "x", None), (2.5, None, 7, None)]
        database.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", rows)
    database.close()
    found = open_table(str(tmp_path / "t.db")).table()
    assert found.to_pydict() == {"a": [1.0, 2.5], "b": [1, None], "c": ["x", "7"], "d": [None] * 2}


def test_tables_and_queries_of_postgresql(database):
    import psycopg

    kinds = 'age bigint, pay numeric, plan text, "left" varchar, day date, at timestamptz, ok bool'
    with psycopg.connect(database) as server:
        server.execute(f'CREATE TABLE "Odd name" ({kinds})')
        with server.cursor() as cursor:
            cursor.executemany(
                "INSERT INTO \"Odd name\" VALUES (%s, %s, %s, %s, '2024-02-03', now(), true)",
                [[*row.values()] for row in TABLE.to_pylist()],
            )
    found = open_table(f"{database}#Odd name").table()
    assert found.select(TABLE.column_names).to_pydict() == TABLE.to_pydict()
    assert [str(found.schema.field(n).type) for n in ("day", "ok")] == ["date32[day]", "bool"]
    some = open_table(f'{database}#SELECT age, "left" FROM "Odd name" WHERE age > 30').table()
    assert some.num_rows == sum(age is not None and age > 30 for age in TABLE["age"].to_pylist())
    model = TableClassifier().fit(database, target="left")  # its only table
    assert model.class_count_.sum() == ROWS
    with psycopg.connect(database) as server:
        server.execute("CREATE TABLE more (a int)")
    with pytest.raises(TableError, match="holds the tables 'Odd name', 'more'"):
        open_table(database)
    with pytest.raises(TableError, match="has no table 'nothing'"):
        open_table(f"{database}#nothing")
    with pytest.raises(TableError, match="Cannot read"):
        open_table(f"{database}#WITH x AS (DELETE FROM more RETURNING *) SELECT * FROM x ").table()
    with pytest.raises(TableError, match=r"Cannot read postgresql://localhost:1/x#t: ") as told:
        open_table("postgresql://me:secret@localhost:1/x#t")
    assert "secret" not in str(told.value)


# The command line


def run(*given: object, stdin: bytes | None = None):
    return CliRunner().invoke(cli, [str(one) for one in given], input=stdin)


@pytest.fixture(scope="module")
def model(folder):
    done = run("fit", folder / "t.csv", "--target", "left", "-o", folder / "t.genus")
    assert done.exit_code == 0, done.output
    return folder / "t.genus"


UNPACK = {
    ".csv": bytes,
    ".csv.gz": gzip.decompress,
    ".csv.bz2": bz2.decompress,
    ".csv.xz": lzma.decompress,
    ".csv.zst": lambda content: pa.input_stream(
        pa.BufferReader(content), compression="zstd"
    ).read(),
}


@pytest.mark.parametrize("suffix", UNPACK)
def test_compressed_in_and_compressed_out_keep_every_byte(folder, model, suffix):
    out = folder / f"scored{suffix}"
    assert run("predict", model, folder / f"t{suffix}", "-o", out).exit_code == 0
    lines = UNPACK[suffix](out.read_bytes()).splitlines()
    given = as_csv().splitlines()
    assert len(lines) == len(given)
    assert all(line.startswith(own + b",") for line, own in zip(lines, given, strict=True))


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16", "cp1252"])
def test_cells_in_other_encodings_stay_as_they_are_written(tmp_path, encoding):
    rows = [f"{h % 12}:{h:02d},{h % 7}.50,{'früh' if h % 3 else 'spät'}" for h in range(40)]
    (tmp_path / "t.csv").write_text("\n".join(["at,x,when", *rows, ""]), encoding=encoding)
    given = (tmp_path / "t.csv", "--encoding", encoding)
    assert run("fit", *given, "--target", "when", "-o", tmp_path / "m").exit_code == 0
    told = run("predict", tmp_path / "m", *given)
    assert told.exit_code == 0, told.output
    lines = told.stdout.splitlines()[1:]
    assert all(line.startswith(row + ",") for line, row in zip(lines, rows, strict=True))


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.txt", "t.jsonl", "unnamed"])
@pytest.mark.parametrize("order", ["utf-16-le", "utf-16-be"])
def test_utf_16_is_found_by_its_byte_order_mark(tmp_path, name, order):
    rows = [{"mood": "😀☹"[h % 2], "x": h} for h in range(40)]
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    if "json" not in name:
        text = "mood\tx\r\n" + "".join(f"{row['mood']}\t{row['x']}\r\n" for row in rows)
    content = f"\ufeff{text}".encode(order)
    path = tmp_path / name
    path.write_bytes(gzip.compress(content) if name.endswith("gz") else content)
    for encoding in ("utf-8", "utf-16"):
        assert open_table(path, encoding).table().to_pylist() == rows
    with pytest.raises(TableError, match="is not ascii"):
        open_table(path, "ascii")


def test_encodings_of_a_file_have_their_own_partitions(tmp_path):
    """Counts that were kept for one encoding are not those of another."""
    path = tmp_path / "t.csv"
    path.write_bytes("word,y\nŁódź,u\r\nLüne,v\n".encode("cp1250"))
    encodings = ("cp1250", "cp1252")
    found = [open_table(path, encoding) for encoding in encodings]
    assert [source.table()["word"][0].as_py() for source in found] == ["Łódź", "£ódŸ"]
    names = [source.partitions[0].name for source in found]
    assert len(set(names)) == 2
    assert names == [open_table(path, encoding).partitions[0].name for encoding in encodings]


@pytest.mark.parametrize("short", [{0}, {20}, set(range(20, 41))], ids=["head", "one", "rest"])
@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("small", [False, True])
def test_uneven_line_ends(tmp_path, monkeypatch, short, packed, small):
    """Two files that were joined with cat, say; no byte of a line changes."""
    if not small:
        monkeypatch.setattr("genus.table.read.files.SMALL", 0)
    monkeypatch.setattr("genus.table.read.packing.CHUNK", 64)
    lines = ["x,note,y", *(f'{h % 7},"a\r\n{h % 3}","{"uv"[h % 2]}"' for h in range(40))]
    lines = [line + ("\n" if i in short else "\r\n") for i, line in enumerate(lines)]
    path = tmp_path / ("t.csv.gz" if packed else "t.csv")
    content = "".join(lines).encode()
    path.write_bytes(gzip.compress(content) if packed else content)
    assert open_table(path).table()["x"].to_pylist() == [h % 7 for h in range(40)]
    assert run("fit", path, "--target", "y", "-o", tmp_path / "m").exit_code == 0
    out = tmp_path / "o.csv"
    told = run("predict", tmp_path / "m", path, "-o", out)
    assert told.exit_code == 0, told.output
    added = rb",(prediction,p\(u\),p\(v\)|[uv],[^,]*,[^,]*?)(?=\r?\n)"
    assert re.sub(added, b"", out.read_bytes()) == content


@pytest.mark.parametrize("mark", [",", ";"])
@pytest.mark.parametrize("more", ["", "\r"])
@pytest.mark.parametrize("packed", [False, True])
def test_spaces_after_delimiters_are_no_part_of_values(tmp_path, monkeypatch, mark, more, packed):
    monkeypatch.setattr("genus.table.read.packing.CHUNK", 10)
    rows = [f'{h}.5, {"ab"[h % 2]}, "{h % 3}, z", {"uv"[h % 2]}' for h in range(9)] + [", , x, u"]
    text = "".join(f"{row}{more}\n" for row in ["n, k, text, y", *rows]).replace(",", mark)
    path = tmp_path / ("t.csv.gz" if packed else "t.csv")
    path.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
    for given in (str(path), f"SELECT * FROM '{path}'"):
        table = open_table(given).table()
        assert table["n"].to_pylist() == [*(h + 0.5 for h in range(9)), None]
        assert table["k"].to_pylist() == [*"ababababa", None]
        assert table["text"].to_pylist() == [*(f"{h % 3}{mark} z" for h in range(9)), "x"]
    (tmp_path / "some.csv").write_text(text.replace(f"a{mark} ", f"a{mark}"))
    assert open_table(tmp_path / "some.csv").table()["k"][0].as_py() == " a"
    assert run("fit", path, "--target", "y", "-o", tmp_path / "m").exit_code == 0
    told = run("predict", tmp_path / "m", path, "-o", tmp_path / "o.csv")
    assert told.exit_code == 0, told.output
    added = rf"{mark} (prediction|[uv](?={mark} [p0])).*?(?=\r?\n)"
    assert re.sub(added.encode(), b"", (tmp_path / "o.csv").read_bytes()) == text.encode()


def test_spaces_after_the_delimiters_of_some_files_are_warned_of(tmp_path):
    (tmp_path / "a.csv").write_text("x, y\n" + "1, p\n2, q\n" * 9)
    (tmp_path / "b.csv").write_text("x,y\n" + "1,p\n2,q\n" * 9)
    for names in ("ab", "ba"):
        with pytest.warns(UserWarning, match=r"a\.csv has a space after every ','"):
            open_table([tmp_path / f"{name}.csv" for name in names])


def test_how_to_read_names_below_the_first_row(tmp_path):
    """The advice works for CSV files without names above, and is not given for JSON lines."""
    path = tmp_path / "t.csv"
    rows = "".join(f"{h},{h % 2}.5,{h % 3}\n" for h in range(40))
    path.write_text(f"1,2,3\n4,5,6\nn,k,y\n{rows}")
    with pytest.raises(TableError) as told:
        raise TableError(open_table(path).title_above("y"))
    query = re.search(r'"(SELECT .*)"', str(told.value))[1]
    assert open_table(query.replace("FILE", str(path))).columns == ["n", "k", "y"]
    path = tmp_path / "t.jsonl"
    path.write_text('{"a": "n", "b": "y"}\n' + '{"a": "1", "b": "2"}\n' * 9)
    with pytest.raises(TableError, match="delete the rows above it"):
        open_table(path).require("y")


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_lines_do_not_depend_on_the_size_of_chunks(tmp_path, monkeypatch, size):
    monkeypatch.setattr("genus.table.read.lines.CHUNK", size)
    lines = [b'a,"b\nc"\r\n', b"\n", b'"x""\n""y",z\n', b"ab\n", b'"open\nfor\never\n']
    path = tmp_path / "t.csv"
    path.write_bytes(b"".join(lines))
    assert list(lines_in(str(path), '"')) == lines
    assert list(lines_in(str(path))) == b"".join(lines).splitlines(keepends=True)


def test_an_open_quote_takes_linear_time(tmp_path, monkeypatch):
    """Each byte is searched once, though the rest of the file is one line."""
    searched = []
    count = ends_in
    monkeypatch.setattr("genus.table.read.lines.CHUNK", 1 << 10)
    monkeypatch.setattr(
        "genus.table.read.lines.ends_in",
        lambda content, *how: searched.append(len(content)) or count(content, *how),
    )
    path = tmp_path / "t.csv"
    path.write_bytes(b'a,b\n"' + b"1,2\n" * 5000)
    assert len(list(lines_in(str(path), '"'))) == 2
    assert sum(searched) == path.stat().st_size


def test_a_line_of_names_below_a_title_is_noticed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = [f"{h};{'ab'[h % 2]};{'uv'[h % 2]}" for h in range(40)]
    lines = ["Account;;", "2024;;", "n;k;y", *lines]
    path, sheet = tmp_path / "t.csv", tmp_path / "t.xlsx"
    path.write_text("\n".join(lines))
    with pytest.raises(TableError, match=r"Row 2 contains 'y'") as told:
        open_table(path).require("y")
    query = re.search(r'"(SELECT .*)"', str(told.value))[1]
    assert open_table(query.replace("FILE", str(path))).columns == ["n", "k", "y"]
    columns = zip(*(line.split(";") for line in lines[1:]), strict=True)
    sheet.write_bytes(workbook(pa.table(dict(zip("abc", columns, strict=True)))))
    with pytest.raises(TableError, match=r"Row 2 .* delete the rows above it"):
        open_table(sheet).require("y")
    for source in map(open_table, (path, sheet)):
        with pytest.raises(TableError) as told:
            source.require("z")
        assert "Row" not in str(told.value)
    assert run("fit", query.replace("FILE", str(path)), "--target", "y").exit_code == 0
    told = run("predict", "model.genus", path)
    assert "missing; the model was fitted with it" in told.stderr
    assert "Row 2 contains 'k'. If it is the line of names, use the query" in told.stderr


def test_uneven_line_ends_of_a_long_file_are_named(tmp_path, monkeypatch):
    """A file that is not searched for them before it is read."""
    for size in ("SMALL", "SNIFFED"):
        monkeypatch.setattr(f"genus.table.read.files.{size}", 0)
    path = tmp_path / "t.csv"
    path.write_text("x,y\n" + "1,u\n" * 1_000_000 + "1,u\r\n", newline="")
    with pytest.raises(TableError, match="some of its lines end with CRLF and some with LF"):
        open_table(path).table()


def test_gzip_on_stdin(folder, model):
    told = run("predict", model, "-", stdin=gzip.compress(as_csv()))
    assert told.exit_code == 0
    assert len(told.stdout.splitlines()) == ROWS + 1


def test_a_pipe_is_read_once(folder, model):
    pipe = folder / "pipe"
    os.mkfifo(pipe)
    for given in (("predict", model, pipe), ("evaluate", pipe, "--target", "left")):
        writer = threading.Thread(target=pipe.write_bytes, args=(as_csv(),))
        writer.start()
        told = run(*given)
        writer.join(10)
        assert told.exit_code == 0, told.output


@pytest.mark.parametrize("suffix", [".parquet.gz", ".xlsx", ".sav", ""])
def test_what_cannot_be_written_is_refused_at_once(folder, model, suffix):
    told = run("predict", model, folder / "t.csv", "-o", folder / f"out{suffix}")
    assert told.exit_code == 1
    assert "out" in told.stderr


@pytest.mark.parametrize("suffix", [".parquet", ".feather", ".jsonl", ".tsv"])
def test_long_numbers_and_zeros_are_kept_in_every_format(folder, model, suffix):
    lines = as_csv().decode().splitlines()
    number = "1234567890123456789"
    given = [
        lines[0] + ",id,zip,whole",
        *(f"{line},{number}{i},0{i},{i}" for i, line in enumerate(lines[1:])),
    ]
    (folder / "long.csv").write_text("\n".join(given) + "\n")
    out = folder / f"long{suffix}"
    told = run("predict", model, folder / "long.csv", "-o", out)
    assert told.exit_code == 0, told.output
    if suffix == ".tsv":
        found = [line.split("\t") for line in out.read_text().splitlines()]
        cells = list(zip(*found, strict=True))
        own = {column[0]: list(column[1:]) for column in cells}
    else:
        own = (
            open_table(str(out)).table().to_pydict()
            if suffix != ".jsonl"
            else {
                name: [json.loads(line)[name] for line in out.read_text().splitlines()]
                for name in ("id", "zip", "whole")
            }
        )
    assert own["id"] == [f"{number}{i}" for i in range(ROWS)]
    assert own["zip"] == [f"0{i}" for i in range(ROWS)]
    assert [int(n) for n in own["whole"]] == list(range(ROWS))


@pytest.mark.parametrize(("columns", "once"), [(3000, True), (30, False)])
def test_files_of_long_lines_are_read_once(tmp_path, monkeypatch, columns, once):
    """Thousands of columns take DuckDB seconds each time that it opens a file."""
    monkeypatch.setattr("genus.table.read.files.SMALL", 0)
    rows = [",".join([f"{i + j}.25" for j in range(columns)]) for i in range(20)]
    path = tmp_path / "wide.csv"
    path.write_text("\n".join([",".join(f"x{j}" for j in range(columns)), *rows]) + "\n")
    source = open_table(str(path))
    assert source.table().num_rows == 20
    path.unlink()
    if once:
        assert source.table().num_columns == columns
    else:
        with pytest.raises(TableError, match="Cannot read"):
            source.table()


TIMES = [["0:58", "12:00"], ["7:05:30", "07:05:31"], ["00:58:00", "12:00:00"], ["07:05:30.5", ""]]


@pytest.mark.parametrize("times", TIMES)
def test_times_are_kept_in_json(folder, times):
    """A time in a CSV file is written as it was typed."""
    given = [f"{i},{times[i % 2]},{'ab'[i % 2]}" for i in range(20)]
    (folder / "times.csv").write_text("\n".join(["n,time,y", *given]) + "\n")
    for command in (("fit", "times.csv", "--target", "y"), ("predict", "times.genus", "times.csv")):
        out = "times.genus" if command[0] == "fit" else "times.jsonl"
        told = run(*(folder / c if "times." in c else c for c in command), "-o", folder / out)
        assert told.exit_code == 0, told.output
    found = [json.loads(line)["time"] for line in (folder / "times.jsonl").read_text().splitlines()]
    assert found == [times[i % 2] or None for i in range(20)]


MOMENTS = '"t": "2024-05-{:02d}T03:26:00+02:00", "m":"2024-05-07T03:26", "start": "7:05"'


@pytest.mark.parametrize("packed", [False, True])
def test_lines_of_json_stay_as_they_are(folder, packed):
    """What comes in goes out, byte for byte; only members are added."""
    lines = [
        f'{{"n": {i % 9}.50,{MOMENTS.format(i + 1)}, "y":"{"uv"[i % 2]}" }}' for i in range(28)
    ]
    (folder / "plain.jsonl").write_text("\n".join(lines))
    lines += ['{"n":1e400, "more": {"a": [0.10]}}', "{}\t", ' {"n":1 }']
    content = "\r\n\n".join([*lines, "null"]).encode()
    given = folder / ("odd.jsonl.gz" if packed else "odd.jsonl")
    given.write_bytes(gzip.compress(content) if packed else content)
    model, out = folder / "odd.genus", folder / "o.jsonl"
    assert run("fit", folder / "plain.jsonl", "--target", "y", "-o", model).exit_code == 0
    told = run("predict", model, given, "-o", out)
    assert told.exit_code == 0, told.output
    found = out.read_bytes()
    assert all(json.loads(line)["prediction"] in ("u", "v") for line in found.splitlines())
    kept = re.sub(rb'(, )?"prediction".*?(?=}\s)', b"", found).decode()
    assert kept == "\r\n".join([*lines, "{}\n"])


@pytest.mark.parametrize("name", ["odd.jsonl", "odd.json", "odd.csv"])
def test_moments_stay_as_they_are_written(folder, name):
    rows = [json.loads(f'{{{MOMENTS.format(i + 1)}, "y": "{"uv"[i % 2]}"}}') for i in range(28)]
    text = json.dumps(rows)
    if name == "odd.jsonl":
        text = "\n".join(map(json.dumps, rows))
    if name == "odd.csv":
        text = "\n".join(map(",".join, [rows[0], *(row.values() for row in rows)]))
    (folder / name).write_text(text)
    model = folder / "odd.genus"
    assert run("fit", folder / name, "--target", "y", "-o", model).exit_code == 0
    found = {}
    for suffix in (".jsonl", ".csv", ".tsv", ".parquet"):
        told = run("predict", model, folder / name, "-o", folder / f"o{suffix}")
        assert told.exit_code == 0, told.output
        text = (folder / f"o{suffix}").read_text("latin-1")
        if suffix == ".parquet":
            found[suffix] = pyarrow.parquet.read_table(folder / "o.parquet").to_pylist()
            assert found[suffix][0]["t"].day == 1
            continue
        found[suffix] = (
            [json.loads(line) for line in text.splitlines()]
            if suffix == ".jsonl"
            else [*csv.DictReader(text.splitlines(), delimiter="\t" if suffix == ".tsv" else ",")]
        )
        assert [{column: row[column] for column in rows[0]} for row in found[suffix]] == rows
    p = {suffix: [float(row["p(u)"]) for row in own] for suffix, own in found.items()}
    assert all(own == p[".parquet"] for own in p.values())


@pytest.mark.parametrize("last", ["12345678901234567891", "98765432109876543210"])
def test_long_numbers_of_json_are_kept(folder, model, last):
    rows = [{**row, "id": 0} for row in TABLE.to_pylist()]
    lines = [json.dumps(row) for row in rows]
    lines[-1] = lines[-1].replace('"id": 0', f'"id": {last}')
    (folder / "long.jsonl").write_text("\n".join(lines) + "\n")
    told = run("predict", model, folder / "long.jsonl", "-o", folder / "kept.jsonl")
    assert told.exit_code == 0, told.output
    found = [json.loads(line) for line in (folder / "kept.jsonl").read_text().splitlines()]
    assert str(found[-1]["id"]) == last
    assert {name: found[1][name] for name in TABLE.column_names} == TABLE.to_pylist()[1]


def test_feather_out(folder, model):
    out = folder / "scored.feather"
    assert run("predict", model, folder / "t.csv", "-o", out).exit_code == 0
    found = pa.feather.read_table(out)
    assert found.select(TABLE.column_names).to_pydict() == TABLE.to_pydict()


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_full_disk_is_an_error_with_and_without_buffers(folder, model, unbuffered):
    """A limit on the size of files ends a write in the middle, as a full disk does."""
    resource = pytest.importorskip("resource")
    env = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    limit = len(as_csv()) + 100

    def limited():
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    command = [sys.executable, "-m", "genus.cli", "predict", model, folder / "t.csv"]
    with open(folder / "full.csv", "wb") as out:
        told = subprocess.run(
            command, stdout=out, stderr=subprocess.PIPE, env=env, preexec_fn=limited
        )
    assert told.returncode == 1
    assert b"Free some space" in told.stderr
    assert told.stderr.count(b"\n") == 1


def test_a_usage_error_that_nobody_reads_exits_2():
    there, here = os.pipe()
    os.close(there)
    command = [sys.executable, "-m", "genus.cli", "predict"]
    assert subprocess.run(command, stdout=here, stderr=here).returncode == 2
    os.close(here)


def test_an_interruption_while_modules_load_has_no_traceback():
    code = (
        "import signal, os, sys; from genus.cli import main\n"
        "class Finder:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'click': os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.meta_path.insert(0, Finder()); main()"
    )
    told = subprocess.run([sys.executable, "-c", code, "--help"], capture_output=True)
    assert (told.returncode, told.stderr) == (130, b"")


def test_too_little_memory_is_no_bug():
    from genus.cli.errors import sentence

    for error in (MemoryError(), RuntimeError("Out of Memory Error: failed to allocate")):
        assert "not enough memory" in sentence(error)
    assert "a bug in genus" in sentence(RuntimeError("something else"))


def test_signals_are_as_they_were():
    """Only the program takes Ctrl-C; importing it does not."""
    before = signal.default_int_handler, signal.SIG_IGN  # ignored in the background of a shell
    assert signal.getsignal(signal.SIGINT) in before


def test_rows_may_begin_with_any_mark(tmp_path: Path) -> None:
    """DuckDB takes # for a comment if the rest of a column is numbers."""
    path = tmp_path / "t.csv"
    for mark in ("#N/A", "#12", "//", "--", "%", ";x"):
        path.write_text(f"c,x,y\n1.5,2,u\n{mark},2,v\n3.5,4,u\n")
        assert open_table(path).table()["c"].to_pylist() == ["1.5", mark, "3.5"]
    rows = [f"{i / 4},{i % 7},{'uv'[i % 3 == 0]}" for i in range(300)]
    rows[250] = "#DIV/0!,1,u"
    path.write_text("\n".join(["c,x,y", *rows]))
    model = TableClassifier().fit(path, target="y")
    assert model.class_count_.sum() == 300
    assert model.plan_.used[0].kind == "number"
    assert "'#DIV/0!' read as missing" in model.plan_.used[0].note
    assert len(model.predict(path)) == 300


def test_files_with_other_types_of_a_column_are_read_together(tmp_path: Path) -> None:
    """Dates and numbers in one file are text in another, and large strings are strings."""
    rows = {
        "day": pa.array([f"2024-03-{i:02d}" for i in range(1, 29)]).cast(pa.date32()),
        "pay": pa.array([i / 4 for i in range(28)]),
        "plan": pa.array(["plus", "basic"] * 14, pa.large_string()),
        "y": pa.array(["u", "v"] * 14),
    }
    table = pa.table(rows)
    pa.csv.write_csv(table, tmp_path / "a.csv")
    pa.parquet.write_table(table, tmp_path / "b.parquet")
    lines = "\n".join(json.dumps(row | {"day": str(row["day"])}) for row in table.to_pylist())
    (tmp_path / "c.jsonl").write_text(lines)
    paths = [str(tmp_path / name) for name in ("a.csv", "b.parquet", "c.jsonl")]
    one = TableClassifier(calibrate=False).fit(paths[0], target="y")
    for parts in (paths, paths[::-1], paths[1:], [paths[2], paths[0]]):
        model = TableClassifier(calibrate=False).fit(parts, target="y")
        assert model.class_count_.sum() == 28 * len(parts)
        assert [(c.name, c.kind, c.unit) for c in model.plan_.used] == [
            (c.name, c.kind, c.unit) for c in one.plan_.used
        ]
        assert (model.predict(paths[1]) == model.predict(paths[0])).all()


@pytest.mark.parametrize("kind", ["Categorical", "Enum"])
def test_categories_of_polars(tmp_path: Path, kind: str) -> None:
    pl = pytest.importorskip("polars")
    names = ["ant", "bee", "cow"]
    type = pl.Categorical if kind == "Categorical" else pl.Enum(names)
    x = [float(i % 7) for i in range(60)]
    frame = pl.DataFrame({"c": pl.Series(names * 20, dtype=type), "x": x})
    path = tmp_path / "t.arrow"
    frame.write_ipc(path)
    y = ["u" if i % 3 else "v" for i in range(60)]
    model = TableClassifier().fit({"c": names * 20, "x": x}, y)
    for given in (frame, path, frame.lazy()):
        assert (model.predict_proba(given) == model.predict_proba({"c": names * 20, "x": x})).all()
        assert (TableClassifier().fit(given, y).predict(given) == y).all()
        assert TableClassifier().fit(given, target="c").classes_.tolist() == names


def test_intervals_and_periods_of_pandas() -> None:
    pd = pytest.importorskip("pandas")
    x = [i % 50 for i in range(200)]
    y = ["u" if one > 20 else "v" for one in x]
    cut = pd.DataFrame({"x": pd.cut(x, [-1, 20, 40, 60]), "z": range(200)})
    plain = pd.DataFrame({"x": pd.Series(cut["x"]).astype(str), "z": range(200)})
    for given in (cut, cut.assign(x=pd.arrays.IntervalArray(cut["x"]))):
        model = TableClassifier(ignore=["z"]).fit(given, y)
        assert (model.predict(given) == y).all()
        assert (model.predict_proba(given) == model.predict_proba(plain)).all()
    months = pd.DataFrame({"at": pd.period_range("2010-01", periods=200, freq="M")})
    y = ["u" if i > 90 else "v" for i in range(200)]
    model = TableClassifier().fit(months, y)
    assert model.plan_.used[0].is_date
    assert (model.predict(months.assign(at=months["at"].dt.to_timestamp())) == y).mean() > 0.99


def test_truths_may_be_zero_and_one() -> None:
    y = ["u", "v", "v"] * 20
    model = TableClassifier().fit({"v": [one == "u" for one in y], "x": [1, 2] * 30}, y)
    p = model.predict_proba({"v": [True, False, None], "x": [1, 1, 1]})
    for same in ([1, 0, None], [1.0, 0.0, None], ["TRUE", "false", None]):
        assert (model.predict_proba({"v": same, "x": [1, 1, 1]}) == p).all()
    other = model.predict_proba({"v": [2, 1, 0], "x": [1, 1, 1]})
    assert (other[1:] == p[:2]).all()  # although 2 is no truth value
