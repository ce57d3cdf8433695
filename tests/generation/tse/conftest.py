import pytest

BASQUE = """word,category,subcategory,tense,possible_S,possible_DO,possible_IO
aita,n,person,_,_,_,_
osaba,n,person,_,_,_,_
amona,n,person,_,_,_,_
zakur,n,animal,_,_,_,_
mahai zapi,n,other,_,_,_,_
etxe,n,other,_,_,_,_
joan,v,nor,PST,person animal,_,_
joaten,v,nor,PRS,person animal,_,_
maite izan,v,nor-nork,PST,person,person other,_
bidali,v,nor-nori-nork,PST,person,other,person
falta,v,nor-nori,PRS,animal,_,person
da,aux,nor,PRS FUT,sg,_,_
dira,aux,nor,PRS FUT,pl,_,_
zen,aux,nor,PST,sg,_,_
ziren,aux,nor,PST,pl,_,_
zuen,aux,nor-nork,PST,sg,sg,_
zituen,aux,nor-nork,PST,sg,pl,_
zuten,aux,nor-nork,PST,pl,sg,_
zituzten,aux,nor-nork,PST,pl,pl,_
zion,aux,nor-nori-nork,PST,sg,sg,sg
zien,aux,nor-nori-nork,PST,sg,sg,pl
zizkion,aux,nor-nori-nork,PST,sg,pl,sg
zizkien,aux,nor-nori-nork,PST,sg,pl,pl
zioten,aux,nor-nori-nork,PST,pl,sg,sg
zieten,aux,nor-nori-nork,PST,pl,sg,pl
zizkioten,aux,nor-nori-nork,PST,pl,pl,sg
zizkieten,aux,nor-nori-nork,PST,pl,pl,pl
zaio,aux,nor-nori,PRS FUT,sg,_,sg
zaizkio,aux,nor-nori,PRS FUT,pl,_,sg
zaie,aux,nor-nori,PRS FUT,sg,_,pl
zaizkie,aux,nor-nori,PRS FUT,pl,_,pl
"""
HINDI = """word,category,semantic_class,gender,nom_pl,obl_sg,obl_pl
बेटा,n,person,m,बेटे,बेटे,बेटों
बेटी,n,person,f,बेटियाँ,बेटी,बेटियों
बकरा,n,animal,m,बकरे,बकरे,बकरों
चश्मा,n,thing,m,चश्मे,चश्मे,चश्मों
घड़ी,n,thing,f,घड़ियाँ,घड़ी,घड़ियों
फेंक,v,thing,_,_,_,_
बुला,v,person animal,_,_,_,_
"""
SWAHILI = """word,category,noun_class,semantic_class,possible_connections
mjomba,n,1,human,_
wajomba,n,2,human,_
mbuzi,n,9,animal,_
mbuzi,n,10,animal,_
kisu,n,7,thing,_
visu,n,8,thing,_
jembe,n,5,thing,_
majembe,n,6,thing,_
ngoma,n,9,thing,_
ngoma,n,10,thing,_
pya,a,_,_,thing
ema,a,_,_,human animal thing
refu,a,_,_,human thing
cheka,v,_,_,human animal
vunjika,v,_,_,thing
"""


@pytest.fixture
def vocabulary(tmp_path):
    folder = tmp_path / "words"
    folder.mkdir()
    for name, text in {"basque": BASQUE, "hindi": HINDI, "swahili": SWAHILI}.items():
        (folder / f"{name}.csv").write_text(text, encoding="utf-8")
    return folder
