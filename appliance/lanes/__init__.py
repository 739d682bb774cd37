"""Who can answer: each lane sends one prepared body and yields the neutral events of the answer."""
