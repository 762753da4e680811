# SPDX-License-Identifier: Apache-2.0
"""The options of a command, with completion by the shell."""

from __future__ import annotations

from oslo_config import cfg


class CommandOptions(cfg.ConfigOpts):
    """Options whose ``--shell_completion`` prints a script for bash or zsh.

    That of oslo.config reads templates that its distribution lacks, and knows neither the actions
    of a command nor their options.
    """

    def _print_shell_completion(self, shell: str) -> None:
        # Imported here because no other use of a command needs it.
        import shtab

        parser = self._oparser
        assert parser is not None
        for option, group in self._all_cli_opts():
            option._add_to_cli(parser, group)
        # The parser of oslo.config keeps its arguments back until it is used.
        parser.initialize_parser_arguments()
        print(shtab.complete(parser, shell))
