from dataclasses import replace

from appliance.admin.ledger_wire import LedgerCall, Percentiles, Sum
from tui import calls
from tui.widgets.table import GAP, MARK

CALL = LedgerCall(
    at="2026-11-28T10:00:00.000Z",
    proof_id="prf_1",
    workspace="legal",
    key_id="key_1",
    key="n8n",
    user="rita",
    dialect="openai",
    address="pulse-auto",
    task="complex",
    tier="full",
    provider="openai",
    model="gpt-4o",
    node=None,
    prompt_tokens=1000,
    completion_tokens=200,
    questions_milli=4000,
    cost_micro=4500,
    full_cost_micro=None,
    queue_ms=None,
    first_token_ms=400,
    total_ms=1200,
    masked=1,
    ending="context_cut",
    left=True,
)
TIMES = Percentiles(250, 400, 500, 900)


def made(group: str | None, count: int) -> Sum:
    return Sum(group, count, 10, 20, 1500, 4500, 2, 9000, 4500, 4, TIMES, None)


def test_a_line_fits_80_columns_and_leaves_a_model_its_name():
    for width, least in ((80, 17), (120, 17)):
        columns = calls.call_columns(width)
        taken = MARK + GAP * (len(columns) - 1) + sum(column.width for column in columns)
        assert width - taken >= least
        assert len(calls.call_row(CALL, width).cells) == len(columns)


def test_what_left_is_said_in_words_on_the_line():
    assert calls.call_row(CALL, 80).cells == ("11-28 10:00", "↗ left", "n8n", "gpt-4o", "1.20 s", "≡ context cut")
    stayed = replace(CALL, left=False, model=None, ending="refused")
    assert calls.call_row(stayed, 80).cells[1:4] == ("⌂ stayed", "n8n", "–")
    wide = calls.call_row(CALL, 120)
    assert wide.cells[4:7] == ("complex", "openai", "$0.0045")
    assert wide.tones == ("plain", "warn", *["plain"] * 6, "warn")


def test_nothing_on_a_line_is_obeyed_by_a_terminal():
    assert calls.call_row(replace(CALL, key="a\x1b[31m", model="b\n"), 80).cells[2:4] == ("a\\x1b[31m", "b\\n")


def test_the_details_have_everything_of_a_call():
    told = "\n".join(calls.call_details(CALL))
    for value in (
        "2026-11-28T10:00:00.000Z",
        "prf_1",
        "legal",
        "n8n (key_1)",
        "rita",
        "pulse-auto (dialect: openai)",
        "complex",
        "full",
        "openai",
        "gpt-4o",
        "1000 read, 200 written",
        "Questions    4",
        "$0.0045",
        "Queued       –",
        "0.40 s",
        "1.20 s",
        "1 value",
        "≡ context cut",
        "↗ left the building",
    ):
        assert value in told
    unknown = "\n".join(calls.call_details(replace(CALL, cost_micro=None, full_cost_micro=500, left=False)))
    assert "Cost         unknown; the full model: $0.0005" in unknown
    assert "⌂ stayed in the building" in unknown


def test_the_sum_of_all():
    assert calls.total_parts(made(None, 5)) == [
        "5 calls",
        "1.5 questions",
        "cost $0.0045 + 2 of unknown cost",
        "saved $0.0045",
        "4 values masked",
        "first token 0.25 s (median)",
    ]
    parts = calls.total_parts(replace(made(None, 1), first_token=None, cost_unknown=0))
    assert (parts[0], parts[2], parts[-1]) == ("1 call", "cost $0.0045", "4 values masked")


def test_pieces_are_joined_and_none_is_broken():
    assert calls.joined(["12345", "678", "9"], 11) == "12345 · 678\n9"
    assert calls.joined(["12345678901234", "1"], 5) == "12345678901234\n1"


def test_days_newest_first_and_others_by_how_many():
    days = [made("2026-11-27", 5), made("2026-11-28", 1)]
    assert [row.id for row in calls.sum_rows(days, "day", 80)] == ["2026-11-28", "2026-11-27"]
    models = [made("", 1), made("a", 3), made("b", 9)]
    rows = calls.sum_rows(models, "model", 80)
    assert [row.cells[:3] for row in rows] == [("b", "9", "█" * 12), ("a", "3", "█" * 4), ("– (none)", "1", "█▍")]
    assert calls.sum_rows([], "model", 80) == []


def test_a_sum_fits_its_columns():
    for width in (80, 120):
        columns = calls.sum_columns("node", width)
        (row,) = calls.sum_rows([made("accueil", 5)], "node", width)
        assert (len(columns), columns[0].title) == (len(row.cells), "MACHINE")
    assert row.cells[-2:] == ("4", "0.25 s")


def test_left_and_stayed_have_their_glyphs():
    rows = calls.sum_rows([made("stayed", 2), made("left", 3)], "left", 80)
    assert [(row.id, row.cells[0], row.tones[0]) for row in rows] == [
        ("left", "↗ left", "warn"),
        ("stayed", "⌂ stayed", "good"),
    ]


def test_the_details_of_a_sum():
    told = calls.sum_details(made("", 5), "node")
    assert told[0] == "Machine      – (none)"
    assert "First token  0.25 s for half of the calls, 0.50 s for 95 of 100 at most" in told
    assert "Took         –" in told
    assert "Not in it    2 calls whose price is not known" in told


def test_the_chart_has_the_days_without_calls_too():
    assert calls.chart([made("2026-11-28", 4), made("2026-11-25", 1)]) == (
        "Calls a day, 2026-11-25 to 2026-11-28",
        [1.0, 0.0, 0.0, 4.0],
    )
    title, days = calls.chart([made("2020-01-01", 4), made("2026-11-28", 4)])
    assert (title, len(days)) == ("Calls a day, 2026-09-30 to 2026-11-28", calls.CHART_DAYS)
    assert calls.chart([]) == calls.chart([made("2026-11-28", 4)]) == ("", [])
