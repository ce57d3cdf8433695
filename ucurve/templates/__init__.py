"""The template language of the ZhoBLiMP platform, and the embedded demo that is written in it."""
