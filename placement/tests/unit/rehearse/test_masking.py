# SPDX-License-Identifier: Apache-2.0
"""A report has no credentials, wherever they stood."""

import pytest

from tools.rehearse.masking import masked
from tools.rehearse.rendering import Section, as_html, as_text

TEXTS = (
    'GET /traits?name=in:A&token=sEcReT&b=1',
    'GET /traits?X-Auth-Token=sEcReT',
    'X-Auth-Token: sEcReT',
    '{"x-auth-token": "sEcReT", "b": 1}',
    '/usages?password=sEcReT',
    'passwd=sEcReT;',
    '/usages?os_password%3DsEcReT',
    'http://user:sEcReT@cloud.example/placement',
    'mysql+pymysql://sEcReT@host/placement',
    'Authorization: Basic sEcReT',
    'client_secret=sEcReT',
    'gAAAAABmsEcReTsEcReTsEcReT-_=',
)


@pytest.mark.parametrize('text', TEXTS)
def test_masked_leaves_no_credential(text: str) -> None:
    assert 'sEcReT' not in masked(text)
    assert '***' in masked(text)


def test_masked_leaves_everything_else() -> None:
    text = 'GET /resource_providers?member_of=in:a,b&required=!CUSTOM_A&resources=VCPU:1 http://h/'
    assert masked(text) == text
    assert masked('/traits?a=1&token=b&name=c') == '/traits?a=1&token=***&name=c'


def test_each_part_of_a_report_is_masked() -> None:
    for text in TEXTS:
        report = [Section(text, [text], [(text,), (text,)], [(text, text)])]
        for rendered in (as_text(report), as_html(report)):
            assert 'sEcReT' not in rendered
            assert rendered.count('***') >= 6


def test_html_shows_markup_as_text() -> None:
    markup = '<script>alert(1)</script>'
    report = [Section(markup, [markup], [(markup,), (markup,)], [(markup, markup)])]
    assert '<script>' not in as_html(report)
    assert as_html(report).count('&lt;script&gt;') == 7
