import gzip

import orjson

from tests.box import CHAT, Box, sha256


async def test_a_call_is_certified_as_it_came_compressed_or_not(gateway: Box):
    # proofs.md: the hash and the size are of the body's bytes before they are decoded.
    body = gateway.body("Hi " * 500)
    sent = gzip.compress(body)
    answer = await gateway.http.post(CHAT, content=sent, headers={"content-encoding": "gzip"})
    assert answer.status_code == 200, answer.text
    request = (await gateway.certificate(answer.headers["x-pulse-proof"]))["request"]
    assert (request["sha256"], request["bytes"]) == (sha256(sent), len(sent))
    assert len(sent) < len(body)
    plain = await gateway.http.post(CHAT, content=body)
    request = (await gateway.certificate(plain.headers["x-pulse-proof"]))["request"]
    assert (request["sha256"], request["bytes"]) == (sha256(body), len(body))


async def test_so_it_is_in_the_other_dialect(gateway: Box):
    sent = gzip.compress(orjson.dumps({"max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}]}))
    answer = await gateway.http.post("/v1/messages", content=sent, headers={"content-encoding": "gzip"})
    assert answer.status_code == 200, answer.text
    request = (await gateway.certificate(answer.headers["x-pulse-proof"]))["request"]
    assert (request["sha256"], request["bytes"]) == (sha256(sent), len(sent))
