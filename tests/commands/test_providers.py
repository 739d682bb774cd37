import io
import sys

import pytest

from appliance.admin import wire
from appliance.admin.client import Client
from appliance.admin.policy_wire import NewProvider, ProviderCheck
from appliance.admin.wire import InvalidInput
from appliance.commands import providers
from tests.admin.played import Daemon

KEY = "sk-a-key-that-nobody-may-see"
OPENAI = NewProvider("openai", "openai", key=KEY, full="gpt-4o", fast="gpt-4o-mini")
RACK = NewProvider("rack", "openai-compatible", "http://192.168.1.9:8000/v1", KEY, "qwen3")


class Stdin(io.TextIOWrapper):
    def __init__(self, data: bytes) -> None:
        super().__init__(io.BytesIO(data))


class TestKey:
    @pytest.mark.parametrize(
        ("data", "key"),
        [(b"sk-1", "sk-1"), (b"sk-1\n", "sk-1"), (b"sk-1\r\n", "sk-1"), (b" sk-1 \n", " sk-1 "), (b"a\nb\n", "a\nb")],
    )
    def test_only_the_end_of_its_line_is_taken_off(self, data: bytes, key: str, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setattr(sys, "stdin", Stdin(data))
        assert providers.read_key() == key

    @pytest.mark.parametrize("data", [b"", b"\n", b"\r\n"])
    def test_nothing_says_what_to_do(self, data: bytes, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setattr(sys, "stdin", Stdin(data))
        with pytest.raises(InvalidInput, match=r"^No key came on standard input\. Pipe it in: synapse provider add"):
            providers.read_key()

    def test_no_standard_input(self, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setattr(sys, "stdin", None)
        with pytest.raises(InvalidInput, match="There is no standard input"):
            providers.read_key()

    def test_what_is_no_text_is_not_quoted(self, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setattr(sys, "stdin", Stdin(b"sk-secret\xff"))
        with pytest.raises(InvalidInput, match="is not text") as caught:
            providers.read_key()
        assert caught.value.__cause__ is None
        assert "secret" not in str(caught.value)

    def test_an_endless_input_ends(self, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setattr(sys, "stdin", Stdin(b"x" * 10_000_000))
        assert len(providers.read_key()) == 8 * 1024


class TestAdd:
    async def test_a_new_one(self, client: Client):
        outcome = await providers.add(client, OPENAI)
        # The prices are those of openai.com/api/pricing.
        assert outcome.lines == (
            "Provider openai is added: openai at https://api.openai.com/v1.",
            "Full model gpt-4o ($2.5 + $10); fast model gpt-4o-mini ($0.15 + $0.6).",
            "Its key is stored encrypted, and is never shown again.",
        )
        assert outcome.notes == (
            "Try it: synapse provider test openai",
            "No call goes there yet: synapse policy active openai, or synapse policy allow openai …",
        )
        assert KEY not in str(outcome)

    async def test_one_that_is_there_says_what_is_different(self, client: Client):
        await providers.add(client, OPENAI)
        outcome = await providers.add(client, NewProvider("openai", "openai", full="gpt-5", key="sk-2"))
        assert outcome.lines[:3] == (
            "Provider openai is changed: openai at https://api.openai.com/v1.",
            "full model: gpt-4o → gpt-5",
            "key: another",
        )
        assert outcome.notes == ("Try it: synapse provider test openai",)
        outcome = await providers.add(client, NewProvider("openai", "openai"))
        assert outcome.lines[1] == "Nothing is different."
        assert not any("key" in line for line in outcome.lines)

    async def test_another_kind_under_an_old_name(self, client: Client):
        await providers.add(client, RACK)
        outcome = await providers.add(client, NewProvider("rack", "mistral", key=KEY))
        assert outcome.lines[1:6] == (
            "kind: openai-compatible → mistral",
            "URL: http://192.168.1.9:8000/v1 → https://api.mistral.ai/v1",
            "full model: qwen3 → none",
            "key: another",
            "It has no full model, and no call goes there until it has: add it again with --full MODEL.",
        )

    async def test_without_a_fast_model_or_a_price(self, client: Client):
        outcome = await providers.add(client, NewProvider("x", "openai", key=KEY, full="no-such"))
        assert outcome.lines[1] == "Full model no-such (no price known); no fast model: the full one serves."


class TestList:
    async def test_an_empty_one_says_so(self, client: Client):
        outcome = await providers.show_all(client)
        assert outcome.lines == ("There is no external provider: every call stays on your own machines.",)
        assert outcome.document == {"providers": (), "revision": 0}

    async def test_names_kinds_urls_models_and_prices(self, client: Client):
        for new in (OPENAI, RACK, NewProvider("half", "mistral", key=KEY)):
            await client.put_provider(new)
        outcome = await providers.show_all(client)
        assert [line.split("  ")[0] for line in outcome.lines] == ["NAME", "openai", "rack", "half"]
        assert "gpt-4o ($2.5 + $10)" in outcome.lines[1]
        assert outcome.lines[1].endswith("gpt-4o-mini ($0.15 + $0.6)")
        assert "qwen3 ($0.1 + $0.2)" in outcome.lines[2]
        assert "none: not configured" in outcome.lines[3]
        assert outcome.document["providers"][0]["full_price"] == {"prompt": 2_500_000, "completion": 10_000_000}
        assert KEY not in str(outcome)


class TestTest:
    async def test_all_is_well(self, client: Client):
        await client.put_provider(OPENAI)
        outcome = await providers.test(client, "openai")
        assert (outcome.code, outcome.lines) == (0, ("Provider openai answers: its URL, key and models are good.",))
        assert outcome.document == {"ok": True, "problem": "", "advice": ""}

    async def test_what_is_wrong_and_what_to_do(self, client: Client, listening: Daemon):
        await client.put_provider(OPENAI)
        listening.checker.answer = ProviderCheck(False, "The key is refused.", "Give another:\x1b[31m")
        outcome = await providers.test(client, "openai")
        assert (outcome.code, outcome.lines) == (
            1,
            ("Provider openai does not work: The key is refused.", "Give another:\\x1b[31m"),
        )

    async def test_no_such_provider(self, client: Client):
        with pytest.raises(wire.UnknownSubject, match='There is no provider "x"'):
            await providers.test(client, "x")


class TestRemove:
    async def test_one_that_nobody_names(self, client: Client):
        await client.put_provider(OPENAI)
        outcome = await providers.remove(client, "openai")
        assert outcome.lines == ("Provider openai is removed, and its key with it.",)

    async def test_who_names_it_and_what_happens_is_told(self, client: Client):
        await client.put_provider(OPENAI)
        await client.create_workspace("legal")
        await client.set_active("openai")
        await client.set_allow_list(("openai",))
        await client.set_allow_list(("openai", "ollama"), "legal")
        outcome = await providers.remove(client, "openai")
        assert " ".join(outcome.lines) == (
            "Provider openai is removed, and its key with it."
            " It is still the active provider: calls of workspaces without an allow-list are refused (403) until"
            " another is (synapse policy active ollama)."
            " The allow-list of workspace default still names it; its calls are refused (403). Write another with"
            " synapse policy allow."
            " The allow-list of workspace legal still names it; its calls go to the others that it names. Write another"
            " with synapse policy allow."
        )
        assert all(len(line) <= 80 for line in outcome.lines)
        assert (outcome.document["listed"], outcome.document["refused"]) == (("default", "legal"), ("default",))
