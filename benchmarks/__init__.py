"""Ratios against the tools that people have already; `make bench` runs them."""
