"""An audit as one HTML page that needs nothing else."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from html import escape

from unperturb.audit import RewardAudit
from unperturb.logs.analysis import Suspect

_STYLE = """\
body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#222}
h1{font-size:1.5rem}h2{font-size:1.1rem;margin-top:2rem}img{max-width:100%}
table{border-collapse:collapse}
th,td{padding:.25rem .75rem;text-align:right;border-bottom:1px solid #ddd}
th:first-child{text-align:left}.interval,.note{color:#666}
.problem{color:#a40000;font-weight:600}.warning{color:#8a5a00;font-weight:600}
"""


def page(audit: RewardAudit, suspects: Sequence[Suspect], title: str, facts: Sequence[str]) -> str:
    """Give the page: numbers, findings, the picture and the suspects; nothing is loaded."""
    picture = io.BytesIO()
    audit.plot().savefig(picture, format="png", dpi=120)
    image = base64.b64encode(picture.getvalue()).decode("ascii")
    numbers = [
        ("rewards", f"{audit.observations:,}"),
        ("cells", f"{audit.cells_seen:,}"),
        ("rewards per cell", f"{audit.observations_per_cell:.1f}"),
        ("Youden's J", f"{audit.youden_j:.3f}"),
        ("condition of C", f"{audit.condition:.2f}"),
        ("variance of surrogates", f"x {audit.variance_inflation:.3g}"),
        ("samples needed", f"x {audit.sample_cost:.3g}"),
        ("flip margin", f"{audit.margin:.1f} nats"),
    ]
    parts = [
        "<!doctype html>",
        f'<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>',
        f"<style>{_STYLE}</style></head><body>",
        f"<h1>{escape(title)}</h1>",
        *(f'<p class="note">{escape(fact)}</p>' for fact in facts),
        f"<p><strong>Suggested: {escape(audit.suggestion)}.</strong> {escape(audit.reason)}</p>",
        "<ul>",
        *(
            f'<li><span class="{found.severity}">{found.severity}</span>: '
            f"{escape(found.message)}</li>"
            for found in audit.findings
        ),
        "</ul>",
        f'<img alt="The estimated confusion matrix, and the frequencies of the levels" '
        f'src="data:image/png;base64,{image}">',
        "<h2>Numbers</h2><table>",
        *(f"<tr><th>{escape(name)}</th><td>{escape(text)}</td></tr>" for name, text in numbers),
        "</table>",
        "<h2>Confusion matrix</h2>",
        "<p>Rows are true levels, columns observed ones, with 95 % intervals.</p><table>",
        "<tr><th></th>" + "".join(f"<th>{value:g}</th>" for value in audit.levels) + "</tr>",
        *(
            f"<tr><th>{value:g}</th>"
            + "".join(
                f"<td>{chance:.3f} <span class='interval'>[{low:.3f}, {high:.3f}]</span></td>"
                for chance, (low, high) in zip(row, limits, strict=True)
            )
            + "</tr>"
            for value, row, limits in zip(
                audit.levels, audit.confusion, audit.interval, strict=True
            )
        ),
        "</table>",
    ]
    if suspects:
        parts += [
            "<h2>Most suspicious rows</h2><table>",
            "<tr><th>row</th><th>state</th><th>action</th><th>reward</th>"
            "<th>likely true</th><th>suspicion</th></tr>",
            *(
                f"<tr><td>{s.row}</td><td>{escape(shown(s.state))}</td>"
                f"<td>{escape(shown(s.action))}</td><td>{s.reward:g}</td>"
                f"<td>{s.true_level:g}</td><td>{s.suspicion:.4f}</td></tr>"
                for s in suspects
            ),
            "</table>",
        ]
    return "\n".join([*parts, "</body></html>", ""])


def shown(value: object) -> str:
    """Show a state or an action in a few characters.

    Example:
        >>> shown((0.123456, 3)), shown(None), shown("left")
        ('0.1235, 3', '-', 'left')
    """
    if isinstance(value, tuple):
        return ", ".join(shown(part) for part in value)
    if value is None:
        return "-"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
