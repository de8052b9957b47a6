"""What leaves the dashboard: tables, figures, whole folders of both; each repeatable byte for byte."""

from dashboard.export.tables import (
    BINARY_FORMATS,
    TABLE_FORMATS,
    TEXT_FORMATS,
    printed_table,
    records,
    spreadsheet_safe,
    table_bytes,
    table_text,
)

__all__ = [
    "BINARY_FORMATS",
    "TABLE_FORMATS",
    "TEXT_FORMATS",
    "printed_table",
    "records",
    "spreadsheet_safe",
    "table_bytes",
    "table_text",
]
