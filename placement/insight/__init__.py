# SPDX-License-Identifier: Apache-2.0
"""The questions of operators beside the API, a package for each feature.

Nothing here may fail a request of the API: own errors are logged, counted and swallowed.
"""
