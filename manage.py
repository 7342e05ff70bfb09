#!/usr/bin/env python
"""Run the product's commands: `manage.py up` starts everything, `manage.py help` lists the rest."""

import os
import sys


def main() -> None:
    """Run one command."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "backoffice.settings")
    if sys.argv[1:2] == ["up"]:
        # The servers start before the settings are read, since the settings name them.
        from backoffice.stack.launch import main as up

        up(sys.argv[2:])
        return
    from django.core.management import execute_from_command_line

    execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main()
