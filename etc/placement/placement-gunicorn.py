# SPDX-License-Identifier: Apache-2.0
"""The configuration of gunicorn with which SIGTTIN exchanges its processes one after the other.

On SIGHUP it would end all of them at once, and nobody would answer until the new ones have loaded
the service. Here a process that has loaded it has the oldest one end, and when that has ended the
next one begins.
"""

import os
import signal

# The number of the last process that is to be replaced; 0 where none is. gunicorn numbers them.
_last_old = 0


def nworkers_changed(server, new, old):
    """Replace all processes that are there when one more is asked for, and keep their number."""
    global _last_old
    if new > server.cfg.workers:
        _last_old = server.worker_age
    elif 0 < new < server.cfg.workers:
        # A process has ended by itself meanwhile, so that two have been started.
        server.num_workers = server.cfg.workers


def pre_fork(server, worker):
    """Remember if a process is one more, in whose place an old one has to end."""
    worker.is_one_more = server.num_workers > server.cfg.workers


def post_worker_init(worker):
    """End the oldest process: this one has loaded the service."""
    if worker.is_one_more:
        os.kill(worker.ppid, signal.SIGTTOU)


def child_exit(server, worker):
    """Begin the next process when an old one has ended."""
    global _last_old
    last_old = _last_old
    is_old_left = any(one.age <= last_old for one in server.WORKERS.values())
    if is_old_left and server.num_workers == server.cfg.workers:
        server.num_workers += 1
        _last_old = last_old
