"""English word forms for the story lexicon: plurals, past tense and -ing form, and the choice between a and an.

Regular spelling rules plus tables of the irregular words that the lexicon uses; not a general morphology.
"""

from __future__ import annotations

import re

_PLURALS = {
    "mouse": "mice", "goose": "geese", "foot": "feet", "tooth": "teeth", "child": "children", "man": "men",
    "woman": "women", "snowman": "snowmen", "fisherman": "fishermen", "sheep": "sheep", "deer": "deer", "fish": "fish",
    "goldfish": "goldfish", "starfish": "starfish", "leaf": "leaves", "scarf": "scarves", "knife": "knives",
    "loaf": "loaves", "shelf": "shelves", "bookshelf": "bookshelves", "wolf": "wolves", "calf": "calves",
    "elf": "elves", "half": "halves", "potato": "potatoes", "tomato": "tomatoes", "hero": "heroes", "dice": "dice",
    "dormouse": "dormice", "fieldmouse": "fieldmice", "scissors": "scissors", "binoculars": "binoculars",
    "person": "people", "thief": "thieves", "swordfish": "swordfish", "die": "dice", "hoof": "hooves",
    "postman": "postmen", "woodlouse": "woodlice", "policeman": "policemen", "ox": "oxen",
}  # fmt: skip

_IRREGULAR = """
go=went run=ran come=came see=saw say=said take=took give=gave get=got make=made find=found think=thought know=knew
feel=felt tell=told keep=kept leave=left bring=brought buy=bought catch=caught hold=held sit=sat stand=stood
begin=began sing=sang swim=swam ride=rode write=wrote draw=drew grow=grew blow=blew throw=threw fly=flew eat=ate
drink=drank sleep=slept sweep=swept creep=crept weep=wept speak=spoke break=broke wake=woke shake=shook fall=fell
hide=hid slide=slid bite=bit dig=dug stick=stuck swing=swung hang=hung spin=spun win=won cut=cut put=put let=let
shut=shut set=set hit=hit hurt=hurt build=built bend=bent send=sent spend=spent lend=lent lose=lost shine=shone
shoot=shot teach=taught fight=fought pay=paid lay=laid hear=heard read=read lead=led feed=fed meet=met light=lit
stride=strode sink=sank ring=rang spring=sprang shrink=shrank wear=wore tear=tore choose=chose freeze=froze
rise=rose drive=drove steal=stole forget=forgot understand=understood sell=sold fling=flung cling=clung wind=wound
sew=sewed show=showed do=did have=had tread=trod dream=dreamed leap=leaped spread=spread burst=burst quit=quit
split=split knit=knitted string=strung weave=wove sling=slung lie=lay slink=slunk beat=beat speed=sped
"""
_PAST = dict(pair.split("=") for pair in _IRREGULAR.split())

_DOUBLED = """
hop skip trot jog plod stop drop clap tap pat hug grin nod beg chat hum rub scrub grab wag drum tug slip trip zip
snap flap plan spot stir jot chop mop scrap wrap strap pin hem knot dab dip sip flip clip swap rap slap tip top trim
pop plop whir purr shrug skim drag drip scan bob jam dot shop step fit slot mat pet tan gab pad run swim sit get put
let cut shut set hit win dig spin begin forget nip quip snip zigzag knit split sob grip nap
"""
_DOUBLING = frozenset(_DOUBLED.split())


_PREPOSITION = re.compile(r" (?:of|with|on|above) ")


def plural(noun: str) -> str:
    """Return the plural of a countable noun phrase; the head is the last word, or the one before a preposition."""
    match = _PREPOSITION.search(noun)
    head, tail = (noun[: match.start()], noun[match.start() :]) if match else (noun, "")
    before, space, last = head.rpartition(" ")
    return before + space + _plural_word(last) + tail


def _plural_word(word: str) -> str:
    if word in _PLURALS:
        return _PLURALS[word]
    if word.endswith(("s", "x", "z", "ch", "sh")):
        return word + "es"
    if word.endswith("y") and word[-2] not in "aeiou":
        return word[:-1] + "ies"
    return word + "s"


def past(verb: str) -> str:
    """Return the simple past of a verb phrase; its first word is the verb."""
    word, space, rest = verb.partition(" ")
    return _past_word(word) + space + rest


def _past_word(word: str) -> str:
    if word in _PAST:
        return _PAST[word]
    if word in _DOUBLING and word not in ("purr", "whir"):
        return word + word[-1] + "ed"
    if word.endswith("e"):
        return word + "d"
    if word.endswith("y") and word[-2] not in "aeiou":
        return word[:-1] + "ied"
    return word + "ed"


def ing(verb: str) -> str:
    """Return the -ing form of a verb phrase; its first word is the verb."""
    word, space, rest = verb.partition(" ")
    if word in _DOUBLING and word != "purr":
        word += word[-1]
    elif word.endswith("ie"):
        word = word[:-2] + "y"
    elif word.endswith("e") and not word.endswith(("ee", "oe", "ye")):
        word = word[:-1]
    return word + "ing" + space + rest


_AN = re.compile(r"\b([Aa]) (?=(?:[aeio](?!ne\b|nce\b)|u(?!ni[cfqv]|se|kul|tensil)|hour|honest)[a-z-]*)", re.IGNORECASE)


def fix_articles(text: str) -> str:
    """Write "an" for every "a" before a vowel sound ("an hour", but "a unicorn", "a useful", "a one")."""
    return _AN.sub(r"\1n ", text)
