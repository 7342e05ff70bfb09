"""`manage.py startqueue NAME`: the model, the definition and the migration of a new queue, ready to be filled in."""

from __future__ import annotations

import re
import subprocess
import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

SKELETON = Path(__file__).resolve().parents[1] / "skeleton"
_LAYOUT = {"model": "queues/models/{module}.py", "definition": "queues/definitions/{module}.py"}


class Command(BaseCommand):
    help = "Write the model, the definition and the migration of a new queue, and grant staff its permissions."
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", help="as it stands in the address: refunds, chargeback-cases")
        parser.add_argument("--model", default="", help="the model's name; without it the name in the singular")

    def handle(self, *args: Any, **options: Any) -> None:
        name = options["name"]
        if not re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", name):
            raise CommandError("A queue's name has small letters, digits and single hyphens: refunds")
        words = name.split("-")
        plural = "".join(word.capitalize() for word in words)
        model = options["model"] or plural.removesuffix("s")
        if not re.fullmatch(r"[A-Z][A-Za-z0-9]*", model):
            raise CommandError("A model's name looks like Refund.")
        queue = plural if plural != model else f"{plural}Queue"
        known = {"name": name, "module": name.replace("-", "_"), "title": " ".join(words).capitalize()}
        known |= {"model": model, "lower": model.lower(), "queue": queue}
        root = Path(settings.BASE_DIR)
        files = {part: root / path.format(**known) for part, path in _LAYOUT.items()}
        if taken := [str(file.relative_to(root)) for file in files.values() if file.exists()]:
            raise CommandError(f"There already: {', '.join(taken)}")
        for part, file in files.items():
            file.write_text((SKELETON / f"{part}.txt").read_text(encoding="utf-8").format(**known), encoding="utf-8")
        _enter(root / "queues/models/__init__.py", known)
        _grant(root / "backoffice/tenants/roles.py", known)
        migration = _migrate(root, known)
        for file in (*files.values(), migration):
            self.stdout.write(f"wrote {file.relative_to(root)}")
        self.stdout.write(
            "Fill in the fields, the words and the decisions; write the migration again when fields change."
        )
        self.stdout.write("Then: manage.py check, manage.py migrate --database owner")


def _enter(file: Path, known: dict[str, str]) -> None:
    """Export the model from the package of the models."""
    text = file.read_text(encoding="utf-8")
    line = f"from queues.models.{known['module']} import {known['model']}\n"
    before, listed, after = text.partition("__all__ = [")
    if not listed:
        raise CommandError(f"{file} has no __all__ to enter the model in.")
    names = sorted({*re.findall(r'"(\w+)"', after), known["model"]})
    imports = sorted({*re.findall(r"^from queues\.models\..*\n", before, re.M), line})
    head = re.sub(r"^from queues\.models\..*\n", "", before, flags=re.M).rstrip()
    listing = "".join(f'    "{name}",\n' for name in names)
    file.write_text(f"{head}\n\n{''.join(imports)}\n__all__ = [\n{listing}]\n", encoding="utf-8")


def _grant(file: Path, known: dict[str, str]) -> None:
    """Let those who see and work the queues see and work this one."""
    text = file.read_text(encoding="utf-8")
    for group, verb in (("_VIEW_QUEUES", "view"), ("_WORK_QUEUES", "work")):
        opening = f"{group} = {{\n"
        if opening not in text:
            raise CommandError(f"{file} has no {group}: grant queues.{verb}_{known['lower']} to a role by hand.")
        text = text.replace(opening, f'{opening}    "queues.{verb}_{known["lower"]}",\n', 1)
    file.write_text(text, encoding="utf-8")


def _migrate(root: Path, known: dict[str, str]) -> Path:
    """Write the migration in a process that knows the new model; add row security and the search's words."""
    label = f"queue_{known['module']}"
    command = [sys.executable, str(root / "manage.py"), "makemigrations", "queues", "--name", label, "--skip-checks"]
    made = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    if made.returncode:
        raise CommandError(made.stderr.strip())
    file = next(iter(sorted((root / "queues/migrations").glob(f"*_{label}.py"), reverse=True)))
    table = f"queues_{known['lower']}"
    text = file.read_text(encoding="utf-8").rstrip().removesuffix("]").rstrip()
    text += (
        f'\n        TenantRowSecurity("{table}"),'
        f'\n        Searchable("{table}", "{known["lower"]}", ["reference", "party"]),\n    ]\n'
    )
    imports = "\nfrom backoffice.sql import TenantRowSecurity\nfrom queues.searching import Searchable\n"
    file.write_text(text.replace("\n\n\nclass Migration", f"\n{imports}\n\nclass Migration", 1), encoding="utf-8")
    return file
