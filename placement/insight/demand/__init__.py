# SPDX-License-Identifier: Apache-2.0
"""Unmet demand: searches that found nothing."""
