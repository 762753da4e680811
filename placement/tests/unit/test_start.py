# SPDX-License-Identifier: Apache-2.0
"""What a process has loaded once it serves requests, looked at in interpreters of their own."""

import subprocess
import sys
import textwrap

import pytest

LOAD = """
    from placement import conf, deploy
    config = conf.ConfigOpts()
    conf.register_opts(config)
    config.set_override('connection', 'sqlite://', group='placement_database')
    config.set_override('sync_on_startup', True, group='placement_database')
    config([], default_config_files=[], default_config_dirs=[])
    deploy.loadapp(config)
"""

START = """
    import os
    os.environ['OS_PLACEMENT_DATABASE__CONNECTION'] = 'sqlite://'
    os.environ['OS_PLACEMENT_DATABASE__SYNC_ON_STARTUP'] = 'true'
    os.environ['OS_API__AUTH_STRATEGY'] = 'noauth2'
    os.environ['OS_DEFAULT__LOG_FILE'] = os.devnull
    from placement.wsgi import api
    environ = {'REQUEST_METHOD': 'GET', 'PATH_INFO': '/'}
    answer = b''.join(api.application(environ, lambda status, headers, exception=None: None))
    assert b'versions' in answer
"""


def output_of(*parts: str) -> str:
    """What a new interpreter prints that runs these lines; warnings of libraries do not count."""
    code = '\n'.join(textwrap.dedent(part) for part in parts)
    done = subprocess.run(
        [sys.executable, '-W', 'ignore', '-c', code], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    'load',
    [
        LOAD,
        START,
        'import placement.cmd.serve',
        'import placement.direct',
        'import placement.tests.functional.fixtures.placement',
    ],
)
def test_the_service_loads_neither_eventlet_nor_messaging_nor_metrics(load: str) -> None:
    """Whoever imports the fixtures may choose the backend of oslo.service."""
    heavy = "{'eventlet', 'oslo_messaging', 'oslo_service', 'prometheus_client'}"

    assert output_of(load, f'import sys; print(sorted({heavy} & sys.modules.keys()))') == '[]\n'


@pytest.mark.parametrize(
    'load', [LOAD, START, 'import placement.cmd.serve', 'import placement.direct']
)
def test_the_service_does_not_load_the_mapper_of_sqlalchemy(load: str) -> None:
    assert output_of(load, "import sys; print('sqlalchemy.orm' in sys.modules)") == 'False\n'


def test_the_service_loads_no_dialect_of_a_database_server_before_it_is_configured() -> None:
    printed = output_of(
        """
        import sys
        from placement import deploy
        from sqlalchemy import dialects
        names = ('mysql', 'postgresql')
        print([name for name in names if f'{dialects.__name__}.{name}' in sys.modules])
        """
    )

    assert printed == '[]\n'


SELDOM_USED = "{'bcrypt', 'jinja2', 'oslo_utils.strutils', 'yaml'}"


@pytest.mark.parametrize('load', [START, LOAD, 'import placement.cmd.serve'])
def test_the_service_loads_nothing_that_it_seldom_uses(load: str) -> None:
    printed = output_of(load, f'import sys; print(sorted({SELDOM_USED} & sys.modules.keys()))')

    assert printed == '[]\n'


@pytest.mark.parametrize('load', [START, 'import placement.cmd.serve'])
def test_only_authentication_by_keystone_loads_an_http_client(load: str) -> None:
    clients = "{'requests', 'http.client'}"

    assert output_of(load, f'import sys; print(sorted({clients} & sys.modules.keys()))') == '[]\n'


def test_libraries_load_what_the_service_seldom_uses_when_they_use_it() -> None:
    printed = output_of(
        START,
        """
        from oslo_middleware import basic_auth, healthcheck
        from oslo_policy import _external, _parser, policy
        from oslo_versionedobjects import fields
        print(basic_auth.bcrypt.gensalt(4)[:7])
        print(healthcheck._expand_template('{{ n }}', {'n': 2}))
        print(policy.parse_file_contents('admin: "@"'))
        print(type(_parser.parse_rule('https://host/path')) is _external.HttpsCheck)
        print(fields.FlexibleBoolean().coerce(None, 'flag', 'yes'))

        import bcrypt, jinja2, yaml
        from jinja2.environment import Template
        from oslo_utils import strutils
        print(Template is jinja2.Template is healthcheck.jinja2.Template)
        print(strutils.mask_password is policy.strutils.mask_password)
        """,
    )

    assert printed == "b'$2b$04$'\n2\n{'admin': '@'}\nTrue\nTrue\nTrue\nTrue\n"


@pytest.mark.parametrize(
    'imports',
    [
        'import placement.db.engine.engines\nfrom oslo_db.sqlalchemy import models',
        'import placement.db.engine.engines\nimport oslo_db.sqlalchemy.models as models',
        'from oslo_db.sqlalchemy import models\nimport placement.db.engine.engines',
        'import placement.db.engine.engines\nfrom oslo_db.sqlalchemy.utils import models',
    ],
)
def test_a_program_that_uses_the_models_of_oslo_db_finds_them_whole(imports: str) -> None:
    """The same classes, whoever was imported first."""
    printed = output_of(
        imports,
        """
        import oslo_db.sqlalchemy, sys
        from oslo_db.sqlalchemy import utils
        print(models.ModelBase.__name__, issubclass(models.ModelBase, object))
        print(models.ModelBase is utils.models.ModelBase)
        print(models.ModelBase is sys.modules['oslo_db.sqlalchemy.models'].ModelBase)
        print(oslo_db.sqlalchemy.models is not None, 'sqlalchemy.orm' in sys.modules)
        """,
    )

    assert printed == 'ModelBase True\nTrue\nTrue\nTrue True\n'


@pytest.mark.parametrize(
    'imports',
    [
        'import placement.direct\nimport oslo_messaging\n',
        'import oslo_messaging\nimport placement.direct\n',
        'import oslo_versionedobjects.base\nimport placement.direct\nimport oslo_messaging\n',
    ],
)
def test_a_program_that_uses_messaging_finds_it_whole(imports: str) -> None:
    """Its serializers are of one class, whoever was imported first."""
    printed = output_of(
        imports,
        """
        from oslo_messaging import serializer
        from oslo_versionedobjects import base
        print(issubclass(base.VersionedObjectSerializer, oslo_messaging.NoOpSerializer))
        print(serializer.NoOpSerializer is oslo_messaging.NoOpSerializer)
        print(oslo_messaging.get_rpc_transport.__name__)
        """,
    )

    assert printed == 'True\nTrue\nget_rpc_transport\n'
