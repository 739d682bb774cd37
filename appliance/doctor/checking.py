"""All checks, in the order in which one would look: what is kept first, then what runs, then who answers. Pure."""

from appliance.doctor import lane_checks, storage_checks, system_checks
from appliance.doctor.facts import Facts
from appliance.doctor.finding import Finding


def check(facts: Facts) -> list[Finding]:
    running = facts.daemon
    found = [
        *system_checks.configuration(facts.config),
        *storage_checks.state_directory(facts.state, facts.user),
        *storage_checks.key_file(facts.state, facts.database),
        *storage_checks.database(facts.database, facts.user),
        *storage_checks.disk(facts.disk, facts.database),
        *storage_checks.backup(facts.backup, facts.database, facts.clock.now),
        *system_checks.clock(facts.clock, facts.database.newest_call),
        *system_checks.service(facts.service, running=running is not None),
        *system_checks.daemon(facts),
        *system_checks.admin_socket(facts.socket, facts.user),
        *system_checks.port(facts.port, running),
        *system_checks.tls(facts.tls),
        *system_checks.discovery(facts.mdns, running.nodes.discovery if running else None),
    ]
    if running is None:
        return found + lane_checks.listed_machines(facts.machines) + lane_checks.sealed_providers(facts.database)
    return [
        *found,
        *lane_checks.machines(running),
        *lane_checks.models(running.models, running.status.active_provider),
        *lane_checks.contexts(running.contexts),
        *lane_checks.providers(running.providers, running.checks, facts.database),
    ]
