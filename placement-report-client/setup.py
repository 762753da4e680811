# SPDX-License-Identifier: Apache-2.0
"""For tools that look for this file; all there is to say stands in setup.cfg."""

import setuptools

setuptools.setup()
