# SPDX-License-Identifier: Apache-2.0
"""The rehearsal reads every format of access logs, and says what is wrong with others."""

import gzip
import pathlib
from collections.abc import Mapping

import pytest

from tools.rehearse import access_log
from tools.rehearse.access_log import Request
from tools.rehearse.failure import CannotRehearse

SEARCH = '/allocation_candidates?resources=VCPU:1&limit=10'
UUID = '3ec7bb97-640e-556e-9086-817dc20987ab'

#: A read, a change, and a request for something else, as each format has them.
LINES: Mapping[str, str] = {
    'haproxy': f"""\
Nov 28 18:00:00 lb haproxy[9]: 10.0.0.1:4 [28/Nov/2026:18:00:00.123] placement placement/api1 \
0/0/0/12/12 200 1234 - - ---- 1/1/0/0/0 0/0 {{placement 1.36}} "GET /placement{SEARCH} HTTP/1.1"
Nov 28 18:00:01 lb haproxy[9]: 10.0.0.1:4 [28/Nov/2026:18:00:01.123] placement placement/api1 \
0/0/0/12/12 204 99 - - ---- 1/1/0/0/0 0/0 {{placement 1.36}} "PUT /placement/allocations/{UUID} \
HTTP/1.1"
Nov 28 18:00:02 lb haproxy[9]: 10.0.0.1:4 [28/Nov/2026:18:00:02.123] nova~ nova/api1 \
0/0/0/12/+12 200 +99 - - ---- 1/1/0/0/+0 0/0 {{|placement 1.36}} {{}} \
"GET https://cloud.example/v2.1/servers HTTP/2.0"
""",
    'nginx or Apache': f"""\
10.0.0.1 - - [28/Nov/2026:18:00:00 +0000] "GET /placement{SEARCH} HTTP/1.1" 200 9 "-" "nova" \
"placement 1.36"
10.0.0.1 - admin [28/Nov/2026:18:00:01 +0000] "DELETE /allocations/{UUID} HTTP/1.1" 204 - "-" "-"
10.0.0.1 - - [28/Nov/2026:18:00:02 +0000] "GET / HTTP/1.1" 200 99 "-" "curl"
""",
    'uWSGI': f"""\
*** Starting uWSGI 2.0.28 (64bit) on [Sat Nov 28 17:00:00 2026] ***
[pid: 7|app: 0|req: 1/1] 10.0.0.1 () {{40 vars in 600 bytes}} [Sat Nov 28 18:00:00 2026] GET \
/placement{SEARCH} => generated 99 bytes in 5 msecs (HTTP/1.1 200) 6 headers in 200 bytes (1 \
switches on core 0)
[pid: 7|app: 0|req: 2/2] 10.0.0.1 () {{40 vars in 600 bytes}} [Sat Nov 28 18:00:01 2026] PUT \
/placement/traits/CUSTOM_A => generated 0 bytes in 5 msecs (HTTP/1.1 201) 6 headers in 200 bytes \
(1 switches on core 0)
[pid: 7|app: 0|req: 3/3] 10.0.0.1 () {{40 vars in 600 bytes}} [Sat Nov 28 18:00:02 2026] GET \
/favicon.ico => generated 0 bytes in 5 msecs (HTTP/1.1 404) 6 headers in 200 bytes (1 switches \
on core 0)
""",
    'oslo.log': f"""\
2026-11-28 17:00:00.000 7 INFO placement.wsgi [-] started
2026-11-28 18:00:00.000 7 INFO placement.requestlog [req-1 - - - - -] 10.0.0.1 \
"GET /placement{SEARCH}" status: 200 len: 99 microversion: 1.36
2026-11-28 18:00:01.000 7 INFO placement.requestlog [req-2 - - - - -] 10.0.0.1 \
"POST /placement/allocations" status: 204 len: 0 microversion: 1.36
2026-11-28 18:00:02.000 7 INFO placement.requestlog [req-3 - - - - -] 10.0.0.1 \
"GET /nothing" status: 404 len: 9 microversion: -
""",
}


def written(directory: pathlib.Path, text: str) -> pathlib.Path:
    path = directory / 'access.log'
    path.write_text(text)
    return path


@pytest.mark.parametrize('name', LINES)
def test_read_finds_reads_changes_and_others(name: str, tmp_path: pathlib.Path) -> None:
    log = access_log.read(written(tmp_path, LINES[name] * 2), version='1.30')

    version = '1.30' if name == 'uWSGI' else '1.36'
    assert log.format == name
    assert log.reads == {Request(SEARCH, version): 2}
    assert (log.changes, log.foreign, log.cut) == (2, 2, 0)
    assert log.without_version == (2 if name == 'uWSGI' else 0)


@pytest.mark.parametrize('name', LINES)
def test_read_unpacks_a_log(name: str, tmp_path: pathlib.Path) -> None:
    path = tmp_path / 'access.log.gz'
    path.write_bytes(gzip.compress(LINES[name].encode()))
    assert access_log.read(path).reads.total() == 1
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(CannotRehearse, match='truncated'):
        access_log.read(path)


@pytest.mark.parametrize('name', LINES)
def test_read_refuses_a_truncated_log(name: str, tmp_path: pathlib.Path) -> None:
    text = LINES[name] + LINES[name].partition(SEARCH)[0]
    with pytest.raises(
        CannotRehearse, match=r'access\.log is truncated: its last line ends early'
    ):
        access_log.read(written(tmp_path, text))


@pytest.mark.parametrize('name', LINES)
def test_read_counts_a_line_that_is_cut_off(name: str, tmp_path: pathlib.Path) -> None:
    cut = LINES[name].partition(SEARCH)[0].splitlines()[-1] + '/allocation_cand'
    log = access_log.read(written(tmp_path, f'{LINES[name]}{cut}\n{LINES[name]}'))
    assert (log.reads.total(), log.cut) == (2, 1)


@pytest.mark.parametrize(
    ('text', 'message'),
    [
        ('', 'is no log of oslo.log, uWSGI, haproxy, nginx or Apache, or has no request'),
        ('Nov 28 18:00:00 host sshd[1]: session opened\n', 'is no log of'),
        (LINES['haproxy'].splitlines()[-1] + '\n', 'has no read of Placement'),
    ],
)
def test_read_refuses_a_foreign_log(text: str, message: str, tmp_path: pathlib.Path) -> None:
    with pytest.raises(CannotRehearse, match=message):
        access_log.read(written(tmp_path, text))


def test_read_refuses_a_log_that_is_not_there(tmp_path: pathlib.Path) -> None:
    with pytest.raises(CannotRehearse, match='cannot be read: No such file'):
        access_log.read(tmp_path / 'none')


@pytest.mark.parametrize(
    ('path', 'route'),
    [
        (SEARCH, '/allocation_candidates'),
        (f'/resource_providers/{UUID}', '/resource_providers/{uuid}'),
        (f'/resource_providers/{UUID}/inventories?a=/b', '/resource_providers/{uuid}/inventories'),
        ('/resource_providers', '/resource_providers'),
        ('/reshaper', 'none'),
    ],
)
def test_request_has_the_path_of_its_route(path: str, route: str) -> None:
    assert Request(path, '1.39').route == route
