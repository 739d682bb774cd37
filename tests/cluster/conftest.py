from tests.admin.played import daemon, database

__all__ = ["daemon", "database"]
