# SPDX-License-Identifier: Apache-2.0
"""Commands of the `openstack` client that ask what the service answers below `/insight`.

`commands` has a module for each kind of question, `service` sends requests, `refusals` says what
to do about those that fail, and `progress` shows what a command waits for. osc-placement connects
to the service, and authenticates.
"""
