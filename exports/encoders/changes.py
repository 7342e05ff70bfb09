"""What an encoder had to change in writing a file."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Changes:
    """For the manifest: cells escaped by column, characters replaced, numbers kept as text by column."""

    escaped: dict[str, int] = field(default_factory=dict)
    replaced: int = 0
    as_text: dict[str, int] = field(default_factory=dict)
