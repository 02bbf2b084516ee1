import csv

import pytest

from unperturb.errors import MissingRecordError
from unperturb.lab import demo
from unperturb.lab.records import Records


def test_corrected_rewards_find_the_share_of_lies(tmp_path):
    records = Records(tmp_path / "records")
    demo.run(records, seeds=2)
    paths = demo.write(records, tmp_path)
    assert [path.suffix for path in paths] == [".csv", ".md", ".png", ".svg"]
    rows = {row["reward"]: row for row in csv.DictReader(paths[0].read_text().splitlines())}
    assert list(rows) == ["clean", "noisy", "corrected"]
    # 20,000 draws of a rate of .3: five standard deviations are .016.
    assert abs(float(rows["corrected"]["e+"]) - 0.3) < 0.016
    assert all(float(row["score"]) > 100 for row in rows.values())


def test_nothing_is_written_from_nothing(tmp_path):
    with pytest.raises(MissingRecordError):
        demo.write(Records(tmp_path / "records"), tmp_path)
    assert list(tmp_path.iterdir()) == []
