import csv
import os

import numpy as np
import pytest

from unperturb.cli import main
from unperturb.errors import InvalidOptionError
from unperturb.lab.paper import find
from unperturb.lab.paper.atari import GAMES, Choice, games_of
from unperturb.lab.paper.figure_atari import sweep as figure
from unperturb.lab.paper.table_atari import analysis
from unperturb.lab.paper.table_atari import sweep as table
from unperturb.lab.records import Records


def fill(records, units):
    """Save made-up runs: the later the seed, the better the score."""
    for settings in units:
        score = 10.0 * (1 + settings["seed"]) + 5 * (settings["reward"] != "noisy")
        records.save(
            settings,
            returns=np.full(40, score),
            ends=np.linspace(1, settings["steps"], 40).astype(int),
            confusion=np.eye(2)[None],
            estimated=np.array([0]),
            noise=np.eye(2),
        )


def test_each_study_shares_its_runs():
    choice = Choice("paper", ("Pong",), (0.7,))
    symmetric = {str(one) for one in figure.wanted(1, choice, full=True)}
    assert {str(one) for one in figure.wanted(1, choice, full=False)} <= symmetric
    own = {str(one) for one in table.wanted(1, Choice("paper"))}
    assert own & {str(one) for one in figure.wanted(1, Choice("paper"), full=True)}


def test_pong_meets_three_noises_at_the_papers_preset():
    columns = figure.columns(Choice("paper"), full=True)
    assert [c.noise for c in columns if c.title == "Pong"] == ["symmetric", "rand-one", "rand-all"]
    assert {c.title for c in columns} == set(GAMES)


def test_tables_are_written_from_records(tmp_path, capsys):
    choice = Choice(games=("Breakout",), weights=(0.3, 0.7))
    fill(Records(tmp_path / "records"), table.wanted(2, choice))
    arguments = ["--games=Breakout", "--weights", "0.3", "0.7", "--seeds=2", f"--out={tmp_path}"]
    assert main(["reproduce", "table-atari", "figure-atari-full", *arguments]) == 0
    shown = capsys.readouterr().out
    assert "Lift over noisy rewards" in shown
    with open(tmp_path / "table-atari-lift.csv") as file:
        lift = {(row["weight"], row["reward"]): row for row in csv.DictReader(file)}
    assert float(lift["0.3", "known"]["lift"]) == pytest.approx(100 * 5 / 15, rel=1e-4)
    assert float(lift["0.7", "known"]["paper"]) == 757.4
    assert ("0.7", "posterior, prior=reverse") in lift
    assert (tmp_path / "figure-atari-full.png").exists()
    assert main(["report", str(tmp_path)]) == 0


def test_the_papers_numbers_stand_beside_atari_games(tmp_path):
    choice = Choice("small", ("Alien",), (0.3,))
    records = Records(tmp_path / "records")
    fill(records, table.wanted(1, choice))
    paths = analysis.write(records, tmp_path, choice)
    assert paths[0].name == "table-atari-small.csv"
    rows = list(csv.DictReader(paths[0].read_text().splitlines()))
    paper = {row["reward"]: row["paper"] for row in rows}
    assert (paper["noisy"], paper["known"], paper["posterior"]) == ("538.2", "1668.6", "")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["table-atari", "--games=Pong"], "Pong at preset 'minatar'"),
        (["figure-pong", "--games=Alien"], "Alien at preset 'small'"),
        (["figure-pong", "--preset=minatar"], "preset 'minatar' for figure-pong"),
        (["table-vrt", "--games=Pong"], "--games for table-vrt"),
    ],
)
def test_mistakes_are_named(tmp_path, capsys, options, message):
    assert main(["reproduce", *options, f"--out={tmp_path}"]) == 2
    assert message in capsys.readouterr().err


def test_a_game_is_run_once_however_often_it_is_named():
    assert games_of("minatar", ("Breakout", "Breakout"), GAMES) == ("Breakout",)


def test_legends_name_the_lines_of_whatever_was_run(tmp_path):
    records = Records(tmp_path / "records")
    fill(records, table.wanted(1, Choice(games=("Freeway",), weights=(0.3,))))
    paths = analysis.write(records, tmp_path, Choice())
    (picture,) = (path for path in paths if path.suffix == ".svg")
    assert "noisy" in picture.read_text()


def test_all_leaves_out_what_takes_a_night():
    studies = find(["all"])
    assert "figure-pong" not in studies
    assert "table-atari" in studies


@pytest.mark.parametrize(("preset", "platforms"), [("paper", None), ("small", "cpu")])
def test_the_papers_preset_uses_a_gpu_where_there_is_one(monkeypatch, tmp_path, preset, platforms):
    monkeypatch.delenv("JAX_PLATFORMS", raising=False)
    monkeypatch.setattr(os, "environ", dict(os.environ))
    assert main(["reproduce", "table-atari", f"--preset={preset}", "--games=None"]) == 2
    assert os.environ.get("JAX_PLATFORMS") == platforms


def test_an_unknown_preset_is_named():
    with pytest.raises(InvalidOptionError, match="preset 'huge'"):
        games_of("huge", None, GAMES)
