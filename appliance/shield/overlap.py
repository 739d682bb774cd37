"""One finding a place: overlapping ones become one that covers them all, so that no tail of a value leaks.

Source: shield.md ("Detection").
"""

from collections.abc import Iterable

from appliance.shield.categories import PRIORITY
from appliance.shield.finding import Finding

_RANK = {category: rank for rank, category in enumerate(PRIORITY)}


def settle(findings: Iterable[Finding]) -> list[Finding]:
    """The findings in order, apart from each other. What overlaps is called by the category with priority."""
    settled: list[Finding] = []
    for finding in sorted(findings):
        if settled and finding.start < settled[-1].end:
            last = settled[-1]
            first = min(last, finding, key=lambda each: _RANK[each.category])
            settled[-1] = first._replace(start=last.start, end=max(last.end, finding.end))
        else:
            settled.append(finding)
    return settled
