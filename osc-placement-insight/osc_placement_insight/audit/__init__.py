# SPDX-License-Identifier: Apache-2.0
"""Audit and repair: what placement believes, compared with what nova says."""
