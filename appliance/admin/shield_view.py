"""What the admin API shows of the shield in force, and the trial of a text, in the API's own shapes."""

from appliance.admin import wire
from appliance.calls.live_shield import LiveShield
from appliance.settings import Shield
from appliance.shield.categories import BY_MODE


class ShieldView:
    def __init__(self, shield: LiveShield, settings: Shield) -> None:
        self._shield = shield
        self._settings = settings

    def describe(self, *, chosen: bool) -> wire.Shield:
        mode = self._shield.now.mode
        return wire.Shield(
            mode=mode,
            set=chosen,
            configured=self._settings.mode,
            categories=BY_MODE[mode],
            country=self._settings.country,
            names=len(self._settings.names),
            ignored=len(self._settings.ignore),
        )

    async def test(self, text: str) -> wire.ShieldAnswer:
        shield = self._shield.now
        (found,) = await shield.scan([text])
        (masked,) = shield.mask([text], [found]).texts
        findings: list[wire.ShieldFinding] = []
        moved = 0  # how much further on a place of the text stands in the masked one
        for each in found:
            token = masked[each.start + moved : masked.index("]", each.start + moved) + 1]
            findings.append(wire.ShieldFinding(each.start, each.end, each.category, token, each.rule, each.context))
            moved += len(token) - (each.end - each.start)
        return wire.ShieldAnswer(mode=shield.mode, masked=masked, findings=tuple(findings))
