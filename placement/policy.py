# SPDX-License-Identifier: Apache-2.0
"""Whether a caller may do what it asks for: the rules of oslo.policy, kept up to date.

Specification: policy; http, "Authentication".
"""

import logging
import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from oslo_policy import policy

from placement import conf as placement_conf
from placement import errors, policies
from placement.conf import ConfigOpts
from placement.context import RequestContext

LOG = logging.getLogger(__name__)

#: The policy files as last seen: path, time of change in nanoseconds, size, inode.
Files = frozenset[tuple[str, int, int, int]]

#: Who wants to do what with what: see `_question`.
Question = tuple[Any, ...]


# When this many questions were answered with yes, all of them are asked again.
MAX_REMEMBERED = 1_000


class Enforcer:
    """The rules in force; one of these serves every thread of the application.

    oslo.policy would look for changed files and go through all rules at each question. Here the
    files are looked at, and a new set of rules is made only when they differ. It replaces the
    old one in one assignment, so no thread ever sees half of it.

    What the same caller was allowed before is not asked again of the same rules, unless they ask
    another server, which may have changed its mind.
    """

    def __init__(self, conf: ConfigOpts) -> None:
        self._conf = conf
        self._places = find_places(conf)
        self._files = find_files(self._places)
        self._rules = load_rules(conf)
        self._allowed: dict[Question, policy.Enforcer] = {}

    def authorise(
        self,
        context: RequestContext,
        rule: str,
        target: Mapping[str, str | None] | None = None,
    ) -> None:
        """Return when ``rule`` lets the caller act on ``target``, by default its own project.

        :raises errors.PolicyNotAuthorised: it does not, or the token has the wrong scope
        """
        if target is None:
            target = {'project_id': context.project_id, 'user_id': context.user_id}
        # oslo.policy compares text: a project that is absent would equal one named 'None'.
        known = {name: value for name, value in target.items() if value is not None}
        credentials = _credentials(context)
        rules = self._current_rules()
        question = _question(rule, known, credentials)
        if self._allowed.get(question) is rules:
            return
        try:
            rules.authorize(rule, known, credentials, do_raise=True)
        except policy.InvalidScope as refusal:
            raise errors.PolicyNotAuthorised(rule) from refusal
        except policy.PolicyNotAuthorized as refusal:
            raise errors.PolicyNotAuthorised(rule=rule) from refusal
        self._remember(question, rules)

    def _remember(self, question: Question, rules: policy.Enforcer) -> None:
        if asks_others(rules):
            return
        if len(self._allowed) >= MAX_REMEMBERED:
            self._allowed.clear()
        self._allowed[question] = rules

    def _current_rules(self) -> policy.Enforcer:
        """The rules that the policy files say now."""
        files = find_files(self._places)
        if files != self._files:
            # Noted first: a file that cannot be read is tried again only when it has changed.
            self._files = files
            try:
                self._rules = load_rules(self._conf)
            except Exception:
                # A mistake in a file must not turn every request into an error.
                LOG.exception('The policy files cannot be read; the former rules stay in force.')
        return self._rules


def _question(rule: str, target: Mapping[str, str], credentials: Mapping[str, Any]) -> Question:
    """Everything that an answer depends on besides the rules, as one value."""
    values = [tuple(value) if isinstance(value, list) else value for value in credentials.values()]
    return (rule, *target.items(), *values)


def asks_others(rules: policy.Enforcer) -> bool:
    """Whether any rule leaves the decision to another server."""
    return any('http:' in text or 'https:' in text for text in map(str, rules.rules.values()))


def load_rules(conf: ConfigOpts) -> policy.Enforcer:
    """The rules by default and by the policy files, read once and never looked for again."""
    rules = policy.Enforcer(conf)
    # The defaults that have changed are old news: warning of each at start tells nobody anything.
    rules.suppress_default_change_warnings = True
    rules.register_defaults(policies.list_rules())
    rules.load_rules()
    rules.use_conf = False
    return rules


def get_enforcer() -> policy.Enforcer:
    """The rules in force, as the tools of oslo.policy ask for them; no database is needed."""
    return load_rules(placement_conf.load_for_policy_tools())


def find_files(places: Iterable[Iterable[str]]) -> Files:
    """The policy file and the files of the policy directories, those that exist."""
    return frozenset(
        (path, found.st_mtime_ns, found.st_size, found.st_ino)
        for path, found in _policy_files(places)
    )


def find_places(conf: ConfigOpts) -> list[list[str]]:
    """Where each of the policy file and directories may be; the first that exists counts.

    These are the paths that `conf.find_file` would try, which are worked out once: it takes longer
    over them than over looking whether they exist, and is asked at every request.
    """
    home, project = os.path.expanduser('~'), placement_conf.PROJECT
    beside = [os.path.dirname(_absolute(file)) for file in reversed(conf.config_file)]
    snaps = [os.environ.get(name) for name in ('SNAP_COMMON', 'SNAP')]
    directories = [
        *map(_absolute, conf.config_dirs),
        *beside,
        os.path.join(home, f'.{project}'),
        home,
        os.path.join('/etc', project),
        '/etc',
        *[os.path.join(snap, 'etc', project) for snap in snaps if snap],
    ]
    names = (conf.oslo_policy.policy_file, *conf.oslo_policy.policy_dirs)
    return [[os.path.join(directory, name) for directory in directories] for name in names]


def _absolute(path: str) -> str:
    return os.path.abspath(os.path.expanduser(path))


def _policy_files(places: Iterable[Iterable[str]]) -> Iterator[tuple[str, os.stat_result]]:
    for paths in places:
        path = next(filter(os.path.exists, paths), None)
        if path is None:
            continue
        try:
            yield path, os.stat(path)
            if os.path.isdir(path):
                with os.scandir(path) as entries:
                    yield from [(entry.path, entry.stat()) for entry in entries]
        except OSError:
            # Removed since it was found.
            continue


def _credentials(context: RequestContext) -> dict[str, Any]:
    """What rules may ask about the caller, as a plain dictionary."""
    return dict(context.to_policy_values())
