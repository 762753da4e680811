# SPDX-License-Identifier: Apache-2.0
"""Audit and repair: what placement has, compared with what nova has."""
