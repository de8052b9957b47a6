"""Workbook, csv, jsonl and parquet become checked parquet tables, with a report; and the synthetic sample."""
