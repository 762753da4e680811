# SPDX-License-Identifier: Apache-2.0
"""The measured scenarios, one table for each kind of work."""
