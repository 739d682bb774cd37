"""All state, in one SQLite file: connections, the writer, migrations, and one module of plain functions per table family."""
