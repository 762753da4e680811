# SPDX-License-Identifier: Apache-2.0
"""The WSGI callable, ``application``, made when this file is loaded.

WSGI servers load it as ``placement.wsgi.api``, or from a copy in a directory such as
``cgi-bin``: it depends on nothing that lies beside it.
"""

from placement.wsgi import init_application

application = init_application()
