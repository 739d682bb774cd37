"""Checks of the machine around the daemon: settings, clock, admin socket, port, TLS, discovery and service. Pure."""

from datetime import UTC, datetime, timedelta

from appliance.doctor.facts import ClockFacts, DaemonFacts, Facts, MdnsFacts, PortFacts, ServiceFacts, SocketFacts
from appliance.doctor.finding import Finding, failed, ok, warning

NOT_BEFORE = datetime(2026, 1, 1, tzinfo=UTC)
"""No clock that is right shows less: this version is younger."""

SKEW = timedelta(minutes=5)

_SOCKET, _PORT, _DISCOVERY, _SERVICE = "admin socket", "gateway port", "discovery", "service"


def configuration(config: str | None) -> list[Finding]:
    return [ok("configuration", config or "There is no settings file: the defaults and the environment hold.")]


def clock(facts: ClockFacts, newest_call: datetime | None) -> list[Finding]:
    """Certificates say when a call was: with a wrong clock they say what is not so."""
    advice = "Set it, and keep it right: timedatectl set-ntp true"
    shown = f"{facts.now:%Y-%m-%d %H:%M}Z"
    if facts.now < NOT_BEFORE:
        return [failed("clock", f"It shows {shown}, before this version was written.", advice)]
    if newest_call is not None and facts.now < newest_call - SKEW:
        said = f"It shows {shown}, and the newest call of the ledger is of {newest_call:%Y-%m-%d %H:%M}Z."
        return [failed("clock", said, advice)]
    if facts.synchronized is False:
        return [warning("clock", f"It shows {shown}, and nothing keeps it right.", advice)]
    kept = ", and is kept right" if facts.synchronized else ""
    return [ok("clock", f"It shows {shown}{kept}.")]


def admin_socket(facts: SocketFacts, user: str) -> list[Finding]:
    """Whoever may open it is an administrator."""
    file = facts.file
    if facts.denied or file.kind == "hidden":
        advice = "Run this as root, or become a member of the group synapse."
        return [failed(_SOCKET, f"{user} may not use {file.path}.", advice)]
    if file.kind not in ("socket", "absent"):
        return [failed(_SOCKET, f"{file.path} is there and is no socket.", "Move it away, or set admin.socket.")]
    if file.kind == "socket" and file.mode & 0o007:
        said = f"{file.path} is open to every user of this machine (mode {file.mode:04o})."
        return [failed(_SOCKET, said, f"Run: chmod 660 {file.path}")]
    if file.kind == "absent":
        return [ok(_SOCKET, f"{file.path} is not there while no daemon runs.")] if facts.problem else []
    if facts.problem is not None:
        return [ok(_SOCKET, f"{file.path} was left by a daemon that is gone; the next start removes it.")]
    return [ok(_SOCKET, f"{file.path} answers, and is open to {file.owner} and its group alone.")]


def daemon(facts: Facts) -> list[Finding]:
    """Whether it runs, and is what is installed."""
    if facts.daemon is None:
        return [_down(facts)]
    status = facts.daemon.status
    if status.version != facts.version:
        said = f"It runs version {status.version}, and {facts.version} is installed."
        return [warning("daemon", said, "Restart it.")]
    return [ok("daemon", f"It runs (version {status.version}, process {status.pid}).")]


def port(facts: PortFacts, daemon: DaemonFacts | None) -> list[Finding]:
    """Whether clients reach the gateway where the settings put it."""
    where = f"{facts.port} on {facts.host}"
    if daemon is not None:
        if facts.port and not daemon.status.base_url.endswith(f":{facts.port}/v1"):
            said = f"The daemon is at {daemon.status.base_url}, and the settings say port {facts.port}."
            return [warning(_PORT, said, "Restart it, or give this command the settings that it was started with.")]
        if facts.answers is False:
            return [
                failed(_PORT, f"The daemon has port {where}, and does not answer.", "Restart it; its log says more.")
            ]
        return [ok(_PORT, f"The daemon answers at {daemon.status.base_url}.")]
    if facts.problem is None:
        return [ok(_PORT, f"Port {where} is free.")]
    who = f" by {facts.holder}" if facts.holder else ""
    advice = f"Stop what listens there, or choose another: gateway.port = {facts.port + 1}."
    return [failed(_PORT, f"Port {where} cannot be used: {facts.problem}{who}.", advice)]


def tls(mode: str) -> list[Finding]:
    if mode == "off":
        return [ok("TLS", "Off: keys and prompts cross the network as they are. Use it in one that you trust.")]
    return [ok("TLS", f'gateway.tls is "{mode}".')]


def discovery(facts: MdnsFacts, heard: str | None) -> list[Finding]:
    """`heard`: in a sentence, why the running daemon hears no machines; None where it does, or none runs."""
    typed = "Until then machines are added by their address: synapse node add URL."
    if not facts.enabled:
        return [ok(_DISCOVERY, "The settings switch it off (discovery.enabled).")]
    absent = [name for name in facts.wanted if name not in facts.chosen]
    if absent:
        said = f"The settings name interfaces that are not there or not up: {', '.join(absent)}."
        return [warning(_DISCOVERY, said, f"Correct discovery.interfaces. {typed}")]
    if not facts.chosen:
        return [warning(_DISCOVERY, "There is no network interface for it.", f"Connect this machine. {typed}")]
    if facts.problem is not None:
        who = f" by {facts.holder}" if facts.holder else ""
        said = f"Port 5353 (UDP) cannot be shared: {facts.problem}{who}."
        return [warning(_DISCOVERY, said, f"Stop that program, or let it share the port. {typed}")]
    if facts.silent:
        said = f"What was sent to 224.0.0.251 did not come back on {', '.join(facts.silent)}: something blocks it."
        return [warning(_DISCOVERY, said, f"Let UDP port 5353 through the firewall. {typed}")]
    if heard is not None:
        return [warning(_DISCOVERY, f"The daemon hears no machines: {heard}.", typed)]
    return [ok(_DISCOVERY, f"mDNS works on {', '.join(facts.chosen)}.")]


def service(facts: ServiceFacts, *, running: bool) -> list[Finding]:
    """Whether the gateway is there again after a restart of the machine."""
    if not facts.present:
        return []
    if facts.load in ("", "not-found"):
        said = "There is no unit synapse.service: the gateway does not start with the machine."
        return [warning(_SERVICE, said, "Install it as a service, or see to its start yourself.")]
    if facts.active == "failed":
        said = f"synapse.service has failed ({facts.result or 'no reason given'})."
        return [failed(_SERVICE, said, "See why: journalctl -u synapse -n 50")]
    if facts.active != "active":
        if running:
            said = f"synapse.service is {facts.active}, and a daemon runs beside it."
            return [warning(_SERVICE, said, "Stop that one, and run: systemctl start synapse")]
        return [failed(_SERVICE, f"synapse.service is {facts.active}.", "Run: systemctl start synapse")]
    if facts.enabled not in ("enabled", "static", "linked", "generated"):
        said = "synapse.service runs, and is not started with the machine."
        return [warning(_SERVICE, said, "Run: systemctl enable synapse")]
    return [ok(_SERVICE, "synapse.service runs, and starts with the machine.")]


def _down(facts: Facts) -> Finding:
    if facts.state.holder:
        said = (
            f"Process {facts.state.holder} owns the state directory, and does not answer on {facts.socket.file.path}."
        )
        return failed("daemon", said, "Give this command the settings that it was started with, or restart it.")
    said = "It does not run: what only it knows is not checked."
    return warning("daemon", said, "Start it: systemctl start synapse, ./scripts/up, or synapse serve.")
