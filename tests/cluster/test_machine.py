import pytest

from appliance.cluster.machine import Machine, Model, canonical, default_model, leaves_the_building


def model(name: str, parameters: int = 1, *, capabilities: tuple[str, ...] = ("completion",), remote: bool = False):
    return Model(name, "0" * 64, parameters, frozenset(capabilities), remote)


def machine(*models: Model, healthy: bool = True) -> Machine:
    return Machine("m", "m", "http://127.0.0.1:1", "loopback", healthy=healthy, models=models)


@pytest.mark.parametrize(
    ("name", "remote_host", "leaves"),
    [
        ("llama3.2:latest", None, False),
        ("gpt-oss:120b-cloud", None, True),
        ("deepseek:cloud", None, True),
        ("named-cloud", None, True),
        ("renamed:latest", "https://ollama.com:443", True),
        ("cloudy:latest", None, False),
    ],
)
def test_tags_served_by_ollamas_own_cloud_are_never_local(name: str, remote_host: str | None, leaves: bool):
    assert leaves_the_building(name, remote_host) is leaves


def test_latest_may_be_left_out():
    assert canonical("smollm2:latest") == "smollm2"
    assert machine(model("smollm2:latest")).has("smollm2")
    assert machine(model("smollm2")).has("smollm2:latest")
    assert not machine(model("smollm2:135m")).has("smollm2")


def test_a_cloud_tag_is_not_a_model_of_the_machine():
    assert not machine(model("big:cloud", remote=True)).has("big:cloud")


def test_the_default_is_the_largest_chat_model_of_a_healthy_machine():
    small, large = model("small:latest", 10), model("large:8b", 800)
    embedder = model("embedder", 9_000, capabilities=("embedding",))
    cloud = model("huge:cloud", 99_000, remote=True)
    assert default_model((machine(small), machine(large, embedder, cloud))) == "large:8b"
    assert default_model((machine(small), machine(large, healthy=False))) == "small"
    assert default_model((machine(embedder, cloud),)) is None
    assert default_model(()) is None
