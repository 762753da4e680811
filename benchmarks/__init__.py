# SPDX-License-Identifier: Apache-2.0
"""Benchmarks of this service and upstream (`openstack-placement` 16): `python -m benchmarks`."""
