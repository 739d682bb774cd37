"""Wire-level doubles of those who answer: real HTTP on loopback, every byte they receive recorded."""
