# SPDX-License-Identifier: Apache-2.0
"""Revisions of the tables that are ours alone, beside the upstream ones.

They have no foreign keys to the others, and a version table of their own, so that a database can
be handed back as it was taken over.
"""
