# SPDX-License-Identifier: Apache-2.0
"""Revisions of the tables of this service, in addition to those of upstream.

They have no foreign keys to upstream's tables, and a version table of their own, so that a
database can be handed back to upstream.
"""
