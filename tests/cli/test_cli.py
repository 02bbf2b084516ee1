import builtins
import subprocess
import sys

import pytest

from unperturb.cli import main
from unperturb.errors import DamagedFileError
from unperturb.lab.paper import STUDIES


def test_help_teaches(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["--help"])
    assert stop.value.code == 0
    shown = capsys.readouterr().out
    for word in ("demo", "list", "reproduce", "report", "examples:", "Ctrl-C"):
        assert word in shown


def test_help_loads_neither_jax_nor_matplotlib():
    code = (
        "import sys; from unperturb.cli import main\n"
        "try: main(['--help'])\n"
        "except SystemExit: pass\n"
        "heavy = {'jax', 'matplotlib', 'torch', 'pandas', 'gymnax'} & set(sys.modules)\n"
        "sys.exit(str(heavy) if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_list_names_every_study(capsys):
    assert main(["list"]) == 0
    shown = capsys.readouterr().out
    for name in STUDIES:
        assert f"\n{name} " in f"\n{shown}"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["reproduce", "tabel-1"], "there is no table or figure 'tabel-1'"),
        (["report", "nowhere"], "there are no records of any table or figure"),
    ],
)
def test_mistakes_are_one_line(arguments, message, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith(f"unperturb: {message}")
    assert shown.err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("seeds", ["0", "-1", "many", "1.5"])
def test_a_number_of_seeds_is_whole_and_positive(seeds, capsys):
    with pytest.raises(SystemExit) as stop:
        main(["reproduce", "theory", f"--seeds={seeds}"])
    assert stop.value.code == 2
    assert "no whole number above zero" in capsys.readouterr().err


def fail_with(error, monkeypatch):
    def run(self, records, seeds=None, choice=None):
        raise error

    monkeypatch.setattr(type(STUDIES["theory"]), "run", run)


def test_an_interrupted_run_says_that_work_is_kept(capsys, monkeypatch, tmp_path):
    fail_with(KeyboardInterrupt(), monkeypatch)
    assert main(["reproduce", "theory", "--out", str(tmp_path)]) == 130
    assert "finished units are kept" in capsys.readouterr().err


def test_errors_of_the_library_are_one_line(capsys, monkeypatch, tmp_path):
    fail_with(DamagedFileError("x.npz can't be read", "rule", "delete it"), monkeypatch)
    assert main(["reproduce", "theory", "--out", str(tmp_path)]) == 2
    assert capsys.readouterr().err == "unperturb: x.npz can't be read; rule. delete it\n"


def test_a_missing_extra_is_named(capsys, monkeypatch, tmp_path):
    fail_with(ModuleNotFoundError("No module named 'jax'", name="jax"), monkeypatch)
    assert main(["reproduce", "theory", "--out", str(tmp_path)]) == 2
    assert "pip install 'unperturb[lab]'" in capsys.readouterr().err


def test_a_bug_is_not_hidden(monkeypatch, tmp_path):
    fail_with(ModuleNotFoundError("No module named 'nonsense'", name="nonsense"), monkeypatch)
    with pytest.raises(builtins.ModuleNotFoundError):
        main(["reproduce", "theory", "--out", str(tmp_path)])


def test_reproduce_then_report(capsys, monkeypatch, tmp_path):
    from unperturb.lab.paper.figure_mdp import sweep

    monkeypatch.setattr(sweep, "ESTIMATORS", [sweep.STREAMING])
    monkeypatch.setattr(sweep.run, "__defaults__", (None, 1_000))
    assert main(["reproduce", "figure-mdp", "--seeds", "1", "--out", str(tmp_path)]) == 0
    first = capsys.readouterr().out
    assert "streaming Dawid-Skene" in first
    assert f"written: {tmp_path / 'figure-mdp.csv'}" in first
    (tmp_path / "figure-mdp.md").unlink()
    assert main(["report", str(tmp_path)]) == 0
    assert capsys.readouterr().out == first
