"""How rows are written. An encoder knows columns and bytes, never what an export means or where rows come from."""
