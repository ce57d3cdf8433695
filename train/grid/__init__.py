"""Many runs, worked through by one or several processes. Imports ``ucurve.training.run_folder`` and the settings."""
