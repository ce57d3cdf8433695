"""Many runs, worked through by one or several processes. Imports ``train.run_folder`` and the settings."""
