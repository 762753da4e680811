# SPDX-License-Identifier: Apache-2.0
"""Authorisation of requests by the rules of oslo.policy, kept up to date.

Specification: policy; http, "Authentication".
"""

import functools
import json
import logging
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from oslo_policy import policy
from stevedore import extension

from placement import conf as placement_conf
from placement import errors, policies
from placement.conf import ConfigOpts
from placement.conf.files import DIRECTORIES
from placement.context import RequestContext

LOG = logging.getLogger('placement.policy')

#: The policy files as last seen: path, time of change in nanoseconds, size in bytes, inode.
Files = frozenset[tuple[str, int, int, int]]

#: The paths where each policy file may be, in the order in which oslo.config looks for it.
Places = Sequence[Sequence[str]]

#: How many decisions of the same rules are remembered.
MAX_DECISIONS = 1_000


class Enforcer:
    """The rules in force, shared by all threads of the application.

    oslo.policy would go through all rules at each request when it looks for changed files. Here a
    new set of rules is made only when the files differ. It replaces the old one in one
    assignment, together with what that has allowed, so no thread ever sees half of it.
    """

    def __init__(self, conf: ConfigOpts) -> None:
        self._conf = conf
        self._places = list_places(conf)
        self._files = find_files(self._places)
        self._authorise = _authorisation(load_rules(conf))

    def authorise(
        self,
        context: RequestContext,
        rule: str,
        target: Mapping[str, str | None] | None = None,
    ) -> None:
        """Return when ``rule`` lets the caller act on ``target``, by default its own project.

        A rule that cannot be evaluated allows nothing: an HTTP check whose server does not
        answer, or one that recurses too deeply.

        :raises errors.PolicyNotAuthorised: it does not, or the token has the wrong scope
        """
        if target is None:
            target = {'project_id': context.project_id, 'user_id': context.user_id}
        # oslo.policy compares text: a project that is absent would equal one named 'None'.
        known = {name: value for name, value in target.items() if value is not None}
        question = json.dumps((rule, known, dict(context.to_policy_values())))
        try:
            self._current()(question)
        except policy.InvalidScope as refusal:
            raise errors.PolicyNotAuthorised(rule) from refusal
        except policy.PolicyNotAuthorized as refusal:
            raise errors.PolicyNotAuthorised(rule=rule) from refusal
        except policy.PolicyNotRegistered:
            raise
        except Exception as error:
            LOG.error('The policy rule %s cannot be evaluated: %r', rule, error)
            raise errors.PolicyNotAuthorised(rule=rule) from error

    def _current(self) -> Callable[[str], None]:
        """The authorisation by the rules that the policy files say now."""
        files = find_files(self._places)
        if files != self._files:
            # Noted first: a file that cannot be read is tried again only when it has changed.
            self._files = files
            try:
                self._authorise = _authorisation(load_rules(self._conf))
            except Exception as error:
                # A mistake in a file must not turn every request into an error.
                LOG.error(
                    'The policy files are refused; the previous rules stay in force: %r', error
                )
        return self._authorise


def _authorisation(rules: policy.Enforcer) -> Callable[[str], None]:
    """A function that returns when rules allow a question: rule, target, credentials as JSON.

    What was allowed is remembered, since oslo.policy looks at the signature of each check before
    it calls it: without that and `list_places` the read of a provider takes a fifth longer.
    Nothing is remembered where a rule has a check of an extension, as those that ask a server.
    """

    def authorise(question: str) -> None:
        rule, target, credentials = json.loads(question)
        rules.authorize(rule, target, credentials, do_raise=True)

    kinds = extension.ExtensionManager('oslo.policy.rule_checks', invoke_on_load=False).names()
    texts = [str(check) for check in rules.rules.values()]
    if any(f'{kind}:' in text for kind in kinds for text in texts):
        return authorise
    return functools.lru_cache(MAX_DECISIONS)(authorise)


def list_places(conf: ConfigOpts) -> Places:
    """The paths where the policy file and the policy directories may be, for each of them."""
    files = map(os.path.dirname, map(os.path.abspath, reversed(conf.config_file)))
    searched = [*conf.config_dirs, *files, *DIRECTORIES]
    directories = dict.fromkeys(os.path.abspath(os.path.expanduser(path)) for path in searched)
    names = (conf.oslo_policy.policy_file, *conf.oslo_policy.policy_dirs)
    return [[os.path.join(directory, name) for directory in directories] for name in names]


def find_files(places: Places) -> Files:
    """The policy file and the files of the policy directories, those that exist."""
    paths = (next((path for path in paths if os.access(path, os.F_OK)), None) for paths in places)
    return frozenset(
        (path, stat.st_mtime_ns, stat.st_size, stat.st_ino)
        for path, stat in _stats(filter(None, paths))
    )


def _stats(paths: Iterable[str]) -> Iterator[tuple[str, os.stat_result]]:
    for path in paths:
        try:
            yield path, os.stat(path)
            if os.path.isdir(path):
                with os.scandir(path) as entries:
                    yield from [(entry.path, entry.stat()) for entry in entries]
        except OSError:
            # Removed since it was found.
            continue


def load_rules(conf: ConfigOpts) -> policy.Enforcer:
    """The rules by default and by the policy files, read once and never looked for again.

    Raises what oslo.policy and YAML raise for files that cannot be read, and
    `oslo_policy.policy.InvalidDefinitionError` for a rule that refers to itself, which could be
    evaluated for ever.
    """
    rules = policy.Enforcer(conf)
    # One warning for each changed default at every start would hide what is new in the log.
    rules.suppress_default_change_warnings = True
    rules.register_defaults(policies.list_rules())
    rules.load_rules()
    rules.use_conf = False
    # A reference to an undefined rule allows nothing, which needs no refusal of the whole file;
    # the validator of oslo.policy, which asks these rules later, has to find it.
    rules.skip_undefined_check = True
    rules.check_rules(raise_on_violation=True)
    rules.skip_undefined_check = False
    return rules


def get_enforcer() -> policy.Enforcer:
    """The rules in force, as the tools of oslo.policy ask for them; no database is needed."""
    return load_rules(placement_conf.load_for_policy_tools())
