# SPDX-License-Identifier: Apache-2.0
"""Authorisation of requests by the rules of oslo.policy, reloaded when files change.

Specification: policy; http, "Authentication".
"""

import functools
import json
import logging
import os
from collections.abc import Callable, Iterable, Iterator, Sequence

from oslo_policy import policy
from stevedore import extension

from placement import conf as placement_conf
from placement import errors, policies
from placement.conf import ConfigOpts
from placement.conf.files import DIRECTORIES
from placement.context import RequestContext

LOG = logging.getLogger('placement.policy')

#: The policy files: path, modification time in nanoseconds, size in bytes, inode.
Files = frozenset[tuple[str, int, int, int]]

#: The possible paths of each policy file, in the order in which oslo.config searches them.
Places = Sequence[Sequence[str]]

#: Maximum number of cached decisions of one set of rules.
MAX_DECISIONS = 1_000


class Enforcer:
    """The rules in force, shared by all threads of the application.

    oslo.policy processes all rules at each request when it checks for changed files. Here a new
    set of rules is loaded only if files have changed. It replaces the old set and its cached
    decisions in one assignment, so no thread sees a part of it.
    """

    def __init__(self, conf: ConfigOpts) -> None:
        self._conf = conf
        self._places = list_places(conf)
        self._files = find_files(self._places)
        self._authorise = _authorisation(load_rules(conf))

    def authorise(self, context: RequestContext, rule: str, project_id: str | None) -> None:
        """Check that ``rule`` lets the caller act on a project.

        A rule that cannot be evaluated allows nothing, such as an HTTP check whose server does not
        answer, or a rule that recurses too deeply.

        :raises errors.PolicyNotAuthorised: it does not, or the token has the wrong scope
        """
        target = {'project_id': project_id, 'user_id': context.user_id}
        # oslo.policy compares text: a missing project would equal one named 'None'.
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
        """The authorisation by the current rules in the policy files."""
        files = find_files(self._places)
        if files != self._files:
            # Set first: a file that cannot be read is tried again only after it has changed.
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
    """A function that checks a question: rule, target and credentials, as JSON.

    Allowed questions are cached, because oslo.policy inspects the signature of each check before
    each call, which takes a noticeable part of a small request. Nothing is cached if a rule
    contains a check of an extension, such as one that asks a server.
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
    """The possible paths of the policy file and of each policy directory."""
    files = map(os.path.dirname, map(os.path.abspath, reversed(conf.config_file)))
    searched = [*conf.config_dirs, *files, *DIRECTORIES]
    directories = dict.fromkeys(os.path.abspath(os.path.expanduser(path)) for path in searched)
    names = (conf.oslo_policy.policy_file, *conf.oslo_policy.policy_dirs)
    return [[os.path.join(directory, name) for directory in directories] for name in names]


def find_files(places: Places) -> Files:
    """The policy file and the files in the policy directories that exist."""
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
            # Removed in the meantime.
            continue


def load_rules(conf: ConfigOpts) -> policy.Enforcer:
    """The default rules and those of the policy files, read once.

    :raises oslo_policy.policy.InvalidDefinitionError: a rule refers to itself, so its evaluation
        would not end
    :raises Exception: a file cannot be read; an error of oslo.policy or YAML
    """
    rules = policy.Enforcer(conf)
    # A warning for each changed default at every start would hide the news in the log.
    rules.suppress_default_change_warnings = True
    rules.register_defaults(policies.list_rules())
    rules.load_rules()
    rules.use_conf = False
    # A reference to an undefined rule allows nothing, so the whole file need not be refused. The
    # validator of oslo.policy, which uses these rules later, has to find it.
    rules.skip_undefined_check = True
    rules.check_rules(raise_on_violation=True)
    rules.skip_undefined_check = False
    return rules


def get_enforcer() -> policy.Enforcer:
    """The rules in force, for the tools of oslo.policy; needs no database."""
    return load_rules(placement_conf.load_for_policy_tools())
