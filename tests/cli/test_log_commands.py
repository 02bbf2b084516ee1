"""`unperturb audit` and `unperturb correct`: what they print, and one line for every mistake."""

import builtins
import json
import re
import subprocess
import sys
from html.parser import HTMLParser

import numpy as np
import pytest

from unperturb.cli import main
from unperturb.cli._log_options import joined

pa = pytest.importorskip("pyarrow", reason="pip install 'unperturb[logs]'")
pq = pytest.importorskip("pyarrow.parquet")

ROWS = 2000
GOOD = "state,action,reward\n1,0,1\n2,1,0\n"


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    rng = np.random.default_rng(0)
    state, action = rng.integers(0, 10, ROWS), rng.integers(0, 2, ROWS)
    true = (state + action) % 2
    reward = np.where(rng.random(ROWS) < 0.2, 1 - true, true)
    path = tmp_path_factory.mktemp("logs") / "log.csv"
    np.savetxt(
        path,
        np.stack([state, action, reward], axis=1),
        fmt="%d",
        delimiter=",",
        header="state,action,reward",
        comments="",
    )
    return path


def test_audit_prints_the_audit_and_the_guess(log, capsys):
    assert main(["audit", str(log), "--suspects", "3"]) == 0
    shown = capsys.readouterr()
    assert shown.out.startswith("Reward audit: 2,000 rewards in 20 cells, 2 levels")
    assert 'Suggested: method="posterior"' in shown.out
    table = shown.out.split("The 3 most suspicious rows:\n")[1].splitlines()
    assert table[0].split() == ["row", "state", "action", "reward", "likely", "true", "suspicion"]
    assert len(table) == 4
    assert shown.err.splitlines() == [
        "columns: state = state (guessed); action = action (guessed); reward = reward (guessed)",
        "cells: state: 10 values, action: 2 values",
        "levels: 0, 1 (guessed)",
    ]


def test_audit_as_json(log, capsys):
    words = ["--levels", "0,1", "--suspects", "2", "--format", "json"]
    assert main(["audit", str(log), *words]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["log"] == str(log)
    assert found["observations"] == ROWS
    assert len(found["suspects"]) == 2
    assert found["suspects"][0].keys() == {
        *("row", "state", "action", "reward", "true_level", "suspicion")
    }
    assert "levels: 0, 1" in found["reading"]


class _Page(HTMLParser):
    def __init__(self):
        super().__init__()
        self.references, self.open, self.text = [], [], ""

    def handle_starttag(self, tag, attributes):
        self.references += [v for k, v in attributes if k in ("src", "href", "srcset", "data")]
        if tag not in ("meta", "img"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def test_audit_as_one_page_without_references(log, capsys, tmp_path):
    odd = tmp_path / "a<b>.csv"
    odd.write_text(log.read_text())
    assert main(["audit", str(odd), "--format", "html", "--suspects", "2"]) == 0
    text = capsys.readouterr().out
    page = _Page()
    page.feed(text)
    assert page.open == []
    assert len(page.references) == 1
    assert page.references[0].startswith("data:image/png;base64,")
    assert not re.search(r"https?:|@import|url\(|<script|<link|<iframe", text)
    assert "a<b>.csv" in page.text
    assert "Most suspicious rows" in page.text


@pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
def test_plot_writes_a_picture(log, tmp_path, capsys, ending):
    out = tmp_path / f"audit.{ending}"
    assert main(["audit", str(log), "--plot", str(out)]) == 0
    assert out.stat().st_size > 5000
    assert [p.name for p in tmp_path.iterdir()] == [out.name]


def test_correct_writes_and_says_so(log, tmp_path, capsys):
    out = tmp_path / "out.csv"
    words = ["-o", str(out), "--suspects", "2", "--method", "surrogate"]
    assert main(["correct", str(log), *words]) == 0
    shown = capsys.readouterr()
    assert re.match(
        re.escape(str(out)) + r": 2,000 rows, of whose rewards about \d+\.\d% look wrong; "
        r"corrected by surrogate\n\nThe 2 most suspicious rows:\n",
        shown.out,
    )
    header = out.read_text().splitlines()[0]
    assert header == ("state,action,reward,corrected_reward,true_level,level_posterior,suspicion")
    before = out.read_bytes()
    assert main(["correct", str(log), "-o", str(out)]) == 2
    assert "exists; nothing is overwritten unasked. pass --force" in capsys.readouterr().err
    assert out.read_bytes() == before
    assert main(["correct", str(log), "-o", str(out), "--force"]) == 0
    assert out.read_bytes() != before


def test_correct_warns_where_the_audit_does(tmp_path, capsys):
    path = tmp_path / "log.csv"
    path.write_text(GOOD + "3,1,0\n")
    assert main(["correct", str(path), "-o", str(tmp_path / "out.csv")]) == 0
    err = capsys.readouterr().err
    assert "--anchors FILE or --prior reverse" in err
    assert "problem: another explanation" in err
    assert "The audit would leave the rewards as they are." in err


def test_negative_levels_need_no_equals_sign(tmp_path, capsys):
    path = tmp_path / "log.csv"
    path.write_text("s,r\n0,-1\n0,1\n1,-1\n")
    for given in ("-1,1", "-1.5:1.5:2"):
        assert main(["audit", str(path), "--levels", given]) == 0
    assert "levels: -1, 1\n" in capsys.readouterr().err
    assert joined(["--levels", "-h"]) == ["--levels", "-h"]


def _npz(path, **columns):
    np.savez(path, **columns)


def _cut(path, size):
    path.write_bytes(path.read_bytes()[:size])


def _make(folder, name):
    """Make one bad file."""
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    text = {
        "word.csv": GOOD + "3,1,good\n",
        "nan.csv": GOOD + "3,1,nan\n",
        "inf.csv": GOOD + "3,1,-inf\n",
        "gap.csv": GOOD + "3,1,\n",
        "stategap.csv": GOOD + ",1,1\n",
        "statenan.csv": "state,reward\n0.5,1\nnan,0\n",
        "short.csv": GOOD + "\n3,1\n",
        "long.csv": GOOD + '"4\n4",1,1\n3,1,0,0\n',
        "empty.csv": "",
        "header.csv": "state,action,reward\n",
        "numbers.csv": "1,2,3\n4,5,6\n",
        "twice.csv": "state,state,reward\n1,1,1\n",
        "other.csv": "x,y,pay\n1,1,1\n",
        "constant.csv": "state,reward\n1,1\n2,1\n",
        "mac.csv": GOOD.replace("\n", "\r"),
        "log.txt": GOOD,
    }
    if name in text:
        path.write_text(text[name], newline="")
    elif name in ("noise.csv", "noise.parquet", "noise.npz"):
        path.write_bytes(bytes(range(128, 256)) * 9)
    elif name == "cut.parquet":
        pq.write_table(pa.table({"state": np.arange(9999), "reward": np.arange(9999) % 2.0}), path)
        _cut(path, 9000)
    elif name == "empty.parquet":
        pq.write_table(pa.table({"state": np.arange(0), "reward": np.arange(0.0)}), path)
    elif name == "null.parquet":
        pq.write_table(pa.table({"state": [1, 2, None], "reward": [0.0, 1.0, 1.0]}), path)
    elif name == "ragged.parquet":
        pq.write_table(pa.table({"obs": [[1.0, 2.0], [1.0]], "reward": [0.0, 1.0]}), path)
    elif name == "struct.parquet":
        pq.write_table(pa.table({"obs": [{"x": 1}, {"x": 2}], "reward": [0.0, 1.0]}), path)
    elif name == "words.parquet":
        pq.write_table(pa.table({"obs": [1, 2], "reward": ["good", "bad"]}), path)
    elif name == "cut.npz":
        _npz(path, state=np.arange(9999), reward=np.arange(9999) % 2.0)
        _cut(path, 9000)
    elif name == "flipped.npz":
        _npz(path, state=np.arange(9999) % 7, reward=np.arange(9999) % 2.0)
        raw = bytearray(path.read_bytes())
        raw[5000] ^= 255
        path.write_bytes(raw)
    elif name == "objects.npz":
        _npz(path, state=np.arange(2), reward=np.array([0.0, None], dtype=object))
    elif name == "complex.npz":
        _npz(path, state=np.arange(2) * 1j, reward=np.arange(2.0))
    elif name == "lengths.npz":
        _npz(path, obs=np.arange(3), reward=np.arange(2.0))
    elif name == "rowless.npz":
        _npz(path, obs=np.arange(0), reward=np.arange(0.0))
    elif name == "scalar.npz":
        _npz(path, state=1, reward=1.0)
    elif name == "image.npz":
        _npz(path, obs=np.zeros((2, 84, 84), np.uint8), reward=np.arange(2.0))
    elif name == "many.npz":
        _npz(path, obs=np.arange(99) % 3, reward=np.arange(99) / 9)
    elif name == "folder-v0":
        path.mkdir()
    return path


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("word.csv", "word.csv, row 2 (line 4): reward is 'good'; it is a number."),
        ("nan.csv", "nan.csv, row 2 (line 4): reward is nan; a reward is a finite number."),
        ("inf.csv", "inf.csv, row 2 (line 4): reward is -inf; a reward is a finite number."),
        ("gap.csv", "gap.csv, row 2 (line 4): reward is empty; each row has a value."),
        ("stategap.csv", "stategap.csv, row 2 (line 4): state is empty; each row has a value."),
        ("statenan.csv", "statenan.csv, row 1 (line 3): state is nan; it is a finite number."),
        ("short.csv", "short.csv, row 2 (line 5): 2 values in a row; the header names 3 columns."),
        ("long.csv", "long.csv, row 3 (line 6): 4 values in a row; the header names 3 columns."),
        ("empty.csv", "empty.csv is empty; a log has a header and rows."),
        ("header.csv", "header.csv has no rows; an audit needs rewards."),
        ("numbers.csv", "numbers.csv begins with the numbers 1, 2, 3;"),
        ("twice.csv", "twice.csv: two columns are called 'state';"),
        ("other.csv", "looks like a state; the columns are x, y, pay. name it: --state COLUMN"),
        ("constant.csv", "every reward is 1; noise shows only where there are two levels or more."),
        ("mac.csv", "mac.csv can't be read (its lines end in carriage returns alone);"),
        ("noise.csv", "noise.csv can't be read (no text in UTF-8"),
        ("log.txt", "log.txt ends in '.txt'; the kinds of log are .csv, .tsv, .parquet,"),
        ("missing.csv", "missing.csv does not exist;"),
        ("none/missing.npz", "missing.npz does not exist;"),
        ("folder-v0", "is no Minari dataset; its folder holds data/metadata.json."),
        ("noise.parquet", "noise.parquet can't be read ("),
        ("cut.parquet", "cut.parquet can't be read ("),
        ("empty.parquet", "empty.parquet has no rows;"),
        ("null.parquet", "null.parquet, row 2: state is empty;"),
        ("ragged.parquet", "ragged.parquet, row 1: obs holds 1 numbers; the first row holds 2,"),
        ("struct.parquet", "struct.parquet: column 'obs' has the type struct<x: int64>;"),
        ("words.parquet", "words.parquet, row 0: reward is 'good'; a reward is a number."),
        ("noise.npz", "noise.npz can't be read ("),
        ("cut.npz", "cut.npz can't be read ("),
        ("flipped.npz", "flipped.npz can't be read (Bad CRC-32"),
        ("objects.npz", "array 'reward' holds Python objects; numbers and text are read, pickles"),
        ("complex.npz", "array 'state' has the type complex128;"),
        ("lengths.npz", "the arrays have different lengths (obs 3, reward 2);"),
        ("rowless.npz", "rowless.npz has no rows;"),
        ("scalar.npz", "scalar.npz has no rows;"),
        ("image.npz", "obs holds 7,056 numbers in each row; at most 64 are cut into cells."),
        (
            "many.npz",
            "more than 32 different values between 0 and 10.8889; so many are no exact "
            "levels. cut them into intervals: --levels 0:11:10",
        ),
    ],
)
@pytest.mark.parametrize("command", ["audit", "correct"])
def test_a_bad_file_gets_one_line_and_nothing_is_written(command, name, message, tmp_path, capsys):
    path = _make(tmp_path, name)
    out = tmp_path / "out" / f"out{path.suffix}"
    out.parent.mkdir()
    words = ["-o", str(out)] if command == "correct" else ["--plot", str(out.parent / "a.png")]
    assert main([command, str(path), *words]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert message in shown.err
    assert shown.err.startswith("unperturb: ")
    assert shown.err.count("\n") == 1
    assert list(out.parent.iterdir()) == []


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--state", "z"], "has no column 'z'; the columns are state, action, reward."),
        (["--reward", "z"], "has no column 'z'; the columns are state, action, reward."),
        (["--next-state"], "no column that looks like a next state;"),
        (
            ["--levels", "-1,1"],
            "row 1 (line 3): reward is 0, which is no level; the levels are -1, 1.",
        ),
        (["--levels", "x"], "the levels are given as 'x';"),
        (["--levels", "1"], "there must be two or more levels"),
        (["--bins", "many"], "the bins are given as 'many';"),
        (["--bins", "0"], "0 bins; a column is cut into one bin or more."),
        (["--bins", "x=3"], "--bins names 'x'; state and action are state, action."),
        (["--anchors", "none.csv"], "none.csv does not exist;"),
        (["--plot", "a.gif"], "a.gif ends in '.gif'; a picture is one of .png, .svg, .pdf."),
    ],
)
def test_a_mistake_in_the_options_gets_one_line(words, message, tmp_path, capsys):
    path = tmp_path / "log.csv"
    path.write_text("state,action,reward\n1,0,1\n2,1,0\n3,1,0\n")
    assert main(["audit", str(path), *words]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert message in shown.err
    assert shown.err.count("\n") == 1


@pytest.mark.parametrize(
    ("out", "message"),
    [
        ("log.csv", "log.csv is the log itself; a log is never overwritten."),
        ("out.npz", "the corrected log is of the same kind as"),
        ("none/out.csv", "does not exist; a log is written into a folder that does. mkdir -p"),
        ("dir.csv", "a file is replaced by a file and a folder by a folder."),
    ],
)
def test_a_copy_that_can_not_be_written_is_refused_first(out, message, tmp_path, capsys):
    (tmp_path / "log.csv").write_text(GOOD)
    (tmp_path / "dir.csv").mkdir()
    words = ["correct", str(tmp_path / "log.csv"), "-o", str(tmp_path / out), "--force"]
    assert main(words) == 2
    err = capsys.readouterr().err
    assert message in err
    assert err.count("\n") == 1
    assert (tmp_path / "log.csv").read_text() == GOOD
    assert sorted(p.name for p in tmp_path.iterdir()) == ["dir.csv", "log.csv"]


def test_a_corrected_log_is_not_corrected_again(log, tmp_path, capsys):
    once, twice = tmp_path / "once.csv", tmp_path / "twice.csv"
    assert main(["correct", str(log), "-o", str(once)]) == 0
    capsys.readouterr()
    assert main(["correct", str(once), "-o", str(twice)]) == 2
    assert "already has corrected_reward;" in capsys.readouterr().err
    assert not twice.exists()


def test_interrupted_it_leaves_nothing(log, tmp_path, capsys, monkeypatch):
    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("unperturb.logs.files.csv_file.CsvLog.write", stop)
    assert main(["correct", str(log), "-o", str(tmp_path / "out.csv")]) == 130
    assert capsys.readouterr().err.endswith("unperturb: stopped; nothing was written\n")
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_one_line(log, tmp_path, capsys, monkeypatch):
    def full(self, out, *_):
        out.write_text("half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("unperturb.logs.files.csv_file.CsvLog.write", full)
    assert main(["correct", str(log), "-o", str(tmp_path / "out.csv")]) == 2
    assert "can't be written (No space left on device)" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_the_bar_is_for_terminals_only(log):
    code = "import sys; from unperturb.cli import main; sys.exit(main(sys.argv[1:]))"
    done = subprocess.run(
        [sys.executable, "-c", code, "audit", str(log)], capture_output=True, text=True
    )
    assert done.returncode == 0
    assert "rows/s" not in done.stderr


@pytest.mark.parametrize(
    ("package", "ending", "extra"),
    [
        ("pyarrow", "csv", "logs"),
        ("pyarrow", "parquet", "logs"),
        ("tqdm", "npz", "logs"),
        ("minari", "v0", "minari"),
    ],
)
def test_a_missing_package_is_named_with_the_remedy(
    package, ending, extra, tmp_path, capsys, monkeypatch
):
    real = builtins.__import__

    def guarded(name, *args, **kwargs):
        if name.split(".")[0] == package:
            raise ModuleNotFoundError(f"No module named {package!r}", name=package)
        return real(name, *args, **kwargs)

    path = tmp_path / f"log.{ending}"
    if ending == "csv":
        path.write_text(GOOD)
    elif ending == "npz":
        np.savez(path, state=np.arange(4), reward=np.arange(4) % 2)
    elif ending == "parquet":
        pq.write_table(pa.table({"state": [1, 2], "reward": [0.0, 1.0]}), path)
    else:
        path.mkdir()
    monkeypatch.setattr(builtins, "__import__", guarded)
    assert main(["audit", str(path)]) == 2
    err = capsys.readouterr().err
    assert f"{package} is not installed; " in err
    assert f"pip install 'unperturb[{extra}]'" in err
    assert err.count("\n") == 1


def test_help_is_of_use_for_both(capsys):
    for command in ("audit", "correct"):
        with pytest.raises(SystemExit) as stop:
            main([command, "--help"])
        assert stop.value.code == 0
        shown = capsys.readouterr().out
        for word in ("--anchors", "true_reward", "--suspects", "examples:", "low:high:count"):
            assert word in shown
