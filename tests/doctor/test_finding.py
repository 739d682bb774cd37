from appliance.doctor.finding import failed, ok, warning


def test_each_says_how_it_is_and_what_to_do():
    assert [(one.state, one.advice) for one in (ok("a", "b"), warning("a", "b", "c"), failed("a", "b", "d"))] == [
        ("ok", ""),
        ("warning", "c"),
        ("failed", "d"),
    ]
