"""The source ``templates``: minimal pairs from templates in the language of the ZhoBLiMP platform."""
