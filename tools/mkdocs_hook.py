"""The hook that mkdocs.yml names; mkdocs loads it as a file, so it makes `tools` importable itself."""

import sys
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

_ROOT = str(Path(__file__).parents[1])


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the reference pages, which are in no file, to the site."""
    if _ROOT not in sys.path:
        sys.path.insert(0, _ROOT)
    from tools.reference import reference_pages  # noqa: PLC0415  (after the path is set)

    for path, text in reference_pages().items():
        files.append(File.generated(config, path, content=text))
    return files
