# SPDX-License-Identifier: Apache-2.0
"""What a snapshot tells beside candidates: why a request fits nowhere, and how often it fits."""
