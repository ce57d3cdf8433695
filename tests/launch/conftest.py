from tests.train.conftest import corpus, overrides, settings_of, values_of

__all__ = ["corpus", "overrides", "settings_of", "values_of"]
