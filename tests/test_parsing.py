import subprocess
import sys

import pytest

from appliance.parsing import Parser, Refused, Value, command, common_options, group_of, read


def whole_number(text: str) -> int:
    if not text.isdigit():
        raise ValueError("a whole number")
    return int(text)


def made() -> Parser:
    top = Parser(prog="p", parents=[common_options()])
    top.set_defaults(config=None, json=False)
    commands = group_of(top)
    box = group_of(command(commands, "box", "Boxes.", leaf=False))
    opened = command(box, "box open", "Open one.")
    opened.add_argument("--wide", type=read(whole_number))
    opened.add_argument("--key", action=Refused, message="a key does not go there")
    command(box, "box shut", "Shut one.")
    return top


def refused(*argv: str, capsys: pytest.CaptureFixture[str]) -> str:
    with pytest.raises(SystemExit) as caught:
        made().parse_args(argv)
    printed = capsys.readouterr()
    assert (caught.value.code, printed.out) == (2, "")
    return printed.err


@pytest.mark.parametrize("argv", [("--json", "box", "open"), ("box", "--json", "open"), ("box", "open", "--json")])
def test_a_common_option_goes_anywhere_and_no_command_undoes_it(argv: tuple[str, ...]):
    found = made().parse_args([*argv, "--config", "f"])
    assert (found.command, found.json, found.config) == ("box open", True, "f")


def test_without_them_the_defaults_hold():
    found = made().parse_args(["box", "shut"])
    assert (found.command, found.json, found.config) == ("box shut", False, None)


def test_a_value_is_parsed():
    assert made().parse_args(["box", "open", "--wide", "3"]).wide == 3


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        ([], "p: the following arguments are required: COMMAND. Try: p --help\n"),
        (["bxo"], 'p: argument COMMAND: there is no "bxo"; did you mean "box"? Try: p --help\n'),
        (["zzz"], 'p: argument COMMAND: there is no "zzz"; there are: box. Try: p --help\n'),
        (["box", "shot"], 'p box: argument COMMAND: there is no "shot"; did you mean "shut"? Try: p box --help\n'),
        (
            ["box", "open", "--wide", "x"],
            'p box open: argument --wide: "x" is not a whole number. Try: p box open --help\n',
        ),
        (["box", "open", "--wid", "3"], "p: unrecognized arguments: --wid 3. Try: p --help\n"),
        (["box", "open", "--jso"], "p: unrecognized arguments: --jso. Try: p --help\n"),
    ],
)
def test_a_mistake_is_one_line_that_says_where_to_read_on(
    argv: list[str], said: str, capsys: pytest.CaptureFixture[str]
):
    assert refused(*argv, capsys=capsys) == said


@pytest.mark.parametrize("argv", [["--key"], ["--key", "hunter2"], ["--key=hunter2"], ["--key", "hunter2", "--wide"]])
def test_what_is_refused_is_not_repeated(argv: list[str], capsys: pytest.CaptureFixture[str]):
    assert refused("box", "open", *argv, capsys=capsys) == (
        "p box open: a key does not go there. Try: p box open --help\n"
    )


def test_what_is_refused_is_not_in_the_help(capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit):
        made().parse_args(["box", "open", "--help"])
    assert "--key" not in capsys.readouterr().out


def test_it_imports_nothing_of_ours():
    code = "import sys, appliance.parsing; print(*(m for m in sys.modules if m.startswith('appliance.')))"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["appliance.parsing"]


def test_what_excludes_each_other_is_told():
    of = Parser(prog="p")
    known = of.add_mutually_exclusive_group()
    one, other = known.add_argument("--one"), known.add_argument("--other")
    apart = of.add_argument("--apart")
    assert of.rivals(one) == (other,)
    assert of.rivals(apart) == ()
    assert of.actions[1:] == (one, other, apart)


def test_a_value_is_shown_as_any_other_and_says_what_it_names():
    of = Parser(prog="p")
    of.add_argument("--key", metavar=Value("KEY", "key"))
    of.add_argument("--scope", metavar=Value("S", words=("engine",)))
    assert "[--key KEY] [--scope S]" in of.format_usage()
    assert [(one.metavar.kind, one.metavar.words) for one in of.actions if isinstance(one.metavar, Value)] == [
        ("key", ()),
        (None, ("engine",)),
    ]
