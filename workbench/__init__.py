"""The workbench: write templates, look into curves and judge pairs in a browser. It imports the other packages."""
