"""How dates and times are written where a language leaves the choice: one way on every page."""
