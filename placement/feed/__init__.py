# SPDX-License-Identifier: Apache-2.0
"""The change feed and the snapshot that every worker keeps fresh with it."""
