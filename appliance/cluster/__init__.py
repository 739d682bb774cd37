"""The machines that run models: which there are, how they are, and which one takes the next call."""
