from appliance.dialects.open_end import OpenEnd
from appliance.dialects.openai.stream import Reader


def test_the_reader_of_openai_s_streams_is_one_and_others_need_not_be():
    assert isinstance(Reader(lambda: "call"), OpenEnd)
    assert not isinstance(object(), OpenEnd)
