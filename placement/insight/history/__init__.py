# SPDX-License-Identifier: Apache-2.0
"""The history of changes: who changed what."""
