import csv

from unperturb.lab import demo
from unperturb.lab.records import Records


def test_corrected_rewards_come_nearer_than_noisy_ones(tmp_path):
    records = Records(tmp_path / "records")
    demo.run(records, seeds=3)
    paths = demo.write(records, tmp_path)
    assert [path.suffix for path in paths] == [".csv", ".md", ".png", ".svg"]
    rows = {r["reward"]: r for r in csv.DictReader(paths[0].read_text().splitlines())}
    errors = {reward: float(row["mean"]) for reward, row in rows.items()}
    assert errors["true"] < errors["estimated"] < errors["noisy"] / 2
    assert abs(float(rows["estimated"]["e_plus"]) - 0.3) < 0.05
