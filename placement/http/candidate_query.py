# SPDX-License-Identifier: Apache-2.0
"""Parses the query of a candidate search into a request for the search.

The order of the checks is part of the contract (specification: allocation_candidates, "Order of
request errors").
"""

import dataclasses
import re
from collections.abc import Callable, Iterable, Mapping

from oslo_utils import uuidutils

from placement import errors
from placement.http import querystring, spelling
from placement.http.microversion import Api, Rule
from placement.http.querystring import NOTHING_WANTED, Query, Wanted
from placement.search.model.request import GROUP_PARAMETERS, CandidateRequest, RequestGroup

# The parsers of all values of a parameter, for the parameters of the model's table.
_PARSERS: Mapping[str, Callable[[Api, str, list[str]], Wanted]] = {
    'required': lambda api, _key, values: querystring.parse_required(api, values),
    'member_of': querystring.parse_member_of,
}
_GROUP_PARAMETER = re.compile(rf'(resources|in_tree|{"|".join(_PARSERS)})([a-zA-Z0-9_-]*)')
LIMIT = '[1-9][0-9]*'
POLICIES = ['none', 'isolate']


@dataclasses.dataclass(slots=True)
class Group:
    """One request group during parsing."""

    suffix: str
    resources: dict[str, int] = dataclasses.field(default_factory=dict)
    in_tree: str | None = None
    wanted: dict[str, Wanted] = dataclasses.field(default_factory=dict)

    def frozen(self) -> RequestGroup:
        """The group as an immutable value for the search."""
        names = {
            parameter.field: wanted.forbidden if parameter.is_barred else wanted.required
            for parameter in GROUP_PARAMETERS
            if (wanted := self.wanted.get(parameter.query)) is not None
        }
        return RequestGroup(self.suffix, self.resources, in_tree=self.in_tree, **names)  # type: ignore[arg-type]

    @property
    def required(self) -> Wanted:
        """The required and forbidden traits."""
        return self.wanted.get('required', NOTHING_WANTED)

    def conflicting_traits(self) -> list[list[str]]:
        """Each set of alternatives whose traits are all forbidden as well."""
        forbidden = self.required.forbidden
        return [sorted(any_of) for any_of in self.required.required if any_of <= forbidden]


def parse(api: Api, query: Query) -> CandidateRequest:
    """The search request of a query; its names are not looked up yet.

    :raises errors.BadRequest: a parameter is invalid; the message is that of the specification
    """
    policy = _parse_first(query, 'group_policy', 'none|isolate', f'is not one of {POLICIES}')
    limit = _parse_limit(query)
    root = _parse_root_required(api, query)
    subtrees = tuple(_parse_subtree(value) for value in query.all('same_subtree'))
    groups = _parse_groups(api, query)
    if api.allows(Rule.GROUPS_WITHOUT_RESOURCES):
        _check_groups_in_subtrees(groups, subtrees)
    else:
        _check_all_have_resources(query, groups)
    _check_conflicts(groups)
    suffixed = sum(1 for suffix in groups if suffix)
    if suffixed > 1 and policy is None:
        raise errors.BadRequest(
            'The "group_policy" parameter is required when specifying more than one '
            '"resources{N}" parameter.'
        )
    return CandidateRequest(
        groups=tuple(group.frozen() for group in groups.values()),
        isolate=policy == 'isolate',
        same_subtree=subtrees,
        root_required=frozenset().union(*root.required),
        root_forbidden=root.forbidden,
        limit=limit,
        single_provider_per_tree=not api.allows(Rule.SEVERAL_PROVIDERS_OF_A_TREE),
        summarise_whole_trees=api.allows(Rule.SEVERAL_PROVIDERS_OF_A_TREE),
    )


def _parse_first(query: Query, name: str, pattern: str, words: str) -> str | None:
    """Return the first value of a parameter, or None. Checks all of them.

    The schema has checked only the last.
    """
    values = query.all(name)
    for value in values:
        if not re.fullmatch(pattern, value):
            raise errors.InvalidQuery(reason=f'{value!r} {words}')
    return values[0] if values else None


def _parse_limit(query: Query) -> int | None:
    """Return the number of candidates wanted."""
    limit = _parse_first(query, 'limit', LIMIT, f'does not match {LIMIT!r}')
    try:
        return None if limit is None else int(limit)
    except ValueError as error:
        raise errors.InvalidQuery(reason=error) from error


def _parse_root_required(api: Api, query: Query) -> Wanted:
    values = query.all('root_required')
    if not values:
        return NOTHING_WANTED
    if len(values) > 1:
        raise errors.BadRequest(
            "Query parameter 'root_required' may be specified only once.",
            code=errors.QUERY_DUPLICATE_KEY,
        )
    if values[0].startswith(querystring.ANY_OF):
        raise querystring.unsupported_any_trait(api, values[0])
    wanted = querystring.parse_traits(values[0], may_forbid=True)
    conflicting = sorted(frozenset().union(*wanted.required) & wanted.forbidden)
    if conflicting:
        raise errors.BadRequest(
            'Conflicting required and forbidden traits found in root_required: '
            + ', '.join(conflicting),
            code=errors.QUERY_BAD_VALUE,
        )
    return wanted


def _parse_subtree(value: str) -> frozenset[str]:
    suffixes = frozenset(suffix.strip() for suffix in value.split(','))
    if '' in suffixes:
        raise errors.BadRequest(
            'Empty string (unsuffixed group) can not be specified in `same_subtree` ',
            code=errors.QUERY_BAD_VALUE,
        )
    return suffixes


def _parse_groups(api: Api, query: Query) -> dict[str, Group]:
    """Groups by suffix, in the order in which the suffixes first appear.

    :raises errors.BadRequest: a parameter is invalid, the first one in query order
    """
    groups: dict[str, Group] = {}
    read: set[str] = set()
    for key, value in query:
        match = _GROUP_PARAMETER.fullmatch(key)
        if match is None:
            continue
        parameter, suffix = match.groups()
        if suffix not in groups and len(groups) == querystring.MAX_GROUPS:
            raise errors.InvalidQuery(
                reason=f'there are more than {querystring.MAX_GROUPS} request groups'
            )
        group = groups.setdefault(suffix, Group(suffix))
        # Every value of resources and in_tree is checked, and the last one counts. The values of
        # other parameters are parsed together at the place of the first.
        if parameter == 'resources':
            group.resources = querystring.parse_resources(value)
        elif parameter == 'in_tree':
            group.in_tree = _parse_tree(value)
        elif key in read:
            continue
        else:
            group.wanted[parameter] = _PARSERS[parameter](api, key, query.all(key))
        read.add(key)
    return groups


def _parse_tree(value: str) -> str:
    uuid = value.strip()
    if not uuidutils.is_uuid_like(uuid):
        raise errors.InvalidQuery(
            reason=f"Expected 'in_tree' parameter to be a format of uuid. Got: {value}"
        )
    return spelling.lowered(uuid)


def _keys(query: Query, parameter: str, groups: Iterable[Group]) -> str:
    """The keys of one parameter in some groups, in query order."""
    names = {parameter + group.suffix for group in groups}
    return ', '.join(key for key in dict.fromkeys(key for key, _value in query) if key in names)


def _check_all_have_resources(query: Query, groups: dict[str, Group]) -> None:
    orphans = [group for group in groups.values() if not group.resources]
    with_traits = [group for group in orphans if group.required.required]
    if with_traits:
        raise errors.BadRequest(
            'All traits parameters must be associated with resources.  Found the following '
            f'orphaned traits keys: {_keys(query, "required", with_traits)}'
        )
    with_aggregates = [group for group in orphans if 'member_of' in group.wanted]
    if with_aggregates:
        raise errors.BadRequest(
            'All member_of parameters must be associated with resources. Found the following '
            f'orphaned member_of keys: {_keys(query, "member_of", with_aggregates)}'
        )
    if orphans:
        raise errors.BadRequest('All request groups must specify resources.')
    if not groups:
        raise errors.BadRequest(
            'At least one request group (`resources` or `resources{$S}`) is required.'
        )


def _check_groups_in_subtrees(
    groups: dict[str, Group], subtrees: Iterable[frozenset[str]]
) -> None:
    named = frozenset().union(*subtrees)
    if not any(group.resources for group in groups.values()):
        raise errors.BadRequest(
            'There must be at least one resources or resources[$S] parameter.',
            code=errors.QUERY_MISSING_VALUE,
        )
    bad = [g.suffix for g in groups.values() if not g.resources and g.suffix not in named]
    if bad:
        raise errors.BadRequest(
            'Resourceless suffixed group request should be specified in `same_subtree` query '
            f'param: bad group(s) - {bad}.',
            code=errors.QUERY_BAD_VALUE,
        )
    unknown = sorted(named.difference(groups))
    if unknown:
        raise errors.BadRequest(
            f'Real suffixes should be specified in `same_subtree`: {unknown} not found in '
            f'{list(groups)}.',
            code=errors.QUERY_BAD_VALUE,
        )


def _check_conflicts(groups: dict[str, Group]) -> None:
    conflicts = sorted(
        f'required{group.suffix}: ({", ".join(traits)})'
        for group in groups.values()
        for traits in group.conflicting_traits()
    )
    if conflicts:
        raise errors.BadRequest(
            'Conflicting required and forbidden traits found in the following traits keys: '
            + ', '.join(conflicts)
        )
