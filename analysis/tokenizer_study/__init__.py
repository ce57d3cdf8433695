"""The study of tokenizers with three seeds each (docs/study.md): its tables, and the page that is made of them."""
