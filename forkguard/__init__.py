"""forkguard guards a production fork of llama.cpp against its moving upstream."""

__all__ = ["__version__"]

try:
    from forkguard._version import __version__
except ModuleNotFoundError:  # sources that no build has seen: what is installed beside them knows
    from importlib import metadata

    try:
        __version__ = metadata.version("forkguard")
    except metadata.PackageNotFoundError:
        __version__ = "0+unknown"
