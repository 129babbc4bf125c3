"""forkguard guards a production fork of llama.cpp against its moving upstream."""

__version__ = "0.1.0.dev0"
