from dataclasses import dataclass, field, replace

import pytest

from appliance.cluster.machine import Machine
from appliance.cluster.places import MAX_PLACES, FindingProber, Places, url_at

PINNED = Machine("p", "desk", "https://10.0.0.1:11435", "pinned")


@dataclass
class Answers:
    """Finds a machine well at these URLs alone."""

    at: tuple[str, ...]
    asked: list[str] = field(default_factory=list)

    async def probe(self, machine: Machine) -> Machine:
        self.asked.append(machine.url)
        if machine.url in self.at:
            return replace(machine, healthy=True, why="")
        return machine.failed(f"nobody at {machine.url}")


@pytest.mark.parametrize(
    ("address", "url"), [("10.0.0.7", "https://10.0.0.7:11435"), ("fd00::7", "https://[fd00::7]:11435")]
)
def test_the_url_of_an_address(address: str, url: str):
    assert url_at(address, 11435) == url


def test_what_is_heard_is_all_that_there_is_now():
    places = Places()
    assert places.hear("a", ["x", "y", "x"])
    assert not places.hear("a", ["x", "y"])
    assert places.of("a") == ("x", "y")
    assert places.hear("a", [])
    assert (places.of("a"), places.of("b")) == ((), ())
    places.hear("a", ["x"])
    places.forget("a")
    places.forget("a")
    assert places.of("a") == ()


def test_no_number_of_addresses_makes_us_call_a_whole_network():
    places = Places()
    places.hear("a", [f"https://10.0.0.{n}:1" for n in range(100)])
    assert len(places.of("a")) == MAX_PLACES


def finding(answers: Answers, *urls: str) -> FindingProber:
    places = Places()
    places.hear("p", urls)
    return FindingProber({"ollama": answers, "openai-compatible": Answers(("never",))}, places)


async def test_a_machine_that_answers_is_asked_nowhere_else():
    answers = Answers((PINNED.url, "https://10.0.0.2:11435"))
    found = await finding(answers, "https://10.0.0.2:11435").probe(PINNED)
    assert (found.url, answers.asked) == (PINNED.url, [PINNED.url])


async def test_one_that_has_moved_is_found_at_the_first_place_where_it_answers():
    answers = Answers(("https://10.0.0.3:11435",))
    found = await finding(answers, PINNED.url, "https://10.0.0.2:11435", "https://10.0.0.3:11435").probe(PINNED)
    assert (found.url, found.healthy) == ("https://10.0.0.3:11435", True)
    assert answers.asked == [PINNED.url, "https://10.0.0.2:11435", "https://10.0.0.3:11435"]


async def test_one_that_answers_nowhere_stays_where_it_was_and_says_why_there():
    found = await finding(Answers(()), "https://10.0.0.2:11435").probe(PINNED)
    assert (found.url, found.healthy, found.why) == (PINNED.url, False, f"nobody at {PINNED.url}")


@pytest.mark.parametrize("trust", ["open", "loopback"])
async def test_a_machine_without_a_key_is_looked_for_nowhere_else(trust: str):
    """Whoever answers there could be anybody."""
    answers = Answers(("https://10.0.0.2:11435",))
    found = await finding(answers, "https://10.0.0.2:11435").probe(replace(PINNED, trust=trust))  # type: ignore[arg-type]
    assert (found.healthy, answers.asked) == (False, [PINNED.url])


async def test_each_kind_is_asked_in_its_own_way():
    ollama, other = Answers(("u",)), Answers(("u",))
    prober = FindingProber({"ollama": ollama, "openai-compatible": other}, Places())
    await prober.probe(Machine("a", "a", "u", "open", kind="openai-compatible"))
    assert (ollama.asked, other.asked) == ([], ["u"])
