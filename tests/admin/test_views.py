from tests.box import Box
from tests.upstreams.ollama import OllamaDouble


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


async def test_the_contexts_of_the_models_in_use_are_shown_and_not_chosen(gateway: Box, ollama: OllamaDouble):
    (found,) = (await gateway.admin.contexts()).contexts
    assert (found.model, found.roles, found.tokens, found.longest) == ("double", ("full", "fast", "local"), 8192, 8192)
    await gateway.admin.set_model("full", "absent")
    await gateway.admin.set_model("fast", "double")
    (found,) = (await gateway.admin.contexts()).contexts
    assert (found.model, "full" in found.roles) == ("double", False)
    assert found.machine == ollama.url.removeprefix("http://")
