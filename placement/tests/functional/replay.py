# SPDX-License-Identifier: Apache-2.0
"""Recorded traffic: read it, send it again, and tell the answers apart.

A recording is a sequence of sessions, each for a service of its own.  Uuids that the recorded
server chose are mapped to those that ours chooses, and what cannot be the same twice, such as a
time, stands in the recording as a placeholder.
"""

import dataclasses
import json
import pathlib
import re
from collections.abc import Iterator, Mapping
from typing import Any

from .fixtures.client import Answer, Client

#: The headers that were recorded; others are not compared.
RECORDED_HEADERS = (
    'allow',
    'cache-control',
    'content-type',
    'last-modified',
    'location',
    'openstack-api-version',
    'vary',
    'www-authenticate',
)

PLACEHOLDERS = {
    '{base}': r'http://placement\.example',
    '{request_id}': r'req-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}',
    '{time}': r'\w{3}, \d{2} \w{3} \d{4} \d{2}:\d{2}:\d{2} GMT',
}


@dataclasses.dataclass(frozen=True)
class Exchange:
    """One recorded request with its answer, as the line of the recording has it."""

    record: Mapping[str, Any]

    @property
    def title(self) -> str:
        """The request in one line."""
        version = self.record.get('v', 'no version')
        return f'{self.record["m"]} {self.record["p"]} ({version})'

    def request_headers(self) -> dict[str, str | None]:
        """The headers that the client sent; None is a usual header that it did not send."""
        headers: dict[str, str | None] = {'accept': '*/*', 'x-auth-token': 'admin'}
        if 'b' in self.record or 'bt' in self.record:
            headers['content-type'] = 'application/json'
        if 'v' in self.record:
            headers['openstack-api-version'] = f'placement {self.record["v"]}'
        return headers | self.record.get('h', {})

    def request_body(self) -> str | None:
        """The body that the client sent."""
        if 'b' in self.record:
            return json.dumps(self.record['b'])
        text: str | None = self.record.get('bt')
        return text

    def has_body(self) -> bool:
        """True if the answer had a body."""
        return 'rb' in self.record or 'rbt' in self.record

    def answer_headers(self) -> dict[str, str]:
        """The recorded headers of the answer."""
        headers: dict[str, str | None] = {
            'vary': 'openstack-api-version',
            'openstack-api-version': f'placement {self.record.get("v", "1.0")}',
        }
        if self.has_body():
            headers['content-type'] = 'application/json'
        headers |= self.record.get('rh', {})
        return {name: value for name, value in headers.items() if value is not None}


@dataclasses.dataclass(frozen=True)
class Session:
    """The recorded requests of one client to one service."""

    name: str
    prefix: str
    exchanges: tuple[Exchange, ...]


def read(path: pathlib.Path) -> list[Session]:
    """The sessions of one recording."""
    sessions: list[Session] = []
    exchanges: list[Exchange] = []
    for line in path.read_text().splitlines():
        record = json.loads(line)
        if 'session' in record:
            exchanges = []
            sessions.append(Session(record['session'], record['prefix'], ()))
        else:
            exchanges.append(Exchange(record))
            sessions[-1] = dataclasses.replace(sessions[-1], exchanges=tuple(exchanges))
    return sessions


class Replay:
    """One session, sent again to one service."""

    def __init__(self, session: Session, client: Client) -> None:
        self.session = session
        self.client = client
        self.ours: dict[str, str] = {}

    def differences(self) -> Iterator[tuple[Exchange, list[str]]]:
        """Each exchange, and how the answer we gave differs from the recorded one."""
        for exchange in self.session.exchanges:
            answer = self._send(exchange)
            self._remember_chosen_uuid(exchange, answer)
            yield exchange, list(self._compare(exchange.record, exchange, answer))

    def _send(self, exchange: Exchange) -> Answer:
        path = self.session.prefix + self._with_our_uuids(exchange.record['p'])
        body = exchange.request_body()
        content = None if body is None else self._with_our_uuids(body).encode()
        headers = exchange.request_headers()
        return self.client.send(exchange.record['m'], path, content, headers=headers)

    def _remember_chosen_uuid(self, exchange: Exchange, answer: Answer) -> None:
        """Map the uuid that the recorded server gave to a new provider to the one that we gave."""
        record = exchange.record
        if (record['m'], record['p']) != ('POST', '/resource_providers') or record['s'] >= 300:
            return
        if 'uuid' not in record['b'] and 'location' in answer.headers:
            theirs = exchange.answer_headers()['location'].rsplit('/', 1)[1]
            self.ours[theirs] = answer.headers['location'].rsplit('/', 1)[1]

    def _with_our_uuids(self, text: str) -> str:
        for theirs, ours in self.ours.items():
            text = text.replace(theirs, ours)
        return text

    def _compare(
        self, record: Mapping[str, Any], exchange: Exchange, answer: Answer
    ) -> Iterator[str]:
        if answer.status != record['s']:
            yield f'status {answer.status} instead of {record["s"]}'
        expected = exchange.answer_headers()
        for name in RECORDED_HEADERS:
            theirs, ours = expected.get(name), answer.headers.get(name)
            # To send the header vary always is fine.
            if (name, theirs) != ('vary', None):
                yield from self._compare_values(f'header {name}', theirs, ours)
        if 'rb' not in record:
            yield from self._compare_values('body', record.get('rbt', ''), answer.text)
            return
        try:
            found = answer.json
        except ValueError:
            yield f'body is no JSON: {answer.text!r}'
            return
        shown = with_short_links(found, self.session.prefix)
        yield from self._compare_values('body', record['rb'], shown)

    def _compare_values(self, where: str, theirs: Any, ours: Any) -> Iterator[str]:
        """Compare two values as JSON, without regard to the order of lists."""
        expected = self._with_our_uuids(json.dumps(theirs)).replace(
            '{prefix}', self.session.prefix
        )
        found = json.dumps(ours)
        for placeholder, form in PLACEHOLDERS.items():
            found = re.sub(form, placeholder, found)
        expected, found = (in_order(json.loads(text)) for text in (expected, found))
        if expected != found:
            yield f'{where} is {found} instead of {expected}'


def with_short_links(value: Any, prefix: str) -> Any:
    """The value, with the links of each provider shortened to their rels as in the recording."""
    if isinstance(value, list):
        return [with_short_links(entry, prefix) for entry in value]
    if not isinstance(value, dict):
        return value
    value = {key: with_short_links(entry, prefix) for key, entry in value.items()}
    if 'uuid' in value and 'links' in value:
        own = f'{prefix}/resource_providers/{value["uuid"]}'
        if all(
            link['href'] == (own if link['rel'] == 'self' else f'{own}/{link["rel"]}')
            for link in value['links']
        ):
            value['links'] = [link['rel'] for link in value['links']]
    return value


def in_order(value: Any, name: str = '') -> str:
    """Return a value as JSON whose lists are sorted, and the words of an error's detail."""
    if isinstance(value, list):
        return f'[{", ".join(sorted(map(in_order, value)))}]'
    if isinstance(value, dict):
        members = (f'"{key}": {in_order(value[key], key)}' for key in sorted(value))
        return f'{{{", ".join(members)}}}'
    if name == 'detail' and isinstance(value, str):
        value = ' '.join(value.split('Failed validating')[0].split())
    return json.dumps(value)
