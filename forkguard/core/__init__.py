"""The pure part: bytes and values in, frozen values out. No file, clock, process or network."""
