# SPDX-License-Identifier: Apache-2.0
"""Matches a request with the cloud: finds the providers for each group, and combines them."""
