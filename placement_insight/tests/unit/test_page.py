# SPDX-License-Identifier: Apache-2.0
"""The files of the page: who gets them, how, and what is in them."""

import pathlib
import re

import pytest
from oslo_config import cfg

from placement.middleware import loopback_hosts, wrapped
from placement.tests.functional.fixtures import applications
from placement.tests.unit.middleware.samples import Inner, ask
from placement_insight import page as ui

DIRECTORY = pathlib.Path(ui.__file__).parent / 'ui'
NAMES = sorted(path.name for path in DIRECTORY.iterdir())


@pytest.fixture
def page() -> ui.WSGIApplication:
    return ui.Page(Inner())


@pytest.mark.parametrize('path', ['', '/', '/uix', '/traits', '/UI/', '//ui/', '/x/ui/'])
def test_other_paths_are_those_of_the_service(page: ui.WSGIApplication, path: str) -> None:
    assert ask(page, path).status_code == 204


def test_the_path_without_slash_leads_to_the_one_with_it(page: ui.WSGIApplication) -> None:
    answer = ask(page, '/ui', Host='evil.example')
    # Relative, so that no prefix and no name of a host can lead elsewhere.
    assert (answer.status_code, answer.headers['Location']) == (301, 'ui/')


@pytest.mark.parametrize('name', ['', *NAMES])
def test_every_file_is_served(page: ui.WSGIApplication, name: str) -> None:
    answer = ask(page, f'/ui/{name}')
    assert answer.status_code == 200
    assert answer.body == (DIRECTORY / (name or 'index.html')).read_bytes()
    assert answer.headers['Content-Type'] == ui.TYPES[pathlib.Path(name or 'index.html').suffix]
    head = ask(page, f'/ui/{name}', method='HEAD')
    assert (head.status_code, head.body, head.headers) == (200, b'', answer.headers)


def test_the_index_names_the_cloud_which_is_text_alone() -> None:
    page = ui.Page(Inner(), 'East "1" <script>')
    answer = ask(page, '/ui/')
    named = b'<meta name="cloud" content="East &quot;1&quot; &lt;script&gt;">'
    assert named in answer.body
    assert answer.body == ask(page, '/ui/index.html').body
    assert answer.headers['Content-Length'] == str(len(answer.body))


@pytest.mark.parametrize('path', ['/ui', '/ui/', '/ui/style.css', '/ui/missing'])
def test_every_answer_has_the_headers_that_protect_it(page: ui.WSGIApplication, path: str) -> None:
    headers = ask(page, path).headers
    policy = dict(
        directive.split(' ', 1) for directive in headers['Content-Security-Policy'].split('; ')
    )
    assert policy['default-src'] == policy['frame-ancestors'] == policy['base-uri'] == "'none'"
    assert policy['form-action'] == policy['trusted-types'] == "'none'"
    assert policy['script-src'] == policy['style-src'] == policy['connect-src'] == "'self'"
    assert headers['X-Content-Type-Options'] == 'nosniff'
    assert headers['X-Frame-Options'] == 'DENY'
    assert headers['Referrer-Policy'] == 'no-referrer'
    assert 'Set-Cookie' not in headers
    assert 'Access-Control-Allow-Origin' not in headers


@pytest.mark.parametrize('path', ['/ui', '/ui/', '/ui/app.js', '/ui/missing'])
@pytest.mark.parametrize('method', ['POST', 'OPTIONS', 'X'])
def test_other_methods_are_refused(page: ui.WSGIApplication, path: str, method: str) -> None:
    answer = ask(page, path, method=method)
    assert (answer.status_code, answer.headers['Allow']) == (405, 'GET, HEAD')


def test_a_file_that_the_browser_has_is_not_sent_again(page: ui.WSGIApplication) -> None:
    etag = ask(page, '/ui/app.js').headers['ETag']
    again = ask(page, '/ui/app.js', If_None_Match=etag)
    assert (again.status_code, again.body) == (304, b'')
    assert 'Content-Length' not in again.headers
    assert ask(page, '/ui/style.css', If_None_Match=etag).status_code == 200


@pytest.mark.parametrize(
    'path',
    [
        '/ui/../conf/ui.py',
        '/ui/../../setup.cfg',
        '/ui//etc/passwd',
        '/ui/..%2f..%2fsetup.cfg',
        '/ui/....//setup.cfg',
        '/ui/..\\conf\\ui.py',
        '/ui/\0',
        '/ui/index.html\0.js',
        '/ui/./app.js',
        '/ui/app.js/',
        '/ui/__init__.py',
        '/ui/\xff',
    ],
)
def test_no_path_leads_to_another_file(page: ui.WSGIApplication, path: str) -> None:
    answer = ask(page, path)
    assert (answer.status_code, answer.body) == (404, b'404 Not Found\n')


def test_under_noauth2_a_foreign_name_of_this_machine_gets_nothing(conf: cfg.ConfigOpts) -> None:
    conf.set_override('auth_strategy', 'noauth2', 'api')
    page = wrapped(Inner(), [loopback_hosts.row(conf), ui.Page])
    assert ask(page, '/ui/', Host='rebound.example:8778').status_code == 403
    assert ask(page, '/ui/', Host='localhost:8778').status_code == 200


def test_the_wheel_has_every_file() -> None:
    setup = applications.repository_path('setup.cfg').read_text()
    (patterns,) = re.findall(r'^placement_insight\.ui = (.+)$', setup, re.MULTILINE)
    suffixes = {pattern.strip().removeprefix('*') for pattern in patterns.split(',')}
    assert {pathlib.Path(name).suffix for name in NAMES} == suffixes


@pytest.mark.parametrize('name', NAMES)
def test_a_file_names_nothing_outside(name: str) -> None:
    """Neither other hosts nor anything that the policy would forbid."""
    text = (DIRECTORY / name).read_text()
    assert set(re.findall(r'\w+://[^\s"\'<)]+', text)) <= {'http://www.w3.org/2000/svg'}
    assert not re.search(
        r'innerHTML|outerHTML|insertAdjacent|document\.write|eval\(|DOMParser', text
    )
    assert not re.search(r'localStorage|indexedDB|document\.cookie', text)
    # It keeps the token, for those who want that.
    assert ('sessionStorage' in text) == (name == 'api.js')


def test_the_index_has_no_inline_script_or_style() -> None:
    text = (DIRECTORY / 'index.html').read_text()
    assert re.findall(r'<script(.*?)>(.*?)</script>', text) == [
        (' type="module" src="app.js"', '')
    ]
    assert not re.search(r'<style|\sstyle=|\son\w+=|javascript:', text)


def test_everything_that_is_referred_to_is_there() -> None:
    text = (DIRECTORY / 'index.html').read_text()
    named = set(re.findall(r'(?:src|href)="([^"#]+)"', text))
    for path in DIRECTORY.glob('*.js'):
        named |= set(re.findall(r"from '\./([^']+)'", path.read_text()))
    assert named | {'index.html'} == set(NAMES)
