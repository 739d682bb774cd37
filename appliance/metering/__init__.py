"""What a call counts: questions, cost, and the ledger's row."""
