"""Make a benchmark of minimal pairs, or check one.

python generate.py source=templates templates=DIR vocabulary=FILE phrases=FILE out=DIR [pairs=300 seed=0]
python generate.py source=SOURCE ... out=DIR  (multiblimp, rublimp, sweblimp or tse)
python generate.py source=folder benchmark=DIR 'filter.scores=[RUN,DIR]' pairs=1000 out=DIR
python generate.py check=DIR [parses=FILE.conllu]
"""

from ucurve.cli import run

if __name__ == "__main__":
    run("generate")
