"""Facts that a model finds in what a user said: what they are, how they are asked for, how an answer is judged."""
