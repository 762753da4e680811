# SPDX-License-Identifier: Apache-2.0
"""Requests and answers as they are written in the documents, and how to compare an answer.

The pages show HTTP in literal blocks, so that the tests can send what a reader would send.
"""

from __future__ import annotations

import collections
import dataclasses
import email.utils
import functools
import io
import re
from collections.abc import Iterator, Mapping
from typing import Any

import docutils.core
from docutils import nodes
from docutils.parsers import rst

from placement import microversions

REQUEST_LINE = re.compile(r'^(GET|PUT|POST|DELETE) (/\S*)$', re.MULTILINE)
STATUS_LINE = re.compile(r'^HTTP/1\.1 (\d{3}) ')
HEADER_LINE = re.compile(r'^([A-Za-z-]+): (.*)$')
ANY_REQUEST_ID = re.compile(r'\breq-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b')
ANY_TIME = re.compile(r'\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ')
NEWEST = f'placement {microversions.NEWEST}'
AND_SO_ON = '...'
CANDIDATES = 'Candidates:'
NO_CANDIDATES = 'No candidates.'


@dataclasses.dataclass(frozen=True)
class Sample:
    """One request of a document, and what the document says about the answer, if anything."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: str
    status: int | None = None
    answer_headers: Mapping[str, str] = dataclasses.field(default_factory=dict)
    answer: str = ''
    candidates: tuple[str, ...] | None = None


class RestMethod(rst.Directive):
    """As os-api-ref has it, for those who read without Sphinx: the request as a literal."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        request, *options = self.content
        paragraph = nodes.paragraph('', '', nodes.literal(request, request))
        paragraph['options'] = dict(option.split(': ') for option in options)
        return [paragraph]


class RequestParameters(rst.Directive):
    """The place of the table that Sphinx makes of the parameters of a request."""

    required_arguments = 1
    final_argument_whitespace = True
    option_spec = {'since': rst.directives.unchanged, 'until': rst.directives.unchanged}

    def run(self) -> list[nodes.Node]:
        return [Parameters('', request=self.arguments[0], versions=self.options)]


class Parameters(nodes.General, nodes.Element):
    """The parameters of a request."""


class Elsewhere(rst.Directive):
    """Ignores a directive that only Sphinx shows."""

    has_content = True
    optional_arguments = 1
    option_spec = {
        'hidden': rst.directives.flag,
        'glob': rst.directives.flag,
        'numbered': rst.directives.flag,
        'maxdepth': rst.directives.nonnegative_int,
        'caption': rst.directives.unchanged,
        'start-after': rst.directives.unchanged,
        'end-before': rst.directives.unchanged,
    }

    def run(self) -> list[nodes.Node]:
        return []


class Glossary(rst.Directive):
    """The directive ``glossary`` of Sphinx: a definition list."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        parent = nodes.Element()
        self.state.nested_parse(self.content, self.content_offset, parent)
        return parent.children


for name, directive in {
    'rest_method': RestMethod,
    'request-parameters': RequestParameters,
    'glossary': Glossary,
    **dict.fromkeys(
        (
            'toctree', 'include', 'openapi-documents', 'openapi-operations', 'release-notes',
            'microversion-history', 'schema-generations',
        ),
        Elsewhere,
    ),
}.items():  # fmt: skip
    rst.directives.register_directive(name, directive)
# The role of Sphinx, as its text.
rst.roles.register_local_role('ref', lambda _name, _raw, text, *_rest: ([nodes.Text(text)], []))


@functools.cache
def parse_page(text: str) -> tuple[nodes.document, str]:
    """The document tree of a page and what docutils has to say against it."""
    complaints = io.StringIO()
    settings = {
        'report_level': 2,
        'halt_level': 5,
        'warning_stream': complaints,
        'file_insertion_enabled': False,
        'raw_enabled': False,
        'syntax_highlight': 'none',
        '_disable_config': True,
    }
    tree = docutils.core.publish_doctree(text, settings_overrides=settings)
    return tree, complaints.getvalue()


def samples_of_page(text: str) -> list[Sample]:
    """The exchanges of a page in their order; those of a comment prepare, and show no answer."""
    found: list[Sample] = []
    tree, _ = parse_page(text)
    for node in tree.findall(lambda node: isinstance(node, nodes.comment | nodes.literal_block)):
        block = node.astext()
        if STATUS_LINE.match(block):
            found[-1] = _with_answer(found[-1], block)
        elif block.startswith((CANDIDATES, NO_CANDIDATES)):
            _, *lines = block.splitlines()
            found[-1] = dataclasses.replace(found[-1], status=200, candidates=tuple(lines))
        else:
            found.extend(_requests(block))
    return found


def _requests(block: str) -> Iterator[Sample]:
    """Each request of a block: a request line, headers, and the rest is the body."""
    starts = [match.start() for match in REQUEST_LINE.finditer(block)]
    for start, end in zip(starts, [*starts[1:], None][: len(starts)], strict=True):
        first, *lines = block[start:end].splitlines()
        method, path = first.split()
        headers, body = _headers_and_body(lines)
        yield Sample(method, path, {'OpenStack-API-Version': NEWEST} | headers, body)


def _with_answer(sample: Sample, block: str) -> Sample:
    first, *lines = block.splitlines()
    headers, body = _headers_and_body(lines)
    return dataclasses.replace(
        sample, status=int(first.split()[1]), answer_headers=headers, answer=body
    )


def _headers_and_body(lines: list[str]) -> tuple[dict[str, str], str]:
    headers = {}
    while lines and (match := HEADER_LINE.match(lines[0])):
        headers[match[1]] = match[2]
        lines = lines[1:]
    return headers, '\n'.join(lines).strip()


# What each provider gives, and on which of them each group is.
Candidate = tuple[frozenset[str], frozenset[str]]


def candidate_of_line(line: str) -> Candidate:
    """Parse ``host VCPU:1,MEMORY_MB:512 + share DISK_GB:10 (_A on host, _B on share)``."""
    parts, _, groups = line.strip().rstrip(')').partition(' (')
    gives = {
        f'{name} {amount}'
        for name, amounts in (part.split(' ') for part in parts.split(' + '))
        for amount in amounts.split(',')
    }
    return frozenset(gives), frozenset(groups.split(', ')) if groups else frozenset()


def candidate_of_answer(request: Any, names: Mapping[str, str]) -> Candidate:
    """Convert an allocation request, with the names of providers by their uuids."""
    gives = {
        f'{names[uuid]} {name}:{amount}'
        for uuid, given in request['allocations'].items()
        for name, amount in given['resources'].items()
    }
    serves = {
        f'{suffix} on {names[uuid]}'
        for suffix, uuids in request['mappings'].items()
        for uuid in uuids
        if suffix
    }
    return frozenset(gives), frozenset(serves)


def candidates_differ(lines: tuple[str, ...], answer: Any, names: Mapping[str, str]) -> str:
    """Describe how the candidates of an answer differ from those of the lines, if they do.

    Lines may leave it open which provider serves which group.
    """
    documented = collections.Counter(map(candidate_of_line, lines))
    answered = collections.Counter(
        candidate_of_answer(request, names) for request in answer['allocation_requests']
    )
    if not any(serves for _gives, serves in documented):
        answered = collections.Counter((gives, frozenset()) for gives, _ in answered.elements())
    missing, unexpected = documented - answered, answered - documented
    return f'not answered: {missing}, undocumented: {unexpected}' if missing or unexpected else ''


def differences(expected: object, actual: object, where: str = 'body') -> list[str]:
    """The differences of an answer from the documented one.

    The order of lists, request ids and dates do not matter. '...' stands for any text, and as the
    name of a member for all members that are not shown.
    """
    if isinstance(expected, dict) and isinstance(actual, dict):
        if AND_SO_ON in expected:
            shown = expected.keys() - {AND_SO_ON}
            expected = {name: expected[name] for name in expected if name in shown}
            actual = {name: actual[name] for name in actual if name in shown}
        if expected.keys() != actual.keys():
            return [f'{where}: {sorted(expected)} documented, {sorted(actual)} answered']
        pairs = [differences(expected[key], actual[key], f'{where}.{key}') for key in expected]
        return [line for found in pairs for line in found]
    if isinstance(expected, list) and isinstance(actual, list):
        return _differences_of_lists(expected, actual, where)
    if expected == AND_SO_ON and isinstance(actual, str):
        return []
    if _is_variable(expected) and _is_variable(actual):
        return []
    same = expected == actual and type(expected) is type(actual)
    return [] if same else [f'{where}: {expected!r} documented, {actual!r} answered']


def _differences_of_lists(expected: list[object], actual: list[object], where: str) -> list[str]:
    remaining, missing = list(actual), []
    named = [element for element in expected if element != AND_SO_ON]
    for element in named:
        match = next((one for one in remaining if not differences(element, one)), None)
        if match is None:
            missing.append(f'{where}: {element!r} documented, not in {actual!r}')
        else:
            remaining.remove(match)
    if remaining and len(named) == len(expected):
        missing.append(f'{where}: {remaining!r} answered, not documented')
    return missing


def _is_variable(value: object) -> bool:
    """True if a value differs each time: a request id, an HTTP date, a time."""
    if not isinstance(value, str):
        return False
    is_date = value.endswith(' GMT') and email.utils.parsedate(value) is not None
    return is_date or any(one.fullmatch(value) for one in (ANY_REQUEST_ID, ANY_TIME))
