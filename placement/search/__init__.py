# SPDX-License-Identifier: Apache-2.0
"""The candidate search: a pure function over an immutable snapshot of the cloud."""
