"""Dates. Source: HIPAA Safe Harbor, 45 CFR 164.514(b)(2)(i)(C): all elements of dates but the year; CLDR for months."""

import pytest

from appliance.shield.dates import find


def found(text: str) -> list[str]:
    return [text[each.start : each.end] for each in find(text)]


@pytest.mark.parametrize(
    "date",
    [
        "28/03/2031", "5/6/2016", "01/02/20", "22.07.2025", "3.4.24", "17-02-1999", "13 / 03 / 2020",
        "21|05|1956", "10 / 03 | 2020",
        "2022-07-19", "2022-07-19T07:22:00Z", "2014-02-13 09:33:20", "2021/12/10", "03/2021",
        "31 12 1995", "2 9 0 2 1 9 9 5",
        "18 août 2013", "1er mai 2020", "23avr", "01sep2018", "16 avril", "décembre 93", "juin 2029",
        "deux janvier mille neuf cent soixante dix huit", "vingt mars 20", "fin septembre",
        "May 30th, 2022", "Feb 21, 2023", "12th April 2022", "Aug 10, '23", "January 2024", "3rd of May 2019",
        "May 5",
        "3. März 2021", "12 de mayo de 2020", "marzo del año 2005", "1º giugno 1999", "5 maart 2020",
        "7 de julho de 2018",
        "17 lipca 2001",
    ],
)  # fmt: skip
def test_a_date_is_found_whole(date: str):
    assert found(f"x {date}, y") == [date]
    assert found(date) == [date]


@pytest.mark.parametrize(
    ("text", "dates"),
    [
        ("C3 2/8 C4 16/09", ["2/8", "16/09"]),
        ("le 2/8 et le 16/09", ["2/8", "16/09"]),
        ("vu le 28.09, on 08/22", ["28.09", "08/22"]),
        ("FR: 16 cpm (11/03)", ["11/03"]),
        ("rendez-vous le 31121995", ["31121995"]),
        ("TA 12/8, TA: 13/9", []),
        ("vu le 12/03/2024;2 comprimés", ["12/03/2024"]),
        ("TA 12/8 le 13/09", ["13/09"]),
        ("oeil gauche: 10/12", []),
        ("page 4/6, 2/2", []),
        ("le 1/2 cp", []),
        ("La AV mejoró hasta 4/10", []),
    ],
)
def test_a_day_and_a_month_in_figures_need_a_word_that_says_so(text: str, dates: list[str]):
    assert found(text) == dates


@pytest.mark.parametrize(
    "text",
    [
        "en 2019", "1987", "version 1.2.24", "v1.10.33", "3.141.59", "192.168.1.10", "01.42.68.53.00",
        "01-42-68-53-00", "32/01/2020",
        "2020-13-01", "12:30:45", "stage 3 may require", "set 5 goals", "out 10", "mars 500 mg",
        "2010 Jan 21;115(3)", "2010 Jan 21;115:3",
        "Loi du 18 août 2013", "Décret n°2013-1066 du 3 juin 2013", "Act of 5 May 2003", "10 000 2020",
        "1 2 3 4 5 6 7 8 9",
        "CAS 50-00-0", "Ki67 5/6/2016x",
    ],
)  # fmt: skip
def test_what_is_no_date(text: str):
    assert found(text) == []


@pytest.mark.parametrize(
    ("text", "date"),
    [
        ("du 18 au 29/03/2020", "18 au 29/03/2020"),
        ("autour du 08-09/08/07", "08-09/08/07"),
        ("we du 10 - 12/08", "10 - 12/08"),
        ("mai à juin 2029", "mai à juin 2029"),
        ("entre mai et décembre 2023", "mai et décembre 2023"),
        ("from 3 to 5 May 2021", "3 to 5 May 2021"),
    ],
)
def test_a_range_is_one_date_since_its_ends_share_a_year(text: str, date: str):
    assert found(text) == [date]


def test_a_label_masks_a_slip_of_the_key():
    assert found("Fecha de nacimiento: 16/018/1961.") == ["16/018/1961"]
    assert found("x: 16/018/1961") == []


def test_why_is_told():
    assert [(each.rule, each.context) for each in find("le 2/8")] == [("day and month", "le")]
