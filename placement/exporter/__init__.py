# SPDX-License-Identifier: Apache-2.0
"""The metrics for Prometheus: the counts of processes, and gauges of the cloud.

The API serves them as `GET /metrics`, `placement-metrics` in a process of its own.
"""
