# SPDX-License-Identifier: Apache-2.0
"""The service under real web servers, and with a real Keystone.

They install what they need and take minutes, so `make test` leaves them out; `.ci/run` does not.
"""
