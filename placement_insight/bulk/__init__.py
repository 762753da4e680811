# SPDX-License-Identifier: Apache-2.0
"""The cloud in bulk: providers, consumers, sums of usage, and changes."""
