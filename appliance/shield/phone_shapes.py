"""How telephone numbers are written: by country without a prefix, and how long they are after each calling code.

Sources: the national numbering plans of FR BE CH LU DE AT ES PT IT NL GB IE PL US CA in their usual spellings; ITU-T
E.164 for the calling codes, with the lengths that Google's libphonenumber (Apache-2.0) calls possible. Data and what
makes patterns of it; must not know about words.
"""

import re
from collections.abc import Iterable, Mapping

JOINT = r"\)?[ .\-/]?\(?"
"""What may stand between two digits of one number."""

_TRUNK = """
    FR 0ZXX XXX XXX
    BE 0Z XXX XX XX | 0ZX XX XX XX | 0ZXX XX XX XX | 0ZXX XXX XXX | 0ZX XXX XXX
    CH 0ZX XXX XX XX | 0ZXX XXX XXX
    DE 0ZX X{6,8} | 0ZXX X{5,8} | 0ZXXX X{4,7} | 0ZX XXXX XXXX | 0ZX XXX XXXXX? | 0ZXX XXX XXXX? | 0ZXX XXX XX XX
       | 0ZX XX XX XX XX | 0ZXX XX XX XX XX | 0ZX X{4,6} X{2,4}
    AT 0Z X{7,9} | 0Z XXX XX XX | 0ZXX X{5,8} | 0ZXX XXX XX XX
    IT 0Z X{7,8} | 0Z XXXX XXXX | 0Z XXX XXXX | 0ZX XXX XXXX? | 0ZX X{6,8} | 0ZXX X{5,7}
    NL 0Z XXXXXXXX | 0Z XXXX XXXX | 0ZX XXXXXXX | 0ZX XXX XXXX | 0ZX XXX XX XX | 0ZXX XXXXXX | 0ZXX XX XX XX
    GB 0ZX XXXX XXXX | 0ZXX XXX XXXX | 0ZXXX XXXXXX | 0ZXXX XXX XXX | 0ZXXX XX XX XX
    IE 0Z XXX XXXX | 0ZX XXX XXXX | 0ZX XXXXXX | 0ZX XXXXXXX
"""
"""Spellings that begin with the 0 of the trunk, of nine digits or more: few other numbers begin like this.
X is any digit, Z none but 0, N none but 0 and 1, a space what stands between groups."""

_HOME = {
    "IT": "3XX XXX XXXX | 3XX XXXXXXX | 3XX XX XX XXX",
    "LU": "XX XX XX XX | XX XX XX | 6XX XXX XXX",
    "ES": "[6-9]XX XX XX XX | [6-9]XX XXX XXX | 9X XXX XX XX | 9X XXXXXXX",
    "PT": "[29]XX XXX XXX | 2X XXX XXXX",
    "PL": "XXX XXX XXX | ZX XXX XX XX",
    "US": "NXX XXX XXXX",
    "CA": "NXX XXX XXXX",
}
"""Spellings that amounts and other numbers have too: without a word beside them they count at home alone."""

_PAIR, _GAP = "[0-9O]{2}", r"[ .\-/]"
FRENCH = (
    rf"[0O][1-9](?:{_GAP}{_PAIR}{_GAP}{_PAIR}{_GAP}{_PAIR}{_GAP}?{_PAIR}|{_PAIR}{_GAP}{_PAIR}{_GAP}{_PAIR}{_GAP}{_PAIR}"
    rf"|{_GAP}{_PAIR}{_PAIR}{_GAP}{_PAIR}{_GAP}{_PAIR}|{_GAP}{_PAIR}{_GAP}{_PAIR}{_PAIR}{_GAP}{_PAIR})"
)
"""Ten digits in pairs, of which two may have grown together. O for 0 is what scanned letters and hasty typing bring."""

NORTH_AMERICAN = (
    r"(?:1[ .\-])?(?:\([0-9]{3}\)[ .\-]{0,2}[0-9]{3}[ .\-][0-9]{4}"
    r"|[2-9][0-9]{2}-[0-9]{3}-[0-9]{4}|[2-9][0-9]{2}\.[2-9][0-9]{2}\.[0-9]{4})"
)
"""Area code in brackets, or hyphens or dots between: spaces alone part amounts too."""

_LENGTHS = """
1:10 7:10-14 20:8-10 27:5-10 30:10-12 31:5-11 32:8-9 33:9 34:9 36:8-9 39:6-12 40:6-9 41:9-12 43:4-13 44:7-10 45:8
46:6-12 47:5-8 48:6-10 49:4-15 51:8-9 52:10 53:6-10 54:10-11 55:8-11 56:9-11 57:8-11 58:10 60:8-10 61:5-12 62:7-17
63:6-13 64:5-10 65:8-11 66:8-13 81:8-17 82:5-14 84:7-10 86:7-12 90:7-13 91:8-13 92:8-12 93:9 94:9 95:6-10 98:4-10
211:9 212:9 213:8-9 216:8 218:9 220:7-9 221:9 222:8 223:8 224:8-9 225:10 226:8 227:8 228:8 229:10 230:7-10 231:7-9
232:8 233:8-9 234:10-14 235:8 236:8 237:8-9 238:7 239:7 240:9 241:7-8 242:9 243:7-10 244:9 245:7-9 246:7 247:5-6
248:7 249:9 250:8-9 251:9 252:6-9 253:8 254:7-10 255:9 256:9 257:8 258:8-9 260:9 261:9 262:9 263:7-10 264:8-9
265:7-9 266:8 267:7-10 268:8-9 269:7 290:4-5 291:7 297:7 298:6 299:6 350:8 351:9 352:4-11 353:7-10 354:7-9 355:6-9
356:8 357:8 358:5-12 359:6-12 370:8 371:8 372:7-10 373:8 374:8 375:6-11 376:6-9 377:8-9 378:8-10 380:9-10 381:6-12
382:8-9 383:8-12 385:7-9 386:5-8 387:8-9 389:8 420:9-12 421:6-9 423:7-9 500:5 501:7-11 502:8-11 503:7-11 504:8-11
505:8 506:8-10 507:7-11 508:6-9 509:8 590:9 591:8-9 592:7 593:8-11 594:9 595:6-11 596:9 597:6-7 598:4-13 599:7-8
670:7-8 672:6 673:7 674:7 675:7-8 676:5-7 677:5-7 678:5-7 679:7-11 680:7 681:6-9 682:5 683:4-7 685:5-10 686:5-8
687:6 688:5-7 689:6-9 690:4-7 691:7 692:7 800:8 808:8 850:8-10 852:5-11 853:7-8 855:8-10 856:8-10 870:9-12 878:12
880:6-10 881:9-10 882:7-12 883:8-12 886:7-11 888:11 960:7-10 961:7-8 962:8-9 963:8-9 964:8-10 965:7-8 966:9-10
967:7-9 968:7-9 970:8-10 971:5-12 972:7-12 973:8 974:7-11 975:7-8 976:8-10 977:8-11 979:9 992:9 993:8 994:9 995:9
996:9-10 998:9
"""
"""Calling code, fewest and most digits after it."""


def _lengths() -> Iterable[tuple[str, range]]:
    for each in _LENGTHS.split():
        code, _, bounds = each.partition(":")
        fewest, _, most = bounds.partition("-")
        yield code, range(int(fewest), int(most or fewest) + 1)


LENGTHS: Mapping[str, range] = dict(_lengths())
"""By calling code: how many digits may follow it."""


def trunk_pattern() -> str:
    """A regular expression for the spellings of all countries that begin with a 0."""
    shapes = {shape.strip() for shape in re.split(r"[|]|[A-Z]{2} (?=0)", _TRUNK)} - {""}
    return _pattern(sorted(shapes, key=_width, reverse=True))


def home_pattern(country: str) -> str:
    """The same for those of one country that do not; empty if it has none."""
    return _pattern(shape.strip() for shape in _HOME.get(country, "").split("|") if shape.strip())


def _width(shape: str) -> int:
    """How many digits a shape has at most, nearly enough to try longer ones first."""
    most = sum(int(bounds.partition("}")[0]) - 1 for bounds in shape.split(",")[1:])
    return sum(each in "0XZN36296" for each in shape.partition("{")[0]) + most


_DIGITS = {"X": "[0-9]", "Z": "[1-9]", "N": "[2-9]"}


def _pattern(shapes: Iterable[str]) -> str:
    """Alternatives that share their first group: it may stand in brackets, and what parts it is then not needed."""
    by_first: dict[str, list[str]] = {}
    for shape in shapes:
        first, _, rest = shape.partition(" ")
        by_first.setdefault(_digits(first), []).append("[ .\\-/]".join(_digits(group) for group in rest.split()))
    return "|".join(
        rf"(?:\({first}\)[ .\-/]?|{first}[ .\-/])(?:{'|'.join(rests)})(?![0-9])" for first, rests in by_first.items()
    )


def _digits(group: str) -> str:
    return "".join(_DIGITS.get(each, each) for each in group)
