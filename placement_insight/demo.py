# SPDX-License-Identifier: Apache-2.0
"""`placement-demo`: the service with a made-up cloud of 1,000 hosts, and problems to find.

It keeps its data and its log in a directory of its own, and deletes them at each start. Callers
are not authenticated (noauth2), and no configuration file is read. With --questions it starts
nothing: it prints the questions again, and the commands that ask them at --host and --port.
"""

import contextlib
import fcntl
import logging
import os
import sys
import time
from collections.abc import Iterator, Sequence

from placement import direct
from placement.cmd import serve
from placement.cmd.web_server import CannotServe
from placement.conf import ConfigOpts
from placement.feed.sink import open_database
from placement_insight import demo_cloud
from placement_insight.demo_cloud import loading
from placement_insight.demo_cloud.cloud import list_problems, list_searches_in_vain, make_cloud
from placement_insight.demo_cloud.last_hour import LastHour

STATE_DIR = 'state-demo'
#: The file that marks a directory as that of a demonstration; a running one locks it.
MARK = 'made-by-placement-demo'
#: The option that prints the questions and starts nothing.
QUESTIONS = '--questions'
#: Options of `[metrics]`, and the files of names that they are set to.
NAMES = {'aggregate_names_file': 'aggregate_names.yaml', 'requests_file': 'requests.yaml'}
DATABASE_FILES = ('placement.sqlite', 'placement.sqlite-wal', 'placement.sqlite-shm')
LOG_FILE = 'placement.log'


def main(arguments: Sequence[str] | None = None) -> int:
    """Create the cloud, run the service until a signal stops it, and return the exit status."""
    program = serve.Program(
        'placement-demo',
        (__doc__ or '').partition('\n\n')[2],
        state_dir=STATE_DIR,
        is_configurable=False,
        discard=_discard,
        fill=_fill,
        say_where=_say_where,
    )
    given = sys.argv[1:] if arguments is None else arguments
    if QUESTIONS in given:
        options, _others = serve.parser(program).parse_known_args(given)
        _print_questions(f'http://{options.host}:{options.port}')
        return 0
    return serve.run(program, arguments)


def _discard(state: str) -> None:
    """Delete the files of an earlier demonstration.

    :raises CannotServe: the directory has other data, or another demonstration uses it
    """
    mark = os.path.join(state, MARK)
    try:
        if os.path.exists(os.path.join(state, DATABASE_FILES[0])) and not os.path.exists(mark):
            raise CannotServe(
                f'{state} has data of something else; choose another directory with --state-dir'
            )
        os.makedirs(state, mode=0o700, exist_ok=True)
        # Never closed: the lock is held as long as this process lives.
        descriptor = os.open(mark, os.O_RDWR | os.O_CREAT, 0o600)
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        for name in (*DATABASE_FILES, LOG_FILE):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(os.path.join(state, name))
    except BlockingIOError as error:
        raise CannotServe(
            f'another demonstration uses {state}; choose another directory with --state-dir'
        ) from error
    except OSError as error:
        raise CannotServe(f'cannot keep data in {state}: {error.strerror}') from error


def _fill(conf: ConfigOpts, say: serve.Say) -> None:
    """Write the cloud, send the requests of its last hour, and the searches without candidates."""
    for option, file in NAMES.items():
        conf.set_default(
            option, os.path.join(os.path.dirname(demo_cloud.__file__), file), 'metrics'
        )
    began = time.monotonic()
    conf.set_default('enabled', True, 'history')
    database_file = conf.placement_database.connection.removeprefix('sqlite:///')
    log = os.path.join(os.path.dirname(database_file), LOG_FILE)
    # A dollar sign is escaped: oslo.config substitutes `$name`.
    conf.set_default('log_file', log.replace('$', '$$'))
    say(f'log: {log}')
    say('cloud: making 1,000 hosts, a few seconds')
    cloud = make_cloud()
    with _warnings_hidden(), direct.PlacementDirect(conf, latest_microversion=True) as client:
        with open_database(conf) as database:
            loading.load(database, cloud)
            hour = LastHour(client, cloud)
            hour.happen()
            hour.date_back(database)
        for request_id, query in list_searches_in_vain().items():
            headers = {'X-Openstack-Request-Id': request_id}
            client.get(f'/allocation_candidates?{query}', headers=headers)
        # Writes the searches, which the worker keeps in memory until then.
        client.get('/insight/unmet_demand')
    say(
        f'cloud: {len(cloud.providers):,} resource providers and {len(cloud.claims):,} '
        f'consumers, made in {time.monotonic() - began:.1f} s'
    )


@contextlib.contextmanager
def _warnings_hidden() -> Iterator[None]:
    """Suppress warnings: the cloud has its problems on purpose."""
    logging.disable(logging.WARNING)
    try:
        yield
    finally:
        logging.disable(logging.NOTSET)


def _say_where(say: serve.Say, url: str, strategy: str) -> None:
    """Print the questions and the address of the service."""
    _print_questions(url)
    say(f'look at it: {url}/ui/ (the token is admin)')
    say(f'what is wrong with this cloud? See above, or again with placement-demo {QUESTIONS}')
    say(f'serving on {url}, stop with Ctrl-C')


def _print_questions(url: str) -> None:
    """Print each question with the two commands that answer it: the client's, and curl."""
    print(f'\nexport OS_AUTH_TYPE=admin_token OS_TOKEN=admin OS_ENDPOINT={url}')
    for problem in list_problems():
        print('', f'# {problem.question}', *problem.commands(url), sep='\n')
    print(flush=True)


if __name__ == '__main__':
    sys.exit(main())
