from tui.tools import Step, Verdict


def test_a_verdict_keeps_its_steps_in_order():
    steps = (Step("profile", "ok", "canonical"), Step("signature", "bad", "another key"))
    assert [step.state for step in Verdict(steps, False, "At least one is bad.").steps] == ["ok", "bad"]
