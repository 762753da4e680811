# SPDX-License-Identifier: Apache-2.0
"""Authorisation of requests by the rules of oslo.policy, kept up to date.

Specification: policy; http, "Authentication".
"""

import logging
import os
from collections.abc import Iterator, Mapping

from oslo_policy import policy

from placement import conf as placement_conf
from placement import errors, policies
from placement.conf import ConfigOpts
from placement.context import RequestContext

LOG = logging.getLogger('placement.policy')

#: The policy files as last seen: path, time of change in nanoseconds, size in bytes, inode.
Files = frozenset[tuple[str, int, int, int]]


class Enforcer:
    """The rules in force, shared by all threads of the application.

    oslo.policy would go through all rules at each request when it looks for changed files. Here a
    new set of rules is made only when the files differ. It replaces the old one in one
    assignment, so no thread ever sees half of it.
    """

    def __init__(self, conf: ConfigOpts) -> None:
        self._conf = conf
        self._files = find_files(conf)
        self._rules = load_rules(conf)

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
        credentials = dict(context.to_policy_values())
        try:
            self._current_rules().authorize(rule, known, credentials, do_raise=True)
        except policy.InvalidScope as refusal:
            raise errors.PolicyNotAuthorised(rule) from refusal
        except policy.PolicyNotAuthorized as refusal:
            raise errors.PolicyNotAuthorised(rule=rule) from refusal
        except policy.PolicyNotRegistered:
            raise
        except Exception as error:
            LOG.error('The policy rule %s cannot be evaluated: %r', rule, error)
            raise errors.PolicyNotAuthorised(rule=rule) from error

    def _current_rules(self) -> policy.Enforcer:
        """The rules that the policy files say now."""
        files = find_files(self._conf)
        if files != self._files:
            # Noted first: a file that cannot be read is tried again only when it has changed.
            self._files = files
            try:
                self._rules = load_rules(self._conf)
            except Exception as error:
                # A mistake in a file must not turn every request into an error.
                LOG.error(
                    'The policy files are refused; the previous rules stay in force: %r', error
                )
        return self._rules


def find_files(conf: ConfigOpts) -> Files:
    """The policy file and the files of the policy directories, those that exist."""
    names = (conf.oslo_policy.policy_file, *conf.oslo_policy.policy_dirs)
    paths = filter(None, map(conf.find_file, names))
    return frozenset(
        (path, stat.st_mtime_ns, stat.st_size, stat.st_ino) for path, stat in _stats(paths)
    )


def _stats(paths: Iterator[str]) -> Iterator[tuple[str, os.stat_result]]:
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
