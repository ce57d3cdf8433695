"""Interactive figures in Vega-Lite, the same in the report, in notebooks and in the workbench."""
