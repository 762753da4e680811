# SPDX-License-Identifier: Apache-2.0
"""This service beside the released `openstack-placement`: `make bench`, `python -m benchmarks`."""
