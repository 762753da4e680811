# SPDX-License-Identifier: Apache-2.0
"""Authorisation of requests by the rules of oslo.policy, kept up to date.

Specification: policy; http, "Authentication".
"""

import logging
from collections.abc import Mapping
from typing import Any

from placement import conf as placement_conf
from placement import errors, lazy_imports
from placement.conf import ConfigOpts
from placement.context import RequestContext

# For policy files, and for messages of level DEBUG, whose module compiles 425 regular expressions:
# 50 ms of the time to start, and 1.5 MB of memory. And for rules that ask another server, by the
# library requests: 40 ms, and 5 MB. `policies` imports oslo.policy as well.
with (
    lazy_imports.loaded_when_used('oslo_utils.strutils', 'yaml'),
    lazy_imports.loaded_when_called('oslo_policy._external', 'HttpCheck', 'HttpsCheck'),
):
    from oslo_policy import policy

    from placement import policies
    from placement.policies import files

LOG = logging.getLogger(__name__)

#: Everything that a decision depends on besides the rules: see `_decision_key`.
DecisionKey = tuple[Any, ...]

# With this many remembered decisions all of them are forgotten.
MAX_REMEMBERED = 1_000


class Enforcer:
    """The rules in force; one of these serves every thread of the application.

    oslo.policy would look for changed files and go through all rules at each request. Here the
    files are looked at, and a new set of rules is made only when they differ. It replaces the
    old one in one assignment, so no thread ever sees half of it.

    What the same caller was allowed before is not evaluated again by the same rules, unless a
    rule asks another server, whose answer may change.
    """

    def __init__(self, conf: ConfigOpts) -> None:
        self._conf = conf
        self._places = files.find_places(conf)
        self._files = files.find_files(self._places)
        self._rules = load_rules(conf)
        self._allowed: dict[DecisionKey, policy.Enforcer] = {}

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
        key = _decision_key(rule, known, credentials)
        if self._allowed.get(key) is rules:
            return
        evaluate(rules, rule, known, credentials)
        self._remember(key, rules)

    def _remember(self, key: DecisionKey, rules: policy.Enforcer) -> None:
        if has_remote_checks(rules):
            return
        if len(self._allowed) >= MAX_REMEMBERED:
            self._allowed.clear()
        self._allowed[key] = rules

    def _current_rules(self) -> policy.Enforcer:
        """The rules that the policy files say now."""
        found = files.find_files(self._places)
        if found != self._files:
            # Noted first: a file that cannot be read is tried again only when it has changed.
            self._files = found
            try:
                self._rules = load_rules(self._conf)
            except Exception as error:
                # A mistake in a file must not turn every request into an error.
                LOG.error(
                    'The policy files are refused; the previous rules stay in force: %r', error
                )
        return self._rules


def evaluate(
    rules: policy.Enforcer, rule: str, target: dict[str, str], credentials: dict[str, Any]
) -> None:
    """Return when the rules allow the caller with these credentials to act on the target.

    A rule that cannot be evaluated allows nothing: an HTTP check whose server does not answer, or
    one that recurses too deeply. Raises `errors.PolicyNotAuthorised`.
    """
    try:
        rules.authorize(rule, target, credentials, do_raise=True)
    except policy.InvalidScope as refusal:
        raise errors.PolicyNotAuthorised(rule) from refusal
    except policy.PolicyNotAuthorized as refusal:
        raise errors.PolicyNotAuthorised(rule=rule) from refusal
    except policy.PolicyNotRegistered:
        raise
    except Exception as error:
        LOG.error('The policy rule %s cannot be evaluated: %r', rule, error)
        raise errors.PolicyNotAuthorised(rule=rule) from error


def _decision_key(
    rule: str, target: Mapping[str, str], credentials: Mapping[str, Any]
) -> DecisionKey:
    """The rule, the target and the credentials as one hashable value."""
    values = [tuple(value) if isinstance(value, list) else value for value in credentials.values()]
    return (rule, *target.items(), *values)


def has_remote_checks(rules: policy.Enforcer) -> bool:
    """Whether any rule leaves the decision to another server."""
    return any('http:' in text or 'https:' in text for text in map(str, rules.rules.values()))


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


def _credentials(context: RequestContext) -> dict[str, Any]:
    """What rules may ask about the caller, as a plain dictionary."""
    return dict(context.to_policy_values())
