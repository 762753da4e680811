# SPDX-License-Identifier: Apache-2.0
"""Pages of instructions, read as a careful reader does: what to type, and what to write where.

A ``console`` block has commands, of root behind ``#`` and of anybody behind ``$``; a line without
either goes on with the command above it, or is what the command prints. Another block with a
language belongs into a file, the last one that the paragraph above it names.
"""

import dataclasses
import pathlib
import re
from collections.abc import Iterator, Sequence

from docutils import nodes

from placement.tests.unit import samples

#: A block that is to be read only.
PLAIN = frozenset({'none', 'text'})

_HERE_DOCUMENT = re.compile(r"<<'?(\w+)'?")


@dataclasses.dataclass(frozen=True)
class Command:
    """A command to type, maybe as root, and the output that the page shows."""

    text: str
    as_root: bool
    output: str = ''


@dataclasses.dataclass(frozen=True)
class Addition:
    """Text to write at the end of a file, which may not exist yet."""

    path: str
    text: str


Step = Command | Addition


def sections(path: pathlib.Path) -> dict[str, list[Step]]:
    """The steps of a page by the title of the section that they are in, in the order of the page.

    :raises ValueError: for a block of which the page does not say what to do with it
    """
    tree, complaints = samples.parse_page(path.read_text())
    if complaints:
        raise ValueError(complaints)
    found: dict[str, list[Step]] = {}
    for section in tree.findall(nodes.section):
        title = section.next_node(nodes.title)
        assert title is not None
        found[title.astext()] = list(_steps_of_section(section))
    # The title of a page with one section at the top is that of the document.
    return found


def _steps_of_section(section: nodes.Element) -> Iterator[Step]:
    """The steps of this section alone, not those of its subsections."""
    for block in section.findall(nodes.literal_block):
        owner = block.parent
        while not isinstance(owner, nodes.section):
            owner = owner.parent
        if owner is section:
            yield from _steps(block)


def _steps(block: nodes.literal_block) -> Iterator[Step]:
    languages = [name for name in block['classes'] if name != 'code']
    if 'console' in languages:
        yield from commands(block.astext())
    elif languages and not PLAIN & set(languages):
        yield Addition(_file_of(block), block.astext() + '\n\n')
    elif not languages:
        raise ValueError(f'no language: {block.astext()}')


def _file_of(block: nodes.literal_block) -> str:
    """The last file that the paragraph above a block names."""
    above = block.parent[block.parent.index(block) - 1]
    names = [
        literal.astext()
        for literal in above.findall(nodes.literal)
        if literal.astext().startswith('/')
    ]
    if not names:
        raise ValueError(f'nothing says which file this is for: {block.astext()}')
    return names[-1]


def commands(text: str) -> list[Command]:
    """The commands of a console block."""
    found: list[Command] = []
    lines = text.splitlines()
    while lines:
        first, *lines = lines
        if first[:2] not in ('# ', '$ '):
            raise ValueError(f'neither a command nor below one: {first}')
        command = first[2:]
        here = _HERE_DOCUMENT.search(command)
        while lines and (command.endswith('\\') or (here and command.splitlines()[-1] != here[1])):
            command += '\n' + lines.pop(0)
        output = []
        while lines and lines[0][:2] not in ('# ', '$ '):
            output.append(lines.pop(0))
        found.append(Command(command, first[0] == '#', '\n'.join(output)))
    return found


def chosen(page: dict[str, list[Step]], titles: Sequence[str]) -> list[Step]:
    """The steps of these sections.

    :raises KeyError: if the page has no such section
    """
    return [step for title in titles for step in page[title]]
