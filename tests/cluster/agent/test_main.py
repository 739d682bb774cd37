from pathlib import Path
from typing import Any

import pytest

from appliance.cluster.agent.main import NodeOptions, check_ollama, describe, reset, run, slots_of
from appliance.cluster.agent.state import opened
from appliance.cluster.cluster_key import ClusterKey
from appliance.cluster.identity import Identity
from appliance.cluster.join import Told
from appliance.cluster.words import words
from appliance.errors import ConfigError, StateError

GATEWAY, OTHER_GATEWAY, NODE = Identity.create(), Identity.create(), Identity.create()
KEY = ClusterKey(GATEWAY.id, bytes(range(20)))


class TestWhatItSaysOfItself:
    @pytest.mark.parametrize(
        ("told", "says"),
        [
            (Told(), "told of no gateway"),
            (Told(key=KEY), f"waits for the gateway {GATEWAY.instance}, which takes it in by the cluster key"),
            (Told(words=words(GATEWAY.id)), "admit it there"),
            (Told(claimed_by=GATEWAY.id), f"belongs to the gateway {GATEWAY.instance} ({' '.join(words(GATEWAY.id))})"),
            (Told(key=KEY, claimed_by=OTHER_GATEWAY.id), "node reset"),
        ],
        ids=["nothing", "a key", "words", "a gateway", "a key of another"],
    )
    def test_and_of_what_to_do_next(self, told: Told, says: str):
        lines = describe("desk", NODE.id, told)
        assert "desk" in lines[0]
        assert " ".join(words(NODE.id)) in lines[0]
        assert any(says in line for line in lines[1:])

    def test_without_advice_where_all_is_well(self):
        assert len(describe("desk", NODE.id, Told(key=KEY, claimed_by=GATEWAY.id))) == 2


class TestOptions:
    def test_the_cluster_key_is_never_shown(self, tmp_path: Path):
        assert "synk_" not in repr(NodeOptions(state=tmp_path, cluster_key=KEY.text()))

    @pytest.mark.parametrize(
        "options",
        [
            {"cluster_key": KEY.text()[:-3]},
            {"gateway_words": "zoo zoo zoo"},
            {"ollama": "http://192.168.1.20:11434"},
            {"name": "two\nlines"},
            {"slots": 0},
        ],
        ids=lambda options: next(iter(options)),
    )
    def test_what_is_wrong_is_said_before_anything_is_made(self, tmp_path: Path, options: dict[str, Any]):
        with pytest.raises(ConfigError) as caught:
            run(NodeOptions(state=tmp_path / "node", **options), {})
        assert caught.value.advice
        assert KEY.text()[5:20] not in str(caught.value)
        assert not (tmp_path / "node").exists()

    @pytest.mark.parametrize(
        ("given", "said", "slots"),
        [
            (None, None, None),
            (None, "", None),
            (None, "6", 6),
            (None, " 6 ", 6),
            (None, "0", None),
            (None, "-1", None),
            (None, "many", None),
            (None, "²", None),
            (None, "1" * 5000, None),
            (8, "6", 8),
        ],
    )
    def test_how_many_calls_at_once(self, given: int | None, said: str | None, slots: int | None):
        assert slots_of(given, {} if said is None else {"OLLAMA_NUM_PARALLEL": said}) == slots

    @pytest.mark.parametrize(
        "url", ["http://127.0.0.1:11434", "http://localhost:1/", "http://[::1]:2", "http://127.9.9.9"]
    )
    def test_an_ollama_on_this_machine(self, url: str):
        check_ollama(url)

    @pytest.mark.parametrize(
        "url",
        [
            "",
            "127.0.0.1:11434",
            "https://127.0.0.1",
            "http://0.0.0.0:11434",
            "http://10.0.0.1:11434",
            "http://ollama.example:11434",
            "http://localhost.example:11434",
            "http://127.0.0.1%.example.com:11434",
            "http://127.0.0.1@10.0.0.1:11434",
            "http://user:pass@127.0.0.1:1",
            "http://127.0.0.1:1/api",
            "http://127.0.0.1:1/?x",
            "http://127.0.0.1:99999",
            "http://[::1",
        ],
    )
    def test_no_other_ollama(self, url: str):
        with pytest.raises(ConfigError):
            check_ollama(url)


class TestReset:
    def test_lets_it_belong_to_nobody(self, tmp_path: Path):
        with opened(tmp_path, name="desk", fallback="") as state:
            state.pin(GATEWAY.certificate)
            with pytest.raises(StateError):
                reset(tmp_path)
        assert GATEWAY.instance in reset(tmp_path)
        assert reset(tmp_path) == "This machine belongs to no gateway."
        with opened(tmp_path, name="", fallback="") as state:
            assert state.gateway is None
