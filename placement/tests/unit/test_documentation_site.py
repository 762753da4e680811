# SPDX-License-Identifier: Apache-2.0
"""What the extensions in doc/extensions/ do with samples, and how they check links."""

import importlib.util
import pathlib
import types

import pytest
import yaml
from pygments.token import Error, Generic, Keyword

from placement.tests.functional.fixtures import applications
from placement.tests.unit import samples

REPOSITORY = applications.repository_path('.').resolve()
PAGES = [
    REPOSITORY / 'README.rst',
    *sorted((REPOSITORY / 'doc' / 'source').glob('*.rst')),
    *sorted((REPOSITORY / 'api-ref' / 'source').glob('*.rst')),
]


def extension(name: str) -> types.ModuleType:
    path = REPOSITORY / 'doc' / 'extensions' / f'{name}.py'
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


link_check = extension('link_check')
sample_highlighting = extension('sample_highlighting')


@pytest.fixture
def site(tmp_path: pathlib.Path) -> pathlib.Path:
    (tmp_path / 'below').mkdir()
    (tmp_path / 'index.html').write_text(
        '<link rel="stylesheet" href="style.css"><a href="below/page.html#here">there</a>'
    )
    (tmp_path / 'below' / 'page.html').write_text(
        '<h1 id="here">Here</h1><a href="../index.html">back</a><a href="#here">up</a>'
        '<a href="https://docs.openstack.org/">outside</a>'
    )
    (tmp_path / 'style.css').write_text('body { background: url(data:image/gif;base64,R0) }')
    return tmp_path


def test_a_complete_site_has_no_faults(site: pathlib.Path) -> None:
    assert link_check.list_faults(site) == []


@pytest.mark.parametrize(
    ('added', 'fault'),
    [
        ('<a href="gone.html">', 'added.html: nothing is at gone.html'),
        ('<a href="below/">', 'added.html: nothing is at below/'),
        ('<a href="below/page.html#no">', 'added.html: no such place as below/page.html#no'),
        ('<a href="#no">', 'added.html: no such place as #no'),
        ('<a href="../secret.html">', 'added.html: nothing is at ../secret.html'),
        ('<img src="picture.png">', 'added.html: nothing is at picture.png'),
        ('<script src="https://cdn.example/x.js">', 'added.html loads https://cdn.example/x.js'),
        ('<link rel="stylesheet" href="//cdn.example/x">', 'added.html loads //cdn.example/x'),
    ],
)
def test_links_that_lead_nowhere_and_outside_files_are_faults(
    site: pathlib.Path, added: str, fault: str
) -> None:
    (site.parent / 'secret.html').write_text('')
    (site / 'added.html').write_text(added)

    assert link_check.list_faults(site) == [fault]


def test_a_style_sheet_that_loads_a_font_from_outside_is_a_fault(site: pathlib.Path) -> None:
    (site / 'style.css').write_text('@import url("https://fonts.example/a.css");')

    assert link_check.list_faults(site) == ['style.css loads https://fonts.example/a.css']


@pytest.mark.parametrize(
    ('text', 'language'),
    [
        ('$ make serve', 'shell-session'),
        ('GET /traits\nOpenStack-API-Version: placement 1.39', 'http-exchange'),
        ('HTTP/1.1 200 OK\n\n{}', 'http-exchange'),
        ('[api]\nauth_strategy = noauth2', 'ini'),
        ('# A comment.\n[api]\nauth_strategy = noauth2', 'ini'),
        ("CREATE ROLE placement LOGIN PASSWORD 'SECRET';", 'sql'),
        ('{\n    "name": "host1"\n}', 'json'),
        ('"placement:allocations:list": "role:auditor"', 'yaml'),
        ('WSGIScriptAlias /placement /var/www', 'apache'),
        ('Candidates:\nhost1 VCPU:1', 'none'),
    ],
)
def test_a_sample_is_highlighted_by_what_it_begins_with(text: str, language: str) -> None:
    assert sample_highlighting.language_of(text) == language


def test_a_command_goes_on_behind_an_open_quotation_and_a_backslash() -> None:
    text = '$ curl \\\n    -d \'{"a":\n 1}\' http://host\n{"b": 2}\n$ ls\nfile\n'

    tokens = list(sample_highlighting.ShellSessionLexer().get_tokens(text))

    output = ''.join(value for kind, value in tokens if kind is Generic.Output)
    prompts = [value for kind, value in tokens if kind is Generic.Prompt]
    assert ''.join(value for _, value in tokens) == text
    assert output == '{"b": 2}\nfile\n'
    assert prompts == ['$ ', '$ ']


def test_a_request_with_a_body_has_a_method_and_json() -> None:
    text = 'PUT /traits/A\nAccept: */*\n\n{\n  "a": [true]\n}\n'

    tokens = list(sample_highlighting.ExchangeLexer().get_tokens(text))

    assert tokens[0] == (Keyword, 'PUT')
    assert (Keyword.Constant, 'true') in tokens
    assert [value for kind, value in tokens if kind is Error] == []


@pytest.mark.parametrize('path', PAGES, ids=lambda path: str(path.relative_to(REPOSITORY)))
def test_every_sample_of_a_page_can_be_lexed(path: pathlib.Path) -> None:
    tree, _ = samples.parse_page(path.read_text())
    lexers = {
        'shell-session': sample_highlighting.ShellSessionLexer(),
        'http-exchange': sample_highlighting.ExchangeLexer(),
    }
    for block in tree.findall(lambda node: node.tagname == 'literal_block'):
        lexer = lexers.get(sample_highlighting.language_of(block.astext()))
        if lexer is not None:
            found = list(lexer.get_tokens(block.astext()))
            assert [value for kind, value in found if kind is Error] == [], block.astext()


def test_parameters_of_the_reference_are_in_the_order_that_os_api_ref_wants() -> None:
    """It warns otherwise, and a warning ends `make docs`."""
    text = (REPOSITORY / 'api-ref' / 'source' / 'parameters.yaml').read_text()
    parameters = yaml.load(text, Loader=yaml.BaseLoader)
    for place in ('path', 'query', 'body'):
        names = [name for name, parameter in parameters.items() if parameter['in'] == place]
        assert names == sorted(names)


def test_every_page_has_one_place_in_the_order_of_the_site() -> None:
    text = (REPOSITORY / 'doc' / 'source' / 'index.rst').read_text()
    _, *trees = text.split('.. toctree::')
    listed = [line.strip() for tree in trees for line in tree.splitlines()[3:] if line.strip()]
    pages = {path.stem for path in (REPOSITORY / 'doc' / 'source').glob('*.rst')} - {'index'}
    assert len(listed) == len(set(listed))
    assert {name for name in listed if '/' not in name} == pages
