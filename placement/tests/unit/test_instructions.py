# SPDX-License-Identifier: Apache-2.0
"""How pages of instructions are read; `make test-install` follows them."""

import pathlib

import pytest

from placement.tests.functional.fixtures import applications
from placement.tests.servers import pages

PAGES = applications.repository_path('doc') / 'source'

PAGE = """
====
Page
====

Before
------

.. code-block:: console

   # first \\
       --long
   $ second <<END
   # text
   END
   printed

After
-----

Write into ``/etc/b``, not ``/etc/a``, or ``b``, into ``/etc/c``:

.. code-block:: ini

   [group]
   name = value

.. code-block:: none

   # not to be typed
"""


def read(tmp_path: pathlib.Path, text: str) -> dict[str, list[pages.Step]]:
    path = tmp_path / 'page.rst'
    path.write_text(text)
    return pages.sections(path)


def test_steps_are_found_in_their_sections(tmp_path: pathlib.Path) -> None:
    assert read(tmp_path, PAGE) == {
        'Before': [
            pages.Command('first \\\n    --long', as_root=True),
            pages.Command('second <<END\n# text\nEND', as_root=False, output='printed'),
        ],
        'After': [pages.Addition('/etc/c', '[group]\nname = value\n\n')],
    }


@pytest.mark.parametrize(
    ('block', 'fault'),
    [
        ('Write::\n\n   neither here nor there\n', 'no language: neither'),
        ('Write:\n\n.. code-block:: ini\n\n   [group]\n', 'nothing says which file'),
        ('.. code-block:: console\n\n   no prompt\n', 'neither a command nor below one'),
    ],
)
def test_a_block_that_nobody_could_follow_is_an_error(
    tmp_path: pathlib.Path, block: str, fault: str
) -> None:
    with pytest.raises(ValueError, match=fault):
        read(tmp_path, f'Page\n====\n\nOne\n---\n\n{block}\nTwo\n---\n\nText.\n')


@pytest.mark.parametrize('name', ['install', 'upgrade'])
def test_each_block_of_the_pages_can_be_followed(name: str) -> None:
    found = pages.sections(PAGES / f'{name}.rst')
    assert sum(len(steps) for steps in found.values()) > 8
