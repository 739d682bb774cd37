from tests.admin.played import client, daemon, database, listening

__all__ = ["client", "daemon", "database", "listening"]
