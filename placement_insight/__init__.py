# SPDX-License-Identifier: Apache-2.0
"""Questions of operators, answered below `/insight`: one package for each feature.

Nothing here may fail a request of the API: errors of insight are logged, counted and swallowed.
"""
