"""The description of the package: the README, whose links lead to the repository."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

_REPOSITORY = "placement-lint/placement-lint"
_LINK = re.compile(r"(?P<picture>!?)(?P<text>\[[^\[\]]*\])\((?P<path>[\w./-]+)(?P<rest>[^()]*)\)")


class CustomMetadataHook(MetadataHookInterface):
    """Gives the README to the metadata, with links that work where it is shown alone."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Set the description."""
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {
            "content-type": "text/markdown",
            "text": with_absolute_links(text, metadata["version"]),
        }


def with_absolute_links(text: str, version: str) -> str:
    """Return a page whose relative links lead to the tag of a version in the repository."""

    def absolute(found: re.Match[str]) -> str:
        path, rest = found["path"], found["rest"]
        if rest.startswith(":"):  # it has a scheme
            return found[0]
        site = (
            f"https://raw.githubusercontent.com/{_REPOSITORY}/v{version}"
            if found["picture"]
            else f"https://github.com/{_REPOSITORY}/blob/v{version}"
        )
        return f"{found['picture']}{found['text']}({site}/{path}{rest})"

    return _LINK.sub(absolute, text)
