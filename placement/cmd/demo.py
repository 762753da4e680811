# SPDX-License-Identifier: Apache-2.0
"""`placement-demo`: the service with a made-up cloud of 1,000 hosts, and problems to find.

It keeps its data in a directory of its own, and throws them away at each start. Callers are not
authenticated (noauth2), and no configuration file is read.
"""

import contextlib
import fcntl
import logging
import os
import sys
import time
from collections.abc import Iterator, Sequence

from placement import direct
from placement.cmd import demo_cloud, serve
from placement.cmd.demo_cloud import loading
from placement.cmd.demo_cloud.cloud import list_problems, list_searches_in_vain, make_cloud
from placement.cmd.web_server import CannotServe
from placement.conf import ConfigOpts
from placement.db.engine.database import Database

STATE_DIR = 'state-demo'
#: Says that the data beside it are those of a demonstration, and is locked while one runs.
MARK = 'made-by-placement-demo'
#: Files that give names, by their options in `[metrics]`.
NAMES = {'aggregate_names_file': 'aggregate_names.yaml', 'requests_file': 'requests.yaml'}
DATABASE_FILES = ('placement.sqlite', 'placement.sqlite-wal', 'placement.sqlite-shm')


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the service with a cloud made anew until it is told to stop; the exit status."""
    program = serve.Program(
        'placement-demo',
        (__doc__ or '').partition('\n\n')[2],
        state_dir=STATE_DIR,
        is_configurable=False,
        discard=_discard,
        fill=_fill,
        say_where=_say_where,
    )
    return serve.run(program, arguments)


def _discard(state: str) -> None:
    """Throw away what an earlier demonstration left in its directory.

    :raises CannotServe: the directory has other data, or another demonstration uses it
    """
    mark = os.path.join(state, MARK)
    try:
        if os.path.exists(os.path.join(state, DATABASE_FILES[0])) and not os.path.exists(mark):
            raise CannotServe(
                f'{state} has data of something else; choose another directory with --state-dir'
            )
        os.makedirs(state, mode=0o700, exist_ok=True)
        # Open, and so locked, as long as this process lives.
        descriptor = os.open(mark, os.O_RDWR | os.O_CREAT, 0o600)
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        for name in DATABASE_FILES:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(os.path.join(state, name))
    except BlockingIOError as error:
        raise CannotServe(
            f'another demonstration uses {state}; choose another directory with --state-dir'
        ) from error
    except OSError as error:
        raise CannotServe(f'cannot keep data in {state}: {error.strerror}') from error


def _fill(conf: ConfigOpts, say: serve.Say) -> None:
    """Make the cloud, write it, name parts of it, and search for what it does not have."""
    for option, file in NAMES.items():
        conf.set_default(
            option, os.path.join(os.path.dirname(demo_cloud.__file__), file), 'metrics'
        )
    began = time.monotonic()
    say('cloud: making 1,000 hosts, a few seconds')
    cloud = make_cloud()
    with _warnings_hidden(), direct.PlacementDirect(conf, latest_microversion=True) as client:
        with Database.from_conf(conf) as database:
            loading.load(database, cloud)
        for request_id, query in list_searches_in_vain().items():
            headers = {'X-Openstack-Request-Id': request_id}
            client.get(f'/allocation_candidates?{query}', headers=headers)
        # Whose answer has the searches, so that they are written.
        client.get('/insight/unmet_demand')
    say(
        f'cloud: {len(cloud.providers):,} resource providers and {len(cloud.claims):,} '
        f'consumers, made in {time.monotonic() - began:.1f} s'
    )


@contextlib.contextmanager
def _warnings_hidden() -> Iterator[None]:
    """Log no warnings: what they would warn of is there to be found."""
    logging.disable(logging.WARNING)
    try:
        yield
    finally:
        logging.disable(logging.NOTSET)


def _say_where(say: serve.Say, url: str, strategy: str) -> None:
    """Print where the service is, and the commands that find the problems."""
    say('what is wrong with this cloud? Of two commands, which find it, the first is for the')
    say('openstack client with osc-placement-insight, after the following line:')
    print(f'\nexport OS_AUTH_TYPE=admin_token OS_TOKEN=admin OS_ENDPOINT={url}')
    for problem in list_problems():
        print('', f'# {problem.question}', *problem.commands(url), sep='\n')
    print(flush=True)
    say(f'look at it: {url}/ui/ (the token is admin)')
    say(f'serving on {url}, stop with Ctrl-C')


if __name__ == '__main__':
    sys.exit(main())
