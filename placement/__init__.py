# SPDX-License-Identifier: Apache-2.0
"""The Placement service: what a cloud has, what is taken, and where something could fit."""
