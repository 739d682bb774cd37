import gc

from hypothesis import given
from hypothesis import strategies as st

from appliance.shield.cache import FindingsCache
from appliance.shield.finding import Finding

FOUND = (Finding(0, 4, "EMAIL", "a rule"),)


def cache(**limits: int) -> FindingsCache:
    return FindingsCache(b"key", **limits)


def test_what_was_put_is_there_and_nothing_else():
    one = cache()
    one.put(one.hash("a"), FOUND)
    assert one.get(one.hash("a")) == FOUND
    assert one.get(one.hash("b")) is None


def test_a_text_without_findings_is_known_too():
    one = cache()
    one.put(one.hash("a"), ())
    assert one.get(one.hash("a")) == ()


def test_the_one_not_used_for_longest_goes_first():
    one = cache(max_texts=2)
    for name in ("a", "b"):
        one.put(one.hash(name), ())
    assert one.get(one.hash("a")) == ()
    one.put(one.hash("c"), ())
    assert [one.get(one.hash(name)) for name in ("a", "b", "c")] == [(), None, ()]


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 4)), max_size=60))
def test_it_never_holds_more_than_it_may(puts: list[tuple[int, int]]):
    one = cache(max_texts=5, max_findings=7)
    for name, count in puts:
        one.put(one.hash(str(name)), FOUND * count)
        kept = [one.get(one.hash(str(each))) for each in range(10)]
        assert sum(found is not None for found in kept) <= 5
        assert sum(len(found or ()) for found in kept) <= 7


def test_no_text_is_kept():
    one = cache()
    text = "".join(["jane", "@", "example.org"])
    one.put(one.hash(text), FOUND)
    assert not any(text in str(each) for each in gc.get_referents(one.__dict__, one._kept))


def test_hashes_of_another_key_are_others():
    assert cache().hash("a") != FindingsCache(b"other").hash("a")


def test_any_text_has_a_hash():
    assert len(cache().hash("\ud800 and \U0001f600")) == 16
