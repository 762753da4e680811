# SPDX-License-Identifier: Apache-2.0
"""The WSGI callable ``application`` of insight beside another service, built at import.

Specification: insight, "Beside another service".
"""

from placement.wsgi import start
from placement_insight.beside.application import load_configuration, loadapp

application = start(load_configuration, loadapp)
