# SPDX-License-Identifier: Apache-2.0
"""The history of the schema, revision by revision, for Alembic (specification: data_model)."""
