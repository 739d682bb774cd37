from appliance.admin.backup_wire import KeptBackup, NewBackup
from appliance.admin.wire import decode, encode


def test_a_passphrase_is_never_in_what_is_printed():
    new = NewBackup("/mnt/a", "correct horse battery")
    assert "horse" not in repr(new)
    assert decode(NewBackup, encode(new)) == new


def test_a_backup_has_the_keys_unless_told():
    assert decode(NewBackup, {"file": "a", "passphrase": "b"}).keys
    assert KeptBackup("2026-11-29T18:57:03.120Z", "a", 1, False).keys is False
