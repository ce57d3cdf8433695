from tests.train.conftest import corpus, finished_run, kept_folders, overrides, settings_of, tmp_path, values_of

__all__ = ["corpus", "finished_run", "kept_folders", "overrides", "settings_of", "tmp_path", "values_of"]
