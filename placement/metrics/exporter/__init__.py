# SPDX-License-Identifier: Apache-2.0
"""The metrics as Prometheus reads them: what processes have counted, and the cloud as it is.

Under the API it is `GET /metrics`; `placement-metrics` serves the same in a process of its own.
"""
