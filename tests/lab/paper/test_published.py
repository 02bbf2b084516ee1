import pytest

from unperturb.errors import InvalidOptionError
from unperturb.lab.paper import STUDIES, find
from unperturb.lab.paper.published import Place, published


@pytest.mark.parametrize(
    ("table", "cells", "example", "value"),
    [
        ("table-control", 61, Place("Pendulum", "naf", "rand-all", 0.7, "known"), -2.26),
        ("table-atari", 45, Place("Seaquest", "ppo", "symmetric", 0.3, "estimated"), 262.4),
        ("table-vrt", 45, Place("CartPole", "cem", "binary", 0.3, "estimated+vrt"), 82.2),
    ],
)
def test_the_papers_numbers(table, cells, example, value):
    numbers = published(table)
    assert len(numbers) == cells
    assert numbers[example] == value


def test_both_tables_agree_where_the_paper_does():
    control, vrt = published("table-control"), published("table-vrt")
    differ = [place for place in set(control) & set(vrt) if control[place] != vrt[place]]
    assert differ == [Place("CartPole", "cem", "binary", 0.3, "estimated")]


def test_studies_are_found_by_name():
    assert list(find(["theory"])) == ["theory"]
    with pytest.raises(InvalidOptionError, match="no table or figure 'tabel-1'"):
        find(["theory", "tabel-1"])
    later = [name for name, study in STUDIES.items() if not study.available]
    for name in later:
        with pytest.raises(InvalidOptionError, match="yet"):
            find([name])
