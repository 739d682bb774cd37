"""The clocks."""

import time

from appliance.engine.clock import Clock


def test_the_clocks_of_this_machine():
    clock = Clock()
    assert abs(clock.wall_ns() / 1e9 - time.time()) < 60
    assert clock.steady_ns() <= clock.steady_ns()
