# SPDX-License-Identifier: Apache-2.0
"""YAML files in packages."""

from importlib import resources
from typing import Any

import yaml


def load(package: str, name: str) -> dict[str, Any]:
    """The content of a file in the directory of a package."""
    text = resources.files(package).joinpath(name).read_text(encoding='utf-8')
    content: dict[str, Any] = yaml.safe_load(text)
    return content
