"""Pictures of an audit. matplotlib is loaded only when one is drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from unperturb.errors import MissingExtraError

if TYPE_CHECKING:
    from unperturb.audit import RewardAudit

_WITH_TEXT = 6
_OBSERVED, _EXPECTED = "#d9822b", "#3a6ea5"


def draw_audit(audit: RewardAudit, axes: Any = None) -> Any:
    """Draw the matrix with intervals, and observed beside expected frequencies."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtraError(
            "matplotlib is not installed",
            "a plot needs it",
            "run pip install 'unperturb[lab]'",
        ) from error
    if axes is None:
        figure = Figure(figsize=(9.5, 4.2), layout="constrained")
        axes = figure.subplots(1, 2, width_ratios=(1, 1.1))
    left, right = axes
    names = [f"{value:g}" for value in audit.levels]
    places = np.arange(len(names))
    shown = left.imshow(audit.confusion, vmin=0, vmax=1, cmap="Blues")
    left.figure.colorbar(shown, ax=left, shrink=0.8, label="probability")
    ticks = places if len(names) <= 12 else places[::4]
    left.set_xticks(ticks, [names[i] for i in ticks])
    left.set_yticks(ticks, [names[i] for i in ticks])
    left.set(xlabel="observed reward", ylabel="true reward", title="Estimated confusion matrix")
    if len(names) <= _WITH_TEXT:
        for z in places:
            for k in places:
                low, high = audit.interval[z, k]
                left.text(
                    k,
                    z,
                    f"{audit.confusion[z, k]:.2f}\n[{low:.2f}, {high:.2f}]",
                    ha="center",
                    va="center",
                    fontsize=9,
                    color="white" if audit.confusion[z, k] > 0.6 else "black",
                )
    right.bar(places - 0.2, audit.observed_frequencies, 0.4, label="observed", color=_OBSERVED)
    right.bar(places + 0.2, audit.expected_frequencies, 0.4, label="expected", color=_EXPECTED)
    right.plot(places, audit.level_frequencies, "k_", markersize=14, label="true levels, estimated")
    right.set_xticks(ticks, [names[i] for i in ticks])
    right.set(xlabel="reward", ylabel="share of rewards", title="Frequencies of the levels")
    right.spines[["top", "right"]].set_visible(False)
    right.margins(y=0.3)  # room for the legend above the bars
    right.legend(frameon=False, loc="upper center", ncols=3, fontsize=8.5)
    return left.figure
