"""Tables and figures: CSV, Markdown, PNG and SVG, each written whole or not at all.

Figures never touch matplotlib's global state and carry no dates, so that the same records give the
same files.
"""

from __future__ import annotations

import csv
import io
import math
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from unperturb.errors import MissingExtraError

SCORE_COLUMNS = (
    "env",
    "agent",
    "noise",
    "weight",
    "reward",
    "seeds",
    "mean",
    "low",
    "high",
    "paper",
)
COLOURS = {
    "true": "#1f5fbf",
    "noisy": "#f28e1c",
    "known": "#145a14",
    "estimated": "#2ca02c",
    "noisy+vrt": "#d62728",
    "estimated+vrt": "#9467bd",
    "posterior": "#17a2b8",
}
"""The paper's colours for what an agent learns from; `posterior` is not in the paper."""
_STYLE: dict[str, Any] = {
    "font.size": 9.5,
    "axes.titlesize": 10.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#e6e6e6",
    "grid.linewidth": 0.7,
    "axes.axisbelow": True,
    "legend.frameon": False,
    "lines.linewidth": 1.6,
    "svg.hashsalt": "unperturb",
    "svg.fonttype": "path",
}


def summary(values: Any) -> dict[str, Any]:
    """Give the columns seeds, mean, low and high: the 10th and 90th percentile over seeds.

    Example:
        >>> summary([1.0, 2.0, 3.0])
        {'seeds': 3, 'mean': 2.0, 'low': 1.2, 'high': 2.8}
    """
    array = np.asarray(values, dtype=np.float64)
    low, high = np.percentile(array, [10, 90])
    return {
        "seeds": array.size,
        "mean": float(array.mean()),
        "low": float(low),
        "high": float(high),
    }


def interval_of_mean(values: Any) -> tuple[float, float]:
    """Give the 95 % bootstrap interval of the mean (percentile method, 10,000 draws).

    Example:
        >>> low, high = interval_of_mean([1.0, 2.0, 3.0])
        >>> round(low, 2), round(high, 2)
        (1.0, 3.0)
    """
    array = np.asarray(values, dtype=np.float64)
    draws = np.random.default_rng(0).integers(array.size, size=(10_000, array.size))
    low, high = np.percentile(array[draws].mean(axis=1), [2.5, 97.5])
    return float(low), float(high)


def write_text(path: str | os.PathLike[str], text: str | bytes) -> Path:
    """Write a file to a temporary name and rename it, so that no half of it is ever seen."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        temporary.write_bytes(text.encode() if isinstance(text, str) else text)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
    return path


def as_csv(rows: Sequence[Mapping[str, Any]]) -> str:
    """Write rows as CSV, with the first row's columns; None is an empty field.

    Example:
        >>> print(as_csv([{"agent": "dqn", "mean": 1 / 3, "paper": None}]), end="")
        agent,mean,paper
        dqn,0.333333,
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    columns = list(rows[0]) if rows else []
    writer.writerow(columns)
    writer.writerows([[_plain(row[column]) for column in columns] for row in rows])
    return out.getvalue()


def _plain(value: Any) -> Any:
    if isinstance(value, (float, np.floating)):
        return "" if math.isnan(value) else f"{value:.6g}"
    return value


def as_markdown(rows: Sequence[Mapping[str, Any]], digits: int = 3) -> str:
    """Write rows as a Markdown table that lines up in plain text too.

    Example:
        >>> print(as_markdown([{"agent": "dqn", "mean": 187.25}], digits=4))
        | agent |  mean |
        |:------|------:|
        | dqn   | 187.2 |
    """
    if not rows:
        return "(nothing)"
    columns = list(rows[0])
    cells = [[_shown(row[column], digits) for column in columns] for row in rows]
    widths = [max(map(len, column)) for column in zip(columns, *cells, strict=True)]
    left = [isinstance(rows[0][column], str) for column in columns]

    def line(words: Sequence[str]) -> str:
        padded = (
            word.ljust(width) if is_left else word.rjust(width)
            for word, width, is_left in zip(words, widths, left, strict=True)
        )
        return "| " + " | ".join(padded) + " |"

    rule = "|".join(
        ":" + "-" * (width + 1) if is_left else "-" * (width + 1) + ":"
        for width, is_left in zip(widths, left, strict=True)
    )
    return "\n".join([line(columns), f"|{rule}|", *map(line, cells)])


def _shown(value: Any, digits: int) -> str:
    if value is None:
        return ""
    if isinstance(value, (float, np.floating)):
        value = float(value)
        if not math.isfinite(value):
            return "–"
        whole = 10**digits <= abs(value) < 1e7
        return f"{value:.0f}" if whole else f"{value:.{digits}g}"
    return str(value).replace("|", "\\|")


def write_table(
    rows: Sequence[Mapping[str, Any]],
    stem: str | os.PathLike[str],
    title: str,
    note: str = "",
    digits: int = 3,
) -> list[Path]:
    """Write STEM.csv and STEM.md; the Markdown carries the title and a note on how to read it."""
    text = f"# {title}\n\n{as_markdown(rows, digits)}\n"
    if note:
        text += f"\n{note.strip()}\n"
    stem = os.fspath(stem)
    return [write_text(f"{stem}.csv", as_csv(rows)), write_text(f"{stem}.md", text)]


def write_figure(
    stem: str | os.PathLike[str], size: tuple[float, float], draw: Callable[[Any], None]
) -> list[Path]:
    """Let `draw(figure)` fill a figure of this size in inches; write STEM.png and STEM.svg."""
    matplotlib = _matplotlib()
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    stem = os.fspath(stem)
    paths = []
    with matplotlib.rc_context(_STYLE):
        figure = Figure(figsize=size, layout="constrained")
        FigureCanvasAgg(figure)
        draw(figure)
        for ending, metadata in (("png", {"Software": None}), ("svg", {"Date": None})):
            content = io.BytesIO()
            figure.savefig(content, format=ending, dpi=150, metadata=metadata)
            paths.append(write_text(f"{stem}.{ending}", content.getvalue()))
    return paths


def _matplotlib() -> Any:
    try:
        import matplotlib
    except ImportError as error:
        raise MissingExtraError(
            "matplotlib is not installed",
            "figures are drawn with it",
            "pip install 'unperturb[lab]'",
        ) from error
    return matplotlib


def band(
    axes: Any, x: Any, curves: Any, colour: str, label: str | None = None, line: str = "-"
) -> None:
    """Draw the mean of curves (seeds, points) over the area of their 10th to 90th percentile."""
    array = np.asarray(curves, dtype=np.float64)
    low, high = np.percentile(array, [10, 90], axis=0)
    axes.fill_between(x, low, high, color=colour, alpha=0.2, linewidth=0)
    axes.plot(x, array.mean(axis=0), line, color=colour, label=label)
