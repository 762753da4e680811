# SPDX-License-Identifier: Apache-2.0
"""The history of changes: a row for each change, with its request and its user."""
