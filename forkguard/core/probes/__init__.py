"""Tiny random-weight models, one pair per architecture, so that the gate runs without a model file or a GPU."""
