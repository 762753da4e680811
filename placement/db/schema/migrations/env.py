# SPDX-License-Identifier: Apache-2.0
"""The environment in which Alembic runs revisions, on a connection of `db.schema.migration`."""

from alembic import context, util


def run() -> None:
    """Run the requested revisions on the given connection.

    :raises alembic.util.CommandError: offline mode. Two of the revisions read the data, so a
        script written without the database would be wrong
    """
    if context.is_offline_mode():
        raise util.CommandError('The migrations cannot be written to a script: they read data.')
    if 'connection' not in context.config.attributes:
        raise util.CommandError('Use "placement-manage db" to migrate the database.')
    context.configure(
        connection=context.config.attributes['connection'],
        version_table=context.config.attributes['version_table'],
    )
    with context.begin_transaction():
        context.run_migrations()


run()
