"""What builds the documentation from the code; no part of the installed program."""
