from dataclasses import replace

from appliance.doctor.checking import check
from appliance.doctor.facts import DatabaseFacts, FileFact, SocketFacts, StateFacts
from tests.doctor.healthy import DATABASE, HEALTHY, MACHINE


def test_where_nothing_is_wrong_everything_is_ok():
    assert {finding.state for finding in check(HEALTHY)} == {"ok"}


def test_the_order_is_that_in_which_one_would_look():
    assert [finding.check for finding in check(HEALTHY)] == [
        "configuration",
        "state directory",
        "key file",
        "database",
        "disk space",
        "backup",
        "clock",
        "service",
        "daemon",
        "admin socket",
        "gateway port",
        "TLS",
        "discovery",
        "machine 127.0.0.1:11434",
        "models",
        "context",
    ]


def test_without_a_daemon_what_can_be_checked_is():
    down = replace(
        HEALTHY,
        daemon=None,
        machines=(MACHINE,),
        database=replace(DATABASE, closed_providers=("openai",)),
        socket=SocketFacts(FileFact("/run/synapse/admin.sock", "absent"), "down"),
    )
    found = {finding.check: finding.state for finding in check(down)}
    assert found["machine http://127.0.0.1:11434"] == "ok"
    assert found["provider openai"] == "failed"
    assert found["daemon"] == "warning"
    assert "models" not in found


def test_before_the_first_start_nothing_has_failed():
    new = replace(
        HEALTHY,
        config=None,
        state=StateFacts(FileFact("/x", "absent"), key_there=False),
        database=DatabaseFacts(there=False, newest_schema=7),
        backup=None,
        daemon=None,
        service=replace(HEALTHY.service, load="not-found"),
        port=replace(HEALTHY.port, problem=None),
        machines=(MACHINE,),
    )
    assert "failed" not in {finding.state for finding in check(new)}


def test_what_is_wrong_has_a_next_step():
    broken = replace(HEALTHY, daemon=None, version="9", disk=None, backup=None, machines=())
    assert all(finding.advice for finding in check(broken) if finding.state != "ok")
