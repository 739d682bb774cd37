from appliance.dialects.upstream import ProviderError


def test_an_error_says_what_kind_it_is_and_which_field_is_to_blame():
    error = ProviderError("context", "It is too long.", param="messages")
    assert (error.kind, error.message, error.param, str(error)) == (
        "context", "It is too long.", "messages", "It is too long.",
    )  # fmt: skip
