"""Wire JSON ↔ `Chat`, one package or module per dialect. Pure: no I/O, no clock, no settings, nothing of ours."""
