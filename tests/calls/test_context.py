import pytest

from appliance.calls.context import surely_too_long, was_cut


@pytest.mark.parametrize(
    ("estimate", "reported", "context", "cut"),
    [
        (7_500, 2_050, 4_096, True),  # recorded from Ollama 0.32.15: 6,000 words became 2,050 tokens
        (60_000, 16_386, 32_768, True),
        (10_000, 900, 4_096, True),  # whole messages went
        (2_050, 2_050, 4_096, False),  # a prompt that happens to have that length
        (2_400, 2_050, 4_096, False),
        (5_000, 3_900, 4_096, False),  # prose, estimated a little high
        (9_000, 8_000, 4_096, False),  # a machine with a longer context than it was told
        (7_500, 0, 4_096, False),  # it reports nothing
        (12, 30, 4_096, False),
    ],
)
def test_a_cut_is_told_by_what_the_machine_says_it_has_read(estimate: int, reported: int, context: int, cut: bool):
    assert was_cut(estimate, reported, context) is cut


def test_only_what_cannot_fit_is_refused_unsent():
    assert surely_too_long(8_193, 4_096)
    assert not surely_too_long(8_192, 4_096)
