"""The limits on texts; a text over one of them is refused (LimitError).

The first three bound the text itself, so that every text is read or refused in time linear in its length: a
microsecond or two for a byte. The others bound what a short text can expand to: a regular expression's program, the
alternatives of an event pattern, a repetition's steps, a normal form.
"""

from __future__ import annotations

from typing import Final

TEXT_BYTES: Final = 512 * 1024  # of a whole filter or pattern, in UTF-8; the largest known rule of Sigma needs 350 kB
NESTING: Final = 64  # parentheses, `not`s, signs, arithmetic operators, repetitions inside one another
NODES: Final = 25_000  # of the AST: conditions, operands, constants, steps

NUMBER_CHARACTERS: Final = 1_000  # of one number
PATTERN_STEPS: Final = 1_000  # of a pattern with its repetitions expanded
HORIZON: Final = 10_000  # the largest `within` of `predict`, in events

REGEX_CHARACTERS: Final = 4_000  # of all regular expressions of a text together
REGEX_UNICODE_CLASSES: Final = 32  # `\p…` of all of them: each is hundreds of ranges in RE2
REGEX_INSTRUCTIONS: Final = 20_000  # of all their RE2 programs
REGEX_MEMORY: Final = 256 * 1024  # RE2's max_mem for one program: about 20,000 instructions

EVENT_PATTERN_FIELDS: Final = 100_000  # of all event patterns of a text, with their alternatives expanded

CONJUNCTIONS: Final = 10_000  # of a normal form, including its vetoes
DISTRIBUTED: Final = 16  # conjunctions that an AND may become before some of its ORs become vetoes
ALTERNATIVES: Final = 64  # of a step, one for each way in which its join variables can satisfy it
