"""Run folders to figures, tables and a report. Reads files only; needs no model and no accelerator."""
