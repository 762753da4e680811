# SPDX-License-Identifier: Apache-2.0
"""The tables, and the revisions of the schema."""
