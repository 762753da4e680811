# SPDX-License-Identifier: Apache-2.0
"""The cloud in bulk: providers, consumers and sums of usage."""
