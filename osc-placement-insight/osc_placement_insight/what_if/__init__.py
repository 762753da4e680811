# SPDX-License-Identifier: Apache-2.0
"""The cloud as it would be: scenarios, and what nova knows of those who need a place."""
