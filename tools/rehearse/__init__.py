# SPDX-License-Identifier: Apache-2.0
"""Rehearsal of the change from upstream to this service, on copies of an operator's database.

The reads of an access log are sent to both, and a report says what differs.
"""
