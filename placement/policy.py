# SPDX-License-Identifier: Apache-2.0
"""Whether a caller may do what it asks for: the rules of oslo.policy, kept up to date.

Contract: config_and_policy.md, 'Policy'; http.md 3.
"""

import logging
import os
import time
from collections.abc import Iterator, Mapping
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


# How long after a look at the policy files they are not looked at again, in seconds.
LOOK_INTERVAL = 1.0

# When this many questions were answered with yes, all of them are asked again.
MOST_REMEMBERED = 1_000


class Enforcer:
    """The rules in force; one of these serves every thread of the application.

    oslo.policy would look for changed files and go through all rules at each question. Here the
    files are looked at once in `look_interval` seconds, and a new set of rules is made only when
    they differ. It replaces the old one in one assignment, so no thread ever sees half of it.

    What the same caller was allowed before is not asked again of the same rules, unless they ask
    another server, which may have changed its mind.
    """

    def __init__(self, conf: ConfigOpts, look_interval: float = LOOK_INTERVAL) -> None:
        self._conf = conf
        self._look_interval = look_interval
        self._looked_at = time.monotonic()
        self._files = find_files(conf)
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
        if len(self._allowed) >= MOST_REMEMBERED:
            self._allowed.clear()
        self._allowed[question] = rules

    def _current_rules(self) -> policy.Enforcer:
        """The rules that the policy files say now, or said a moment ago."""
        now = time.monotonic()
        if now - self._looked_at < self._look_interval:
            return self._rules
        self._looked_at = now
        files = find_files(self._conf)
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


def find_files(conf: ConfigOpts) -> Files:
    """The policy file and the files of the policy directories, those that exist."""
    return frozenset(
        (path, found.st_mtime_ns, found.st_size, found.st_ino)
        for path, found in _policy_files(conf)
    )


def _policy_files(conf: ConfigOpts) -> Iterator[tuple[str, os.stat_result]]:
    for name in (conf.oslo_policy.policy_file, *conf.oslo_policy.policy_dirs):
        path = conf.find_file(name)
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
