import pytest

from appliance.admin import policy_wire
from appliance.admin.provider_url import checked
from appliance.admin.wire import InvalidInput


@pytest.mark.parametrize(
    ("kind", "url"),
    [
        # What the providers' SDKs use: openai, mistralai and anthropic on PyPI.
        ("openai", "https://api.openai.com/v1"),
        ("mistral", "https://api.mistral.ai/v1"),
        ("anthropic", "https://api.anthropic.com"),
    ],
)
def test_each_kind_has_its_own_address(kind: policy_wire.ProviderKind, url: str):
    assert checked(kind, None) == url


def test_a_compatible_server_can_be_anywhere_and_must_be_named():
    with pytest.raises(InvalidInput, match="Give --base-url"):
        checked("openai-compatible", None)


@pytest.mark.parametrize(
    ("url", "used"),
    [
        ("https://llm.example.com/v1", "https://llm.example.com/v1"),
        ("https://llm.example.com/v1/", "https://llm.example.com/v1"),
        ("https://llm.example.com", "https://llm.example.com"),
        ("https://llm.example.com:8443/a/b", "https://llm.example.com:8443/a/b"),
        ("https://8.8.8.8/v1", "https://8.8.8.8/v1"),
        ("http://127.0.0.1:8000/v1", "http://127.0.0.1:8000/v1"),
        ("http://localhost:8000/v1", "http://localhost:8000/v1"),
        ("http://[::1]:8000/v1", "http://[::1]:8000/v1"),
        ("http://10.0.0.5/v1", "http://10.0.0.5/v1"),
        ("http://172.31.0.1/v1", "http://172.31.0.1/v1"),
        ("http://192.168.1.9:8000/v1", "http://192.168.1.9:8000/v1"),
        ("http://[fd00::2]/v1", "http://[fd00::2]/v1"),
    ],
)
def test_what_may_be_used(url: str, used: str):
    assert checked("openai-compatible", url) == used


@pytest.mark.parametrize(
    "url",
    [
        "http://api.openai.com/v1",
        "http://8.8.8.8/v1",
        "http://172.32.0.1/v1",
        "http://[2001:4860:4860::8888]/v1",
        # A name can lead anywhere, whatever it looks like; so can a number that only some resolvers read.
        "http://llm.lan/v1",
        "http://127.0.0.1.example.com/v1",
        "http://localhost.example.com/v1",
        "http://2130706433/v1",
        "http://127.1/v1",
    ],
)
def test_what_is_not_encrypted_stays_in_the_network(url: str):
    with pytest.raises(InvalidInput, match="is not encrypted") as caught:
        checked("openai-compatible", url)
    assert "private addresses" in caught.value.advice


@pytest.mark.parametrize(
    "url",
    [
        "",
        "llm.example.com/v1",
        "//llm.example.com",
        "ftp://llm.example.com",
        "https://",
        "https:///v1",
        "https://a b/v1",
        "https://llm.example.com/v1?key=x",
        "https://llm.example.com/v1#x",
        "https://llm.example.com:0/v1",
        "https://llm.example.com:99999/v1",
        "https://llm.example.com/\nHost: x",
        "https://llm.exämple.com/v1",
        "https://[::1/v1",
        "https://llm.example.com/" + "x" * 512,
    ],
)
def test_what_is_no_url(url: str):
    with pytest.raises(InvalidInput, match="is no URL"):
        checked("openai-compatible", url)


@pytest.mark.parametrize("url", ["https://me:secret@llm.example.com/v1", "https://secret@llm.example.com"])
def test_a_password_in_a_url_is_refused_and_not_quoted(url: str):
    with pytest.raises(InvalidInput) as caught:
        checked("openai-compatible", url)
    assert caught.value.message == "The base URL holds a user or a password."
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("end", ["/chat/completions", "/messages", "/responses", "/models", "/chat/completions/"])
def test_an_address_that_was_copied_whole(end: str):
    with pytest.raises(InvalidInput, match=f"The base URL ends in {end.rstrip('/')}, which is added to it"):
        checked("openai", f"https://api.openai.com/v1{end}")


def test_anthropics_dialect_adds_v1_itself():
    # operations.md: "with /v1 for OpenAI and Mistral kinds, without for Anthropic".
    with pytest.raises(InvalidInput, match="ends before /v1"):
        checked("anthropic", "https://api.anthropic.com/v1/")
    assert checked("anthropic", "https://gateway.example.com/anthropic/") == "https://gateway.example.com/anthropic"
