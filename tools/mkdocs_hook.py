"""The hook that mkdocs.yml names; mkdocs loads it as a file, so it makes `tools` importable itself."""

import re
import sys
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

_ROOT = str(Path(__file__).parents[1])
_CODE_SPAN = re.compile(r"(?<!<span></span>)<code>[^<]*</code>")
_OPTION = re.compile(r"(?<![\w-])--?[A-Za-z0-9][\w-]*")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the reference pages, which are in no file, to the site."""
    if _ROOT not in sys.path:
        sys.path.insert(0, _ROOT)
    from tools.reference import reference_pages  # noqa: PLC0415  (after the path is set)

    for path, text in reference_pages().items():
        files.append(File.generated(config, path, content=text))
    return files


def on_page_content(html: str, **_: Any) -> str:
    """Keep each option of a command in running text in one piece."""
    return _CODE_SPAN.sub(lambda span: _OPTION.sub(r'<span class="option">\g<0></span>', span[0]), html)
