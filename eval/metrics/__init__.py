"""Pure functions of stored columns: accuracies, intervals, tests, fitted parameters. Asks no model."""
