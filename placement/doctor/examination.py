# SPDX-License-Identifier: Apache-2.0
"""Runs the checks, each for a limited time; whatever happens in one is a result."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence

from placement.doctor import configuration, database, identity, modules, policies, rights
from placement.doctor.deployment import Check, Deployment
from placement.doctor.result import Result, Status, failure

#: Seconds that one check may take. Those of servers give up after 5.
TIMEOUT = 20.0

#: In the order of the report. A failure ends its series, whose later checks need the earlier ones.
CHECKS: Sequence[Sequence[Check]] = (
    (modules.check_distributions,),
    (configuration.check_files,),
    (configuration.check_names,),
    (rights.check_home,),
    (rights.check_log,),
    (rights.check_metrics,),
    (policies.check_files,),
    (
        configuration.check_values,
        modules.check_driver,
        rights.check_sqlite_file,
        database.check_connection,
        database.check_schema,
        database.check_writes,
        database.check_clock,
        database.check_randomization,
    ),
    (configuration.check_values, modules.check_driver, database.check_replica),
    (configuration.check_values, configuration.check_pool),
    (identity.check_strategy,),
    (modules.check_keystone_middleware, identity.check_url, identity.check_credentials),
    (modules.check_keystone_middleware, identity.check_public_url),
    (
        modules.check_keystone_middleware,
        modules.check_memcached_client,
        identity.check_memcached,
    ),
)


def examine(
    deployment: Deployment,
    checks: Sequence[Sequence[Check]] = CHECKS,
    timeout: float = TIMEOUT,
) -> Iterator[Result]:
    """Yield what each check found, as soon as it is known."""
    known: dict[Check, Result | None] = {}
    for series in checks:
        for check in series:
            if check not in known:
                known[check] = found = run(check, deployment, timeout)
                if found is not None:
                    yield found
            known_result = known[check]
            if known_result is not None and known_result.status is Status.FAILURE:
                break


def run(check: Check, deployment: Deployment, timeout: float = TIMEOUT) -> Result | None:
    """What a check found; a failure when it raises, or does not end in time."""
    outcome: list[Result | None] = []

    def work() -> None:
        try:
            outcome.append(check(deployment))
        except Exception as error:
            words = ' '.join(str(error).split())
            outcome.append(
                failure(
                    _name(check),
                    f'The check failed with {type(error).__name__}: {words}',
                    'See to the checks above first; if there is nothing, report it as a defect.',
                )
            )

    # Python does not wait for it in the end, whatever it hangs in.
    thread = threading.Thread(target=work, name=_name(check), daemon=True)
    thread.start()
    thread.join(timeout)
    if not outcome:
        return failure(
            _name(check),
            f'The check did not end within {timeout:g} s.',
            'Look for a server or a file system that does not answer.',
        )
    return outcome[0]


def _name(check: Check) -> str:
    return check.__name__.removeprefix('check_').replace('_', ' ')
