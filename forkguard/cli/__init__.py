"""The command line: parse, wire, one call, render."""
