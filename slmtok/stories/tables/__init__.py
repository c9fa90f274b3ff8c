"""Tables of the stories whose rows belong together: places with what is there, wild animals with their habits.

Text files beside this module in the section format of the lexicon; a row is a line, its cells stand between slashes,
and a cell may list several words separated by commas.
"""
