"""Signed evidence of each call: certificates, the bytes that are signed, and their verification offline."""
