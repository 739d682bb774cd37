import pytest

from appliance.errors import ConfigError
from appliance.lanes.endpoint import Endpoint, Kind, endpoint, redirect_host


@pytest.mark.parametrize("kind", ["openai", "anthropic", "mistral", "openai-compatible"])
def test_the_key_is_in_the_header_and_in_no_text(kind: Kind):
    ours = endpoint(kind, "ours", "https://api.example.com/v1", "sk-secret")
    assert "sk-secret" not in f"{ours!r} {ours}"
    assert "sk-secret" in next(iter(ours.headers().values()))


def test_each_kind_takes_its_key_in_its_own_way():
    """The API references of OpenAI and Mistral (`Authorization: Bearer`) and of Anthropic (`x-api-key`)."""
    url = "https://api.example.com/v1"
    assert endpoint("mistral", "m", url, "k").headers() == {"Authorization": "Bearer k"}
    assert endpoint("anthropic", "a", url, "k").headers() == {"x-api-key": "k"}
    assert endpoint("openai-compatible", "c", url, None).headers() == {}
    assert endpoint("openai-compatible", "c", url, "").headers() == {}


def test_addresses_are_put_together_with_one_slash():
    for url in ("https://api.example.com/v1", "https://api.example.com/v1/"):
        assert Endpoint("e", url).url("/models") == "https://api.example.com/v1/models"


def test_a_text_that_quotes_the_key_does_not_any_more():
    text = "You sent Bearer sk-secret and sk-secret."
    assert endpoint("openai", "o", "https://x/v1", "sk-secret").without_key(text) == "You sent Bearer [key] and [key]."
    assert Endpoint("o", "https://x/v1").without_key(text) == text


@pytest.mark.parametrize(
    ("url", "wrong"),
    [
        ("api.openai.com/v1", "https://"),
        ("ftp://api.openai.com", "https://"),
        ("https://", "no host"),
        ("https:///v1", "no host"),
        ("https://host name/v1", "no host"),
        ("https://[::1/v1", "no URL"),
        ("https://host:port/v1", "no URL"),
        ("https://me:pass@host/v1", "name or password"),
        ("https://host/v1?key=pass", "query"),
        ("https://host/v1#pass", "query"),
    ],
)
def test_what_is_no_base_url_is_refused_and_not_quoted(url: str, wrong: str):
    with pytest.raises(ConfigError, match=wrong) as refused:
        Endpoint("ours", url)
    assert "pass" not in str(refused.value).replace("name or password", "")
    assert refused.value.advice


@pytest.mark.parametrize("key", ["sk\n-secret", "sk-secret\r\nX-Other: y", "sk-sécret", "sk\x00"])
def test_a_key_that_no_header_can_carry_is_refused_and_not_quoted(key: str):
    with pytest.raises(ConfigError) as refused:
        endpoint("openai", "ours", "https://x/v1", key)
    assert key not in str(refused.value)


@pytest.mark.parametrize(
    ("location", "host"),
    [
        ("https://me:pass@New.example:8/v1?key=x", "new.example"),
        ("https://[2001:db8::1]/", "2001:db8::1"),
        ("/elsewhere", ""),
        ("http://[x", ""),
        ("https://a\x1bb/", ""),
        ("https://" + "a" * 300, ""),
    ],
)
def test_of_a_redirect_only_a_plain_host_is_shown(location: str, host: str):
    assert redirect_host(location) == host
