# SPDX-License-Identifier: Apache-2.0
"""Comparison of an answer of this service with that of upstream.

The differences of reads that the page about coming from upstream names are known by its titles.
"""

import re
import urllib.parse
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import os_resource_classes
import os_traits

from .fixtures.client import Answer
from .replay import RECORDED_HEADERS, in_order


def differences(method: str, ours: Answer, theirs: Answer) -> Iterator[str]:
    """The differences of an answer from that of upstream, except those that are always allowed."""
    if ours.status != theirs.status:
        yield f'status {ours.status} {ours.text} instead of {theirs.status} {theirs.text}'
        return
    for name in RECORDED_HEADERS:
        found, expected = ours.headers.get(name), theirs.headers.get(name)
        if name == 'location' and expected:
            found, expected = (re.sub('^http://[^/]*', '', str(one)) for one in (found, expected))
        if name == 'last-modified':
            # Upstream gives none where PUT changed nothing of a provider that never was changed.
            times = (found, expected) if method == 'GET' else (None, None)
            found, expected = (one and 'a time' for one in times)
        if found != expected and (name, expected) != ('vary', None):
            yield f'{name} {found} instead of {expected}'
    if comparable(ours) != comparable(theirs):
        yield f'{ours.text} instead of {theirs.text}'


def comparable(answer: Answer) -> str:
    """The body, whatever the order of lists, and of the words in the detail of an error."""
    if not answer.body:
        return ''
    value = answer.json
    for error in value.get('errors', ()):
        words = error['detail'].split('Failed validating')[0]
        # Upstream says which of name and uuid, and what its database said.
        words = re.sub('(Conflicting resource provider|Update conflict: ).*', r'\1', words)
        error['detail'] = sorted(re.findall(r'[\w-]+', words))
        del error['request_id']
    return in_order(value)


class Read(NamedTuple):
    """A read that was answered differently."""

    path: str
    # The minor microversion.
    minor: int
    ours: Answer
    theirs: Answer

    @property
    def query(self) -> Mapping[str, list[str]]:
        """The values of each parameter."""
        return urllib.parse.parse_qs(urllib.parse.urlsplit(self.path).query)

    @property
    def is_search(self) -> bool:
        """True if both found candidates, or neither did."""
        return self.path.startswith('/allocation_candidates') and self._statuses == (200, 200)

    @property
    def _statuses(self) -> tuple[int, int]:
        return self.ours.status, self.theirs.status

    def _agrees(self) -> bool:
        """True if the summaries of providers that both answers have are the same."""
        summaries = [one.json['provider_summaries'] for one in (self.ours, self.theirs)]
        both = summaries[0].keys() & summaries[1].keys()
        return len({in_order({uuid: one[uuid] for uuid in both}) for one in summaries}) == 1

    def names_unknown(self) -> bool:
        """True if a filter of ours refuses a name that upstream does not look up."""
        refused = re.search('No such (trait|resource class)', self.ours.text)
        return self.ours.status == 400 and bool(refused) and self.theirs.status in (200, 400)

    def is_cut(self) -> bool:
        """True if a limit cut both, and the parts that both show are equal."""
        # Upstream takes one that ends in a line break.
        limit = self.query.get('limit', [''])[0].strip()
        if not self.is_search or not limit.isdigit():
            return False
        counts = {len(one.json['allocation_requests']) for one in (self.ours, self.theirs)}
        return counts == {int(limit)} and self._agrees()

    def is_summary_of_more(self) -> bool:
        """True if upstream has the same candidates, and summaries of further providers."""
        if not self.is_search or self.minor >= 29 or 'limit' not in self.query:
            return False
        ours, theirs = self.ours.json, self.theirs.json
        asked = (in_order(one['allocation_requests']) for one in (ours, theirs))
        more = ours['provider_summaries'].keys() < theirs['provider_summaries'].keys()
        return len({*asked}) == 1 and more and self._agrees()

    def combines_groups(self) -> bool:
        """True if a search has groups with and without a suffix."""
        groups = {name.removeprefix('resources') for name in self.query if 'resources' in name}
        return self.is_search and '' in groups and len(groups) > 1 and self._agrees()

    def lacks_resources(self) -> bool:
        """True if a group has conditions, and no resources."""
        groups = {
            (found[1], found[2])
            for name in self.query
            if (found := re.fullmatch('(resources|required|member_of|in_tree)(.*)', name))
        }
        suffixes = {suffix for _, suffix in groups}
        lacks = any(('resources', suffix) not in groups for suffix in suffixes)
        return self.is_search and lacks and self._agrees()

    def has_wildcards(self) -> bool:
        """True if upstream treats a prefix of trait names as a pattern."""
        prefix = self.query.get('name', [''])[0].removeprefix('startswith:')
        if not self.path.startswith('/traits?') or self._statuses != (200, 200):
            return False
        ours, theirs = ({*one.json['traits']} for one in (self.ours, self.theirs))
        return ours < theirs and not any(name.startswith(prefix) for name in theirs - ours)

    def has_more_standard_names(self) -> bool:
        """True if the libraries of standard traits and classes are newer here."""
        if self._statuses != (200, 200) or not re.match('/(traits|resource_classes)', self.path):
            return False
        ours, theirs = ({*_names(one.json)} for one in (self.ours, self.theirs))
        standard = {*os_traits.get_traits(), *os_resource_classes.STANDARDS}
        return ours != theirs and (ours ^ theirs) <= standard

    def is_malformed(self) -> bool:
        """True if upstream fails with a request that is refused here."""
        return self.ours.status in (400, 404) and self.theirs.status >= 500

    def ends_lines(self) -> bool:
        """True if a value has a line break or a zero byte."""
        return self.ours.status in (400, 404) and bool(re.search('%0[0aAdD]', self.path))

    def spent_its_budget(self) -> bool:
        """True if the search ended before it found anything."""
        return self.ours.headers.get('openstack-placement-search') == 'incomplete'

    def is_large(self) -> bool:
        """True if a query is refused for its size."""
        groups = sum(name.startswith('resources') for name in self.query)
        return self.ours.status == 400 and (len(self.path) > 65536 or groups > 256)

    def has_capitals(self) -> bool:
        """True if a uuid in the path has capital letters, and is found here alone."""
        path = urllib.parse.urlsplit(self.path).path
        uuid = re.search('/([0-9a-fA-F-]{32,36})(/|$)', path)
        return bool(uuid and uuid[1] != uuid[1].lower()) and self.ours.status < 300


def _names(body: Any) -> Iterator[str]:
    for one in body.get('traits', body.get('resource_classes', ())):
        yield one if isinstance(one, str) else one['name']


ORDER = 'Order of candidates'

#: What explains a difference, by the title of its section on the page; the first counts.
KNOWN: Mapping[str, Callable[[Read], bool]] = {
    'Unknown names': Read.names_unknown,
    'Summaries below 1.29': Read.is_summary_of_more,
    ORDER: Read.is_cut,
    'Groups with and without a suffix': Read.combines_groups,
    'Conditions without resources': Read.lacks_resources,
    'Long searches': Read.spent_its_budget,
    'Prefixes of traits': Read.has_wildcards,
    'Standard names': Read.has_more_standard_names,
    'Line breaks and zero bytes': Read.ends_lines,
    'Large writes and queries': Read.is_large,
    'Letter case': Read.has_capitals,
    'Malformed input': Read.is_malformed,
}


def find_known(read: Read) -> str | None:
    """Return the title of the known difference that explains the answers, or None."""
    return next((title for title, explains in KNOWN.items() if explains(read)), None)
