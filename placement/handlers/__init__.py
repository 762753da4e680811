# SPDX-License-Identifier: Apache-2.0
"""Handlers of the actions: validate, act, reply, in the newest shapes only."""
