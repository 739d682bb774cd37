from tests.box import Box


async def test_status_shows_machines_and_calls(gateway: Box):
    proof_id = (await gateway.chat()).headers["x-pulse-proof"]
    status = await gateway.admin.status()
    (machine,) = status.machines
    assert (machine.healthy, machine.models, machine.why, machine.trust) == (True, ("double",), None, "loopback")
    (call,) = status.last_calls
    assert (call.proof_id, call.workspace, call.ending, call.model) == (proof_id, "default", "complete", "double")
    assert status.calls_in_flight == 0


async def test_the_proof_list_shows_every_workspace_newest_first(gateway: Box):
    made = [(await gateway.chat(model=name)).headers["x-pulse-proof"] for name in ("one", "two")]
    listed = (await gateway.admin.proofs()).proofs
    assert [proof.id for proof in listed] == made[::-1]
    assert [(proof.model, proof.answered_by, proof.ending) for proof in listed] == [
        ("two", "double", "complete"),
        ("one", "double", "complete"),
    ]


async def test_a_refused_call_is_listed_without_who_answered(gateway: Box):
    await gateway.admin.set_model("full", "absent")
    await gateway.chat()
    (proof,) = (await gateway.admin.proofs()).proofs
    assert (proof.provider, proof.answered_by, proof.ending) == (None, None, "refused")
