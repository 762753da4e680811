# SPDX-License-Identifier: Apache-2.0
"""The cloud of `make demo`: generated from a seed, the same each time, with problems to find.

`cloud` generates it in memory, and lists the requests that find its problems. `loading` writes it
to a database through the objects of the service, and `last_hour` sends the requests of the hour
before. The command is `placement_insight.demo`.
"""
