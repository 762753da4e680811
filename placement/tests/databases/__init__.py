# SPDX-License-Identifier: Apache-2.0
"""Tests that need database servers of their own, or upstream (`openstack-placement` 16).

They take minutes and programs that a bare machine may not have, so `make test` leaves them out;
`.ci/run` does not.
"""
