# SPDX-License-Identifier: Apache-2.0
"""The parts of the OpenAPI documents that are data: the YAML files of this package."""

from importlib import resources
from typing import Any

import yaml


def _load(name: str) -> dict[str, Any]:
    text = resources.files(__package__).joinpath(name).read_text(encoding='utf-8')
    content: dict[str, Any] = yaml.safe_load(text)
    return content


FRAGMENTS = _load('fragments.yaml')
# By module and name of the handler.
REPLIES: dict[str, dict[str, Any]] = _load('replies.yaml')['replies']
