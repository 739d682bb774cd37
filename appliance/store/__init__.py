"""All state, in one SQLite file: connections, the writer, migrations, and plain functions per table family."""
