import asyncio

from appliance.lanes.limits import Limit, running, sooner

WORDS = {"idle": ("It fell silent for", "Wait."), "total": ("It took longer than", "Ask for less.")}


async def test_a_limit_runs_from_now_less_what_is_used_up():
    now = asyncio.get_running_loop().time()
    limit = running("total", 10, elapsed=4)
    assert (limit.name, limit.seconds) == ("total", 10)
    assert 6 <= limit.at - now < 6.5


def test_the_sooner_of_two():
    first, second = Limit("idle", 1, 5.0), Limit("total", 9, 4.0)
    assert sooner(first, second) is sooner(second, first) is second


def test_a_limit_that_passed_names_itself_and_its_length():
    failed = Limit("idle", 0.5, 0.0).passed(WORDS)
    assert failed.error.message == "It fell silent for 0.5 s (limit `idle`)."
    assert (failed.error.code, failed.error.advice, failed.elsewhere) == ("upstream_timeout", "Wait.", True)


def test_nobody_else_can_keep_a_limit_of_the_whole_call():
    assert not Limit("total", 5, 0.0).passed(WORDS).elsewhere
