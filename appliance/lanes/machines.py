"""One attempt at one call on one machine of the local lane, whatever it speaks, over the connections that it has."""

from collections.abc import AsyncGenerator

from appliance.cluster.links import Links
from appliance.cluster.machine import Machine
from appliance.dialects.chat import Event
from appliance.dialects.ollama.body import Prepared
from appliance.dialects.upstream import Outgoing
from appliance.lanes.compatible import CompatibleLane
from appliance.lanes.limits import Timeouts
from appliance.lanes.machine_failures import MachineFailures
from appliance.lanes.ollama import OllamaLane


class MachineLane:
    def __init__(self, links: Links, timeouts: Timeouts) -> None:
        self._links = links
        self._timeouts = timeouts

    def ask(self, machine: Machine, body: Prepared | Outgoing, *, elapsed: float = 0.0) -> AsyncGenerator[Event, None]:
        """Send the body and yield the answer's events; the last one is a `Finish`. `elapsed`: seconds of the call's
        total limit that are used up.

        Raises:
            AttemptFailed: with the error the caller would see if nobody else can answer.
        """
        try:
            link = self._links.of(machine)
        except ConnectionError as error:  # it was put out between the choice of the machine and now
            raise MachineFailures({}).unreachable(str(error)) from error
        if isinstance(body, Outgoing):
            lane = CompatibleLane(link.session, self._timeouts)
            return lane.chat(machine.url, link.headers, body, elapsed=elapsed)
        return OllamaLane(link.session, self._timeouts).chat(machine.url, body, elapsed=elapsed, headers=link.headers)
