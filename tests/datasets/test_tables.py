"""Tables as people keep them: what was understood, encoded, filled in, and named."""

import bz2
import gzip
import importlib.util
import io
import lzma
import zipfile
from dataclasses import replace
from datetime import date

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from planted.datasets import DataError, open_table, read_inputs
from planted.rows import Encoding, file_rows, is_frame

ROWS = np.array([[1.5, 2.0, 3.0], [-4.25, 5.0, 6.5], [7.0, 8.5, -9.0], [0.5, 1e-3, 2.0]])
PLAIN = "u,v,y\n" + "\n".join(",".join(repr(x) for x in row) for row in ROWS.tolist()) + "\n"


def zstd(content):
    return pa.Codec("zstd").compress(content).to_pybytes()


def zipped(content):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("data.csv", content)
    return buffer.getvalue()


def written(write, *arguments, **options):
    buffer = io.BytesIO()
    write(buffer, *arguments, **options)
    return buffer.getvalue()


FRAME = pl.DataFrame(ROWS, schema=["u", "v", "y"], orient="row")
COMMAS = PLAIN.replace(",", ";").replace(".", ",")
FILES = {
    "data.csv": PLAIN,
    "DATA.CSV": PLAIN,
    "data.tsv": PLAIN.replace(",", "\t"),
    "data.txt": PLAIN.replace(",", " "),
    "bars.csv": PLAIN.replace(",", "|"),
    "semicolons.csv": PLAIN.replace(",", ";"),
    "commas.csv": COMMAS,
    "windows.csv": COMMAS.replace("\n", "\r\n"),
    "quoted.csv": PLAIN.replace("u,v,y", '"u","v","y"').replace("1.5", '"1.5"'),
    "comments.csv": "# measured on Monday\n# by me\n" + PLAIN.replace("\n-4.25", "\n# a pause\n-4.25"),
    "mark.csv": "\ufeff" + PLAIN,
    "savetxt.csv": "# u,v,y\n" + PLAIN.split("\n", 1)[1],
    "data.csv.gz": gzip.compress(PLAIN.encode()),
    "data.csv.bz2": bz2.compress(PLAIN.encode()),
    "data.csv.xz": lzma.compress(PLAIN.encode()),
    "data.csv.zst": zstd(PLAIN.encode()),
    "data.csv.zip": zipped(PLAIN),
    "packed.csv": gzip.compress(PLAIN.encode()),
    "data.tsv.gz": gzip.compress(PLAIN.replace(",", "\t").encode()),
    "data.parquet": written(FRAME.write_parquet),
    "data.feather": written(FRAME.write_ipc),
    "data.arrow": written(FRAME.write_ipc_stream),
    "data.parquet.gz": gzip.compress(written(FRAME.write_parquet)),
}


@pytest.mark.parametrize("name", FILES)
def test_every_kind_of_file_gives_the_same_rows(name, tmp_path):
    content = FILES[name]
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    table = open_table(path, "y")
    np.testing.assert_array_equal(table.X, ROWS[:, :2])
    np.testing.assert_array_equal(table.y, ROWS[:, 2])
    assert table.names == ["u", "v"]
    assert "4 rows × 2 columns; target y" in table.words
    assert "\n" not in table.words
    # The same through a pipe, which has no name to tell by; a zip archive there is taken for Excel.
    if not name.endswith(".zip"):
        np.testing.assert_array_equal(open_table(io.BytesIO(path.read_bytes()), "y").X, ROWS[:, :2])


@pytest.mark.parametrize(
    "name", ["semicolons.csv", "commas.csv", "windows.csv", "comments.csv", "savetxt.csv", "mark.csv"]
)
def test_blocks_understand_what_memory_does(name, tmp_path):
    (tmp_path / name).write_text(FILES[name], newline="")
    rows = file_rows(tmp_path / name, chunk_rows=1)
    assert [chunk.load()[0].tolist() for chunk in rows.chunks] == [[row] for row in ROWS[:, :2].tolist()]
    assert rows.names == ("u", "v")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (COMMAS, "semicolons, decimal comma, header"),
        (PLAIN.replace(",", "\t"), "tabs, decimal point, header"),
        (PLAIN.split("\n", 1)[1], "commas, decimal point, no header"),
        ("# a\n" + PLAIN, "commas, decimal point, header, lines that begin with # left out"),
    ],
)
def test_what_was_understood_is_said(content, words):
    assert words in open_table(io.BytesIO(content.encode()), "y").words


def test_a_file_without_header_keeps_its_first_row_and_the_caller_may_say_so():
    content = PLAIN.split("\n", 1)[1].encode()
    table = open_table(io.BytesIO(content), "y")
    np.testing.assert_array_equal(table.X, ROWS[:, :2])
    assert table.names == ["x0", "x1"]
    years = b"2019,2020,2021\n1,2,3\n4,5,6\n"
    assert open_table(io.BytesIO(years), "2021", header=True).names == ["2019", "2020"]
    assert len(open_table(io.BytesIO(years), "y").X) == 3
    flowers = b"5.1,3.5,setosa\n4.9,3.0,setosa\n6.3,3.3,virginica\n6.0,3.1,virginica\n"
    table = open_table(io.BytesIO(flowers), "y", labels=True)
    assert table.y.tolist() == ["setosa", "setosa", "virginica", "virginica"]
    assert table.X.shape == (4, 2)


def test_latin_letters_of_another_encoding():
    table = open_table(io.BytesIO("Größe;y\n1,5;2\n2,5;3\n".encode("cp1252")), "y")
    assert table.names == ["Größe"]
    assert "Windows-1252" in table.words
    np.testing.assert_array_equal(table.X[:, 0], [1.5, 2.5])


@pytest.mark.parametrize("order", ["utf-16", "utf-16-be"])
def test_spreadsheets_that_write_utf_16_or_their_separator(order, tmp_path):
    mark = "" if order == "utf-16" else "\ufeff"
    path = tmp_path / "unicode.txt"
    path.write_bytes((mark + PLAIN.replace(",", "\t")).encode(order))
    for source in (path, io.BytesIO(path.read_bytes())):
        np.testing.assert_array_equal(open_table(source, "y").X, ROWS[:, :2])
    with pytest.raises(DataError, match=r"UTF-16, which is not read in blocks: save it as UTF-8$"):
        file_rows(path)
    said = open_table(io.BytesIO(b"sep=;\n" + PLAIN.replace(",", ";").encode()), "y")
    np.testing.assert_array_equal(said.X, ROWS[:, :2])
    assert said.words.startswith("standard input: semicolons, decimal point, header; 4 rows")
    with pytest.raises(DataError, match="begins like UTF-16 but is not"):
        open_table(io.BytesIO(b"\xff\xfe1,2\n3"), "y")


@pytest.mark.parametrize(
    ("cell", "remedy"),
    [
        ("12 %", "write plain numbers"),
        ('"1,234,567"', "write plain numbers"),
        ("2024-01-31", "make numbers of dates, such as days, or leave the column out with exclude="),
        ("Rome", "categorical=True makes columns of zeros and ones of it"),
    ],
)
def test_the_remedy_for_text_goes_by_what_it_is(cell, remedy):
    with pytest.raises(DataError, match=remedy):
        open_table(io.BytesIO(f"u,v,y\n1,{cell},3\n2,{cell},5\n".encode()), "y")


MIXED = b"city,size,y\nRome,1.0,1\nOslo,NA,2\nBern,3.0,3\nRome,5.0,4\nOslo,3.0,\nBern,,6\n,4.0,7\nRome,2.0,8\n"


def test_text_and_missing_values_are_refused_with_the_flag_that_helps():
    with pytest.raises(DataError, match="categorical=True") as caught:
        open_table(io.BytesIO(MIXED), "y")
    assert "--categorical" in caught.value.command
    assert "column 'city' holds text, 'Rome' in row 1" in caught.value.command
    with pytest.raises(DataError, match="missing='drop'") as caught:
        open_table(io.BytesIO(MIXED), "y", categorical=True)
    assert "--missing drop" in caught.value.command
    with pytest.raises(DataError, match="PlantedClassifier") as caught:
        open_table(io.BytesIO(b"u,y\n1,yes\n2,no\n"), "y", categorical=True)
    assert "--task classification" in caught.value.command
    with pytest.raises(ValueError, match="rule for missing values 'median'"):
        open_table(io.BytesIO(MIXED), "y", missing="median")


def test_dropped_rows():
    table = open_table(io.BytesIO(MIXED), "y", categorical=True, missing="drop")
    assert table.names == ["city=Oslo", "city=Rome", "size"]
    np.testing.assert_array_equal(table.X, [[0, 1, 1], [0, 0, 3], [0, 1, 5], [0, 1, 2]])
    np.testing.assert_array_equal(table.y, [1, 3, 4, 8])
    assert "4 of 8 rows × 2 columns; target y" in table.words
    assert "4 rows with missing values left out" in table.words


def test_filled_in_values():
    table = open_table(io.BytesIO(MIXED), "y", categorical=True, missing="mean")
    # The row without a target is left out; sizes are those of all rows that have one; Rome is the most frequent.
    np.testing.assert_allclose(table.X[:, 2], [1, 3, 3, 5, 3, 4, 2])
    np.testing.assert_array_equal(table.X[5], [0, 1, 4])
    assert "3 missing values filled in" in table.words
    assert "city: Bern, or 1 for Oslo, Rome" in table.words


def test_numbers_that_stand_for_levels():
    content = b"grade,u,y\n1,1,1\n2,2,2\n3,3,3\n1,4,4\n2,5,5\n3,6,7\n"
    table = open_table(io.BytesIO(content), "y", categorical=["grade"])
    assert table.names == ["grade=2", "grade=3", "u"]
    np.testing.assert_array_equal(table.X[:, :2], [[0, 0], [1, 0], [0, 1]] * 2)
    with pytest.raises(DataError, match="did you mean 'grade'"):
        open_table(io.BytesIO(content), "y", categorical=["grades"])


def test_names_of_persons_are_no_levels():
    content = "name,y\n" + "".join(f"person {i},{i}\n" for i in range(30))
    with pytest.raises(DataError, match="30 different texts in 30 rows") as caught:
        open_table(io.BytesIO(content.encode()), "y", categorical=True)
    assert "--exclude" in caught.value.command
    with pytest.raises(DataError, match="holds one text, 'a'"):
        open_table(io.BytesIO(b"c,u,y\na,1,1\na,2,2\na,3,3\n"), "y", categorical=True)


def test_an_encoding_is_applied_to_other_tables_by_name():
    fitted = open_table(io.BytesIO(MIXED), "y", categorical=True, missing="mean")
    code = Encoding.from_dict(fitted.encoding.as_dict())
    assert code == fitted.encoding
    table = read_inputs(io.BytesIO(b"extra,size,city\nx,1.5,Oslo\ny,,Rome\nz,2,\n"), code)
    np.testing.assert_allclose(table.X, [[1, 0, 1.5], [0, 1, 3], [0, 1, 2]])
    with pytest.raises(DataError, match="'Paris' in row 2, which the fit did not see; it knows 'Bern', 'Oslo', 'Rome'"):
        read_inputs(io.BytesIO(b"size,city\n1,Rome\n1,Paris\n"), code)
    whole = replace(code, missing="refuse", fill={})
    with pytest.raises(DataError, match="missing value in row 2; the fit refused missing values: leave the row out"):
        read_inputs(io.BytesIO(b"city,size\nRome,1\nOslo,\n"), whole)
    with pytest.raises(DataError, match="has no column 'city', which the network takes; did you mean 'City'"):
        read_inputs(io.BytesIO(b"size,City\n1,Rome\n"), code)
    with pytest.raises(DataError, match="column 'size' holds text, 'big' in row 1, where numbers were fitted"):
        read_inputs(io.BytesIO(b"size,city\nbig,Rome\n"), code)
    dropping = open_table(io.BytesIO(MIXED), "y", categorical=True, missing="drop").encoding
    rows = read_inputs(io.BytesIO(b"size,city\n1,Rome\n,Rome\n"), dropping).X
    np.testing.assert_array_equal(rows, [[0, 1, 1], [np.nan] * 3])


FRAMES = {
    "pandas": lambda columns: pd.DataFrame(columns),
    "pandas categories": lambda columns: pd.DataFrame(columns).astype({"city": "category"}),
    "polars": lambda columns: pl.DataFrame(columns),
    "polars lazy": lambda columns: pl.LazyFrame(columns),
    "arrow": lambda columns: pa.table(columns),
}


@pytest.mark.parametrize("kind", FRAMES)
def test_dataframes_give_the_same_as_files(kind):
    expected = open_table(io.BytesIO(MIXED), "y", categorical=True, missing="drop")
    columns = {
        "city": ["Rome", "Oslo", "Bern", "Rome", "Oslo", "Bern", None, "Rome"],
        "size": [1.0, None, 3.0, 5.0, 3.0, None, 4.0, 2.0],
        "y": [1.0, 2, 3, 4, None, 6, 7, 8],
    }
    frame = FRAMES[kind](columns)
    assert is_frame(frame)
    table = open_table(frame, "y", categorical=True, missing="drop")
    np.testing.assert_array_equal(table.X, expected.X)
    np.testing.assert_array_equal(table.y, expected.y)
    assert table.names == expected.names
    with pytest.raises(DataError, match="column 'city' holds text"):
        open_table(frame, "y")


def test_dates_are_refused_by_name():
    days = pd.DataFrame({"when": pd.to_datetime(["2020-01-01", "2020-01-02"]), "y": [1.0, 2.0]})
    for frame in (days, pl.DataFrame({"when": [date(2020, 1, 1)] * 2, "y": [1.0, 2.0]})):
        with pytest.raises(DataError, match="column 'when' holds dates, not numbers"):
            open_table(frame, "y", categorical=True)


def test_columns_that_count_stand_still_or_repeat_are_named():
    rng = np.random.default_rng(0)
    u, v = rng.standard_normal((2, 50))
    frame = pl.DataFrame({"": np.arange(50), "u": u, "c": np.full(50, 3.0), "v": v, "w": 5 - 2 * u, "y": u})
    table = open_table(frame, "y")
    assert [(remark.kind, remark.columns) for remark in table.remarks] == [
        ("index", ("",)), ("constant", ("c",)), ("shifted", ("w", "u")),
    ]  # fmt: skip
    assert "--exclude c" in table.remarks[1].sentence(command=True)
    assert open_table(frame, "y", exclude=["", "c", "w"]).names == ["u", "v"]
    assert open_table(frame, "y", exclude=["", "c", "w"]).remarks == ()
    written = open_table(io.BytesIO(frame.write_csv().encode()), "y")
    assert [remark.columns[0] for remark in written.remarks] == ["unnamed", "c", "w"]
    # Nearly the same is not the same.
    assert open_table(pl.DataFrame({"u": u, "w": u + 1e-6 * v, "y": v}), "y").remarks == ()


def test_a_bomb_is_not_unpacked(tmp_path):
    path = tmp_path / "bomb.csv.gz"
    path.write_bytes(gzip.compress(b"0\n" * 10, 1))
    assert open_table(path).X.shape == (10, 1)
    import planted.rows._unpack as unpack

    for content in (gzip.compress(bytes(10**6)), zstd(bytes(10**6))):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(unpack, "_FREE_BYTES", 1000)
            path.write_bytes(content)
            with pytest.raises(DataError, match="unpacks to more than"):
                open_table(path)


def test_excel_without_its_extra_is_one_sentence(tmp_path, monkeypatch):
    import sys

    path = tmp_path / "sheet.xlsx"
    path.write_bytes(b"PK\x03\x04 whatever")
    monkeypatch.setitem(sys.modules, "fastexcel", None)
    with pytest.raises(DataError, match=r"needs the extra 'excel': install planted\[excel\]"):
        open_table(path, "y")


@pytest.mark.skipif(importlib.util.find_spec("fastexcel") is None, reason="the extra 'excel' is not installed")
def test_excel(tmp_path):
    pytest.importorskip("xlsxwriter")
    path = tmp_path / "Sheet.XLSX"
    FRAME.with_columns(city=pl.Series(["Rome", "Oslo", "Rome", "Oslo"])).write_excel(path)
    table = open_table(path, "y", categorical=True)
    np.testing.assert_allclose(table.X, np.column_stack([ROWS[:, :2], [1, 0, 1, 0]]))
    assert table.names == ["u", "v", "city=Rome"]


def test_archives_on_standard_input_are_told_apart():
    """A zipped table is read, arrays of NumPy are sent to a file: neither is a workbook."""
    arrays = io.BytesIO()
    np.savez(arrays, X=ROWS[:, :2], y=ROWS[:, 2])
    table = open_table(io.BytesIO(zipped(PLAIN.encode())))
    np.testing.assert_array_equal(table.X, ROWS)
    with pytest.raises(DataError, match=r"standard input holds arrays of NumPy \(NPZ\).* give its name"):
        open_table(io.BytesIO(arrays.getvalue()))


@pytest.mark.parametrize("kind", ["csv", "parquet", "gaps", "long"])
def test_columns_of_true_and_false_are_named(tmp_path, kind):
    rng = np.random.default_rng(0)
    n = 20_000 if kind == "long" else 40
    frame = pl.DataFrame({"u": rng.standard_normal(n), "open": rng.random(n) < 0.5, "y": rng.random(n) < 0.5})
    if kind == "gaps":
        frame = frame.with_columns(open=pl.when(pl.int_range(n) < 3).then(None).otherwise(pl.col("open")))
    frame = frame.with_columns(one=pl.lit(1))
    path = tmp_path / ("rows.parquet" if kind == "parquet" else "rows.csv")
    frame.write_parquet(path) if kind == "parquet" else frame.write_csv(path)
    options = {"missing": "drop"} if kind == "gaps" else {}
    table = open_table(path, "y", **options)
    assert "; open, y: 1 for true, 0 for false" in table.words
    assert set(np.unique(table.X[:, 1])) == {0, 1}
    assert "for true" not in open_table(path, None, ["u", "one"]).words
    assert "; open: 1 for true" in open_table(path, "y", labels=True, **options).words or kind == "parquet"


def test_columns_of_parquet_files_can_be_left_out(tmp_path):
    frame = pl.DataFrame({"id": [7, 3, 9], "u": [1.0, 2.0, 3.0], "w": [1.0, 1.0, 2.0], "y": [1.0, 0.5, 0.0]})
    frame.write_parquet(tmp_path / "a.parquet")
    table = open_table(tmp_path / "a.parquet", "y", exclude=["id", "w"])
    assert table.names == ["u"]
    assert open_table(tmp_path / "a.parquet", "y", ["u", "w"], exclude=["w"]).names == ["u"]


@pytest.mark.parametrize("form", ["csv", "parquet", "polars", "pandas"])
def test_truth_values_that_are_labels_stay_what_they_are(form, tmp_path):
    frame = pl.DataFrame({"u": [1.0, 2.0, 3.0], "y": [True, None, False]})
    source = {"polars": frame, "pandas": frame.to_pandas()}.get(form, tmp_path / f"a.{form}")
    if form in ("csv", "parquet"):
        getattr(frame, f"write_{form}")(source)
    labels = open_table(source, "y", missing="drop", labels=True).y
    assert [str(label).lower() for label in labels] == ["true", "false"]
    assert [str(label).lower() for label in read_inputs(source, Encoding(("u",)), ["y"]).y] == ["true", "", "false"]
    assert open_table(source, "y", missing="drop").y.tolist() == [1.0, 0.0]
