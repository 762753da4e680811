# SPDX-License-Identifier: Apache-2.0
"""The SQLSTATEs of PostgreSQL that are no defect of this service.

Source: PostgreSQL 15, `src/backend/utils/errcodes.txt` (installed as `errcodes.txt`), which is
appendix A of its manual. The first two characters are the class of a state.
"""

from __future__ import annotations

from placement.db.engine.causes import Cause

# Classes all of whose states have one cause, except for those in `BY_CAUSE`.
BY_CLASS: dict[str, Cause] = {
    '08': Cause.LOST_CONNECTION,  # connection exception
    '22': Cause.VALUE,  # data exception
    '28': Cause.REFUSED,  # invalid authorization specification
    '40': Cause.CONFLICT,  # transaction rollback
    '53': Cause.FULL,  # insufficient resources
    '54': Cause.VALUE,  # program limit exceeded
    '57': Cause.LOST_CONNECTION,  # operator intervention
    '58': Cause.DAMAGED,  # system error, external to PostgreSQL itself
    'F0': Cause.DAMAGED,  # configuration file error
}

# By cause: the states with their names.
BY_CAUSE: dict[Cause, dict[str, str]] = {
    Cause.CONFLICT: {
        '23001': 'restrict_violation',
        '23503': 'foreign_key_violation',
        '23505': 'unique_violation',
        '23P01': 'exclusion_violation',
        '40000': 'transaction_rollback',
        '40001': 'serialization_failure',
        '40P01': 'deadlock_detected',
        '55006': 'object_in_use',
        '72000': 'snapshot_too_old',
    },
    Cause.LOST_CONNECTION: {
        '08000': 'connection_exception',
        '08003': 'connection_does_not_exist',
        '08006': 'connection_failure',
        '08007': 'transaction_resolution_unknown',
        '08P01': 'protocol_violation',
        '25P03': 'idle_in_transaction_session_timeout',
        '40003': 'statement_completion_unknown',
        '57P01': 'admin_shutdown',
        '57P02': 'crash_shutdown',
        '57P05': 'idle_session_timeout',
    },
    Cause.NOT_READY: {
        '08001': 'sqlclient_unable_to_establish_sqlconnection',
        '08004': 'sqlserver_rejected_establishment_of_sqlconnection',
        # A standby, or a primary that was demoted.
        '25006': 'read_only_sql_transaction',
        '53300': 'too_many_connections',
        '53400': 'configuration_limit_exceeded',
        '57P03': 'cannot_connect_now',
    },
    Cause.TIMEOUT: {
        '55P03': 'lock_not_available',
        '57014': 'query_canceled',
    },
    Cause.FULL: {
        '53000': 'insufficient_resources',
        '53100': 'disk_full',
        '53200': 'out_of_memory',
    },
    Cause.DAMAGED: {
        '58000': 'system_error',
        '58030': 'io_error',
        '58P01': 'undefined_file',
        'F0000': 'config_file_error',
        'XX001': 'data_corrupted',
        'XX002': 'index_corrupted',
    },
    Cause.REFUSED: {
        '28000': 'invalid_authorization_specification',
        '28P01': 'invalid_password',
        '3D000': 'invalid_catalog_name',
        '42501': 'insufficient_privilege',
        '57P04': 'database_dropped',
    },
    Cause.SCHEMA: {
        '3F000': 'invalid_schema_name',
        '42703': 'undefined_column',
        '42P01': 'undefined_table',
    },
    Cause.VALUE: {
        '22001': 'string_data_right_truncation',
        '22003': 'numeric_value_out_of_range',
        '22021': 'character_not_in_repertoire',
        '22P02': 'invalid_text_representation',
        '54000': 'program_limit_exceeded',
        '54001': 'statement_too_complex',
        '54023': 'too_many_arguments',
    },
}

CAUSES = {state: cause for cause, states in BY_CAUSE.items() for state in states}
