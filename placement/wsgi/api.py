# SPDX-License-Identifier: Apache-2.0
"""The WSGI callable ``application``, created when this module is loaded.

WSGI servers load it as ``placement.wsgi.api``, or from a copy in a directory such as ``cgi-bin``,
so it imports no neighbouring files.
"""

from placement.wsgi import init_application

application = init_application()
