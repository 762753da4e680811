# SPDX-License-Identifier: Apache-2.0
"""Handlers of the actions: authorise, validate, act, reply, in the newest shapes only."""
