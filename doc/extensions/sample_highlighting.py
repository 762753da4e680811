# SPDX-License-Identifier: Apache-2.0
"""Colours of samples, by what they begin with: HTTP, sessions in a shell, configuration, SQL.

The sources have plain literal blocks, so that they can be read as they are. The tests, which
execute many of them, tell the kinds apart by the same beginnings.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar

from docutils import nodes
from pygments.lexer import Lexer, RegexLexer, bygroups, using
from pygments.lexers.data import JsonLexer
from pygments.lexers.shell import BashLexer
from pygments.token import Generic, Keyword, Name, Number, Punctuation, String, Text, Whitespace

if TYPE_CHECKING:
    from sphinx.application import Sphinx

BEGINNINGS = (
    (re.compile(r'(GET|HEAD|PUT|POST|DELETE) /|HTTP/1\.1 '), 'http-exchange'),
    (re.compile(r'\$ ', re.MULTILINE), 'shell-session'),
    (re.compile(r'(#.*\n)*\[[\w:.]+\]\n'), 'ini'),
    (re.compile(r'(CREATE|GRANT|SELECT|SET|SHOW|ALTER|UPDATE|DELETE) [A-Za-z]'), 'sql'),
    (re.compile(r'[{\[]\s'), 'json'),
    (re.compile(r'"placement:[\w:]+":'), 'yaml'),
    (re.compile(r'<\w|(WSGI|Listen)'), 'apache'),
)


def language_of(text: str) -> str:
    """The name of the lexer for a literal block."""
    found = (name for beginning, name in BEGINNINGS if beginning.match(text))
    return next(found, 'none')


class ExchangeLexer(RegexLexer):
    """Requests and responses: a first line, headers, and a body in JSON."""

    name = 'HTTP as the pages write it'
    aliases: ClassVar = ['http-exchange']
    flags = re.MULTILINE
    tokens: ClassVar = {
        'root': [
            (
                r'^(GET|HEAD|PUT|POST|DELETE)( )(/\S*)$',
                bygroups(Keyword, Whitespace, Name.Namespace),
            ),
            (
                r'^(HTTP/1\.1)( )(\d{3})(.*)$',
                bygroups(Keyword, Whitespace, Number, Name.Exception),
            ),
            (
                r'^([A-Za-z-]+)(:)( +)(.*)$',
                bygroups(Name.Attribute, Punctuation, Whitespace, String),
            ),
            (r'^[{\[](?:.*\n?)+?(?=^[A-Z]+ /|\Z)', using(JsonLexer)),
            (r'\s+', Whitespace),
            (r'.+', Text),
        ]
    }


class ShellSessionLexer(Lexer):
    """Prompts, commands and what they print.

    A command ends where a shell would stop to read it: an open quotation goes on in the next line,
    and so does a line that ends with a backslash.
    """

    name = 'Session in a shell'
    aliases: ClassVar = ['shell-session']

    def get_tokens_unprocessed(self, text: str) -> Iterator[tuple[int, Any, str]]:
        """Called by Pygments."""
        start, command = 0, ''
        for line in text.splitlines(keepends=True):
            if not command and not line.startswith('$ '):
                yield start, Generic.Output, line
                start += len(line)
                continue
            command += line
            if command.count("'") % 2 == 0 and not command.rstrip('\n').endswith('\\'):
                yield from _lex_command(start, command)
                start, command = start + len(command), ''
        yield from _lex_command(start, command)


def _lex_command(start: int, command: str) -> Iterator[tuple[int, Any, str]]:
    """The tokens of a prompt and what follows it."""
    if command:
        yield start, Generic.Prompt, command[:2]
        for offset, token, value in BashLexer().get_tokens_unprocessed(command[2:]):
            yield start + 2 + offset, token, value


def name_languages(app: Sphinx, tree: nodes.document) -> None:
    """Give every literal block that names no language the one it seems to have."""
    for block in tree.findall(nodes.literal_block):
        if 'language' not in block and block.rawsource == block.astext():
            block['language'] = language_of(block.astext())


def setup(app: Sphinx) -> dict[str, Any]:
    """Called by Sphinx."""
    app.add_lexer('http-exchange', ExchangeLexer)
    app.add_lexer('shell-session', ShellSessionLexer)
    app.connect('doctree-read', name_languages)
    return {'parallel_read_safe': True, 'parallel_write_safe': True}
