"""Score tables: one row for each agent, weight and reward, the paper's number beside ours."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from unperturb.lab import report
from unperturb.lab.paper.control import Column
from unperturb.lab.paper.published import Place, published
from unperturb.lab.paper.reading import groups, say, scores
from unperturb.lab.records import Records
from unperturb.lab.units import Reward

NOTE = """\
Mean score of the last 30 training episodes, over seeds, with the 95 % bootstrap interval of the
mean; in brackets what the paper prints. A star marks a mean below the paper's, two stars an
interval that lies wholly below it. Nothing is told the true rewards, C or the noise rate, but for
`known`, which is given C. Above one half noise can't be told from its mirror image: there the
estimates fail without an assumption, and rows with prior=reverse make the one that the paper's
code makes silently."""
CARTPOLE_NOTE = """\
The paper's scores on CartPole are means of three seeds, as it says under its Table 4. Ours are at
its settings, but for numbers of Adam that it leaves open: in every row SARSA has beta2 = .9999, DQN
and Dueling DQN have epsilon = .1. These were chosen on true rewards and other seeds than here. On
yet others the three score 163, 193 and 194 on true rewards, with Adam's usual numbers 151, 188 and
187."""


def score_rows(
    records: Records,
    table: str,
    columns: Iterable[Column],
    rewards: Iterable[Reward],
    weights: Iterable[float],
) -> list[dict[str, Any]]:
    """Give the rows of a score table: the columns that all have, and what this one adds."""
    numbers = published(table)
    rows = []
    for column, condition, runs in groups(records, columns, rewards, weights):
        env = column.place
        own = scores(runs)
        low, high = report.interval_of_mean(own)
        paper = numbers.get(
            Place(env, column.agent, column.noise, condition["weight"], condition["reward"])
        )
        row = {
            "env": env,
            "agent": column.agent,
            "noise": column.noise if condition["reward"] != "true" else "none",
            "weight": condition["weight"],
            "reward": condition["reward"],
            **report.summary(own),
            "paper": paper,
            "prior": condition["prior"],
            "interval_low": low,
            "interval_high": high,
        }
        row["below"] = "" if paper is None else _below(row)
        rows.append(row)
    return rows


def _below(row: dict[str, Any]) -> str:
    if row["mean"] >= row["paper"]:
        return "no"
    return "within the interval" if row["interval_high"] >= row["paper"] else "yes"


def write_scores(
    rows: Sequence[dict[str, Any]], columns: Sequence[Column], stem: Path, title: str, note: str
) -> list[Path]:
    """Write STEM.csv, .md, .png and .svg."""
    text = f"# {title}\n\n{report.as_markdown(_wide(rows, columns))}\n\n{note}\n"
    size = (2.1 * len(columns) + 1.5, 3.6)
    return [
        report.write_text(f"{stem}.csv", report.as_csv(rows)),
        report.write_text(f"{stem}.md", text),
        *report.write_figure(stem, size, lambda figure: _draw(figure, rows, columns)),
    ]


def _wide(rows: Sequence[dict[str, Any]], columns: Sequence[Column]) -> list[dict[str, str]]:
    lines: dict[tuple[float, str], dict[str, str]] = {}
    for row in rows:
        name = say(row)
        line = lines.setdefault(
            (row["weight"], name),
            {"weight": f"{row['weight']:g}", "reward": name, **{c.title: "" for c in columns}},
        )
        digits = 1 if abs(row["mean"]) >= 10 else 2
        shown = [f"{row[x]:.{digits}f}" for x in ("mean", "interval_low", "interval_high")]
        paper = "" if row["paper"] is None else f" ({row['paper']:g})"
        stars = {"within the interval": "*", "yes": "**"}.get(row["below"], "")
        for title in (c.title for c in columns if _is_of(row, c)):
            line[title] = f"{shown[0]} [{shown[1]}, {shown[2]}]{paper}{stars}"
    return list(lines.values())


def _is_of(row: dict[str, Any], column: Column) -> bool:
    return (row["env"], row["agent"]) == (column.place, column.agent) and (
        row["noise"] in (column.noise, "none")
    )


def _draw(figure: Any, rows: Sequence[dict[str, Any]], columns: Sequence[Column]) -> None:
    panels = figure.subplots(1, len(columns), squeeze=False)[0]
    for axes, column in zip(panels, columns, strict=True):
        own = [row for row in rows if _is_of(row, column)]
        names = list(dict.fromkeys((say(row), row["reward"], row["prior"]) for row in own))
        for i, (name, reward, prior) in enumerate(names):
            line = sorted(
                (row for row in own if say(row) == name), key=lambda row: float(row["weight"])
            )
            x = [str(row["weight"]) for row in line]
            colour = report.COLOURS[reward]
            if reward == "true":
                axes.axhline(line[0]["mean"], color=colour, label=name)
                continue
            mean = [row["mean"] for row in line]
            error = [
                [m - row["interval_low"] for m, row in zip(mean, line, strict=True)],
                [row["interval_high"] - m for m, row in zip(mean, line, strict=True)],
            ]
            mark = {"marker": "s" if prior else "o", "markersize": 3.5, "capsize": 2}
            axes.errorbar(x, mean, error, color=colour, label=name, zorder=2 + i, **mark)
            printed = [(w, r["paper"]) for w, r in zip(x, line, strict=True) if r["paper"]]
            if printed:
                axes.plot(*zip(*printed, strict=True), "x", color=colour, markersize=6)
        axes.set(title=column.title, xlabel="weight of the noise")
    panels[0].set_ylabel("score (x: the paper's)")
    # A column that was not run has no line to name.
    labelled = {
        label: handle
        for axes in panels
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)
    }
    figure.legend(
        labelled.values(), labelled.keys(), loc="outside lower center", ncols=len(labelled)
    )
