"""The languages of the benchmarks that have a part for each, as ISO 639-3 codes."""

_MULTIBLIMP = """
abk aln amh apu aqz arb azz bel ben bho bor bre bua bul cat ces chu cym dan deu egy ell eng est eus fao fas fin fra frm
fro gla gle glg got grc guj hbo hbs heb hin hit hsb hun hye hyw isl ita kat kaz kir kmr koi kpv krl kxh lat lav lij lit
mar mdf mkd myv nds nhi nld olo orv ota pcm pol por quc ron rus sah san slk slv sme sms spa sqi swe tam tpn ttc tur uig
ukr urb urd uzb vep wbp wol xcl xnr xpg yrl
"""  # the configurations of the hub data set
MULTIBLIMP = tuple(_MULTIBLIMP.split())
CLAMS = {"deu": "de", "eng": "en", "fra": "fr", "heb": "he", "rus": "ru"}  # and the codes of the published folders
TSE = {"eus": "basque", "hin": "hindi", "swa": "swahili"}  # and the heads of the published file names
