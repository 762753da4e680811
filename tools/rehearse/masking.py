# SPDX-License-Identifier: Apache-2.0
"""Credentials that a log or an answer may have, masked."""

import re

MASK = '***'

#: Each with what stays in its first group.
_SECRETS = (
    # A header, a parameter of a query or a member of JSON; the separator may be quoted by percent.
    re.compile(
        r"""(?i)((?:token|passw(?:or)?d|secret|api[-_]?key|credential)s?["']?"""
        r"""\s*(?:[:=]|%3[ad])\s*["']?)[^\s"'&,;<>}|]+"""
    ),
    re.compile(r'(?i)(authorization["\']?\s*[:=]\s*["\']?(?:\w+\s+)?)[^\s"\'&,;}|]+'),
    re.compile(r'(://)[^\s/@"\']+(?=@)'),
    # A Fernet token of Keystone, wherever it stands.
    re.compile(r'()\bgAAAA[\w=%-]{16,}'),
)


def masked(text: str) -> str:
    """Return the text with a mask in place of each credential."""
    for secret in _SECRETS:
        text = secret.sub(rf'\1{MASK}', text)
    return text
