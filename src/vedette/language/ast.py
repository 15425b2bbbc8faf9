"""The abstract syntax tree of a text, before it is checked: plain, frozen nodes.

    Filter     And Or Not TruthLiteral | Call | Comparison Range In IsNull TextTest TextPair InNetwork Within Near
    Operand    Attribute View QuantifiedAttribute | Literal | Variable JoinVariable | Arithmetic
    Pattern    Step Sequence PatternAnd PatternOr Repeat Absence TimedPattern | Composite (the whole)

Every node carries the span of its text; spans do not take part in equality. Tests (from `Comparison` on) have methods
for all that differs between them, declared in `vedette.language.syntax`, and can be walked without knowing which they
are: `leaves_of(filter)`, `leaf.operands()`, `with_operands(filter, change)`, `parts_of(node)`.
"""

from __future__ import annotations

from vedette.language.syntax import (
    EVERYTHING,
    MIRRORED,
    OPPOSITE,
    READINGS,
    Absence,
    And,
    Arithmetic,
    Attribute,
    Call,
    Comparator,
    Composite,
    Constant,
    Evidence,
    Expression,
    Filter,
    FilterLeaf,
    JoinVariable,
    Literal,
    Not,
    Operand,
    Or,
    Pattern,
    PatternAnd,
    PatternOr,
    Point,
    QuantifiedAttribute,
    Reading,
    Region,
    Repeat,
    Sequence,
    Span,
    Step,
    Test,
    TextKind,
    TimeCondition,
    TimedPattern,
    TruthLiteral,
    ValueTest,
    Variable,
    View,
    directed,
    leaves_of,
    parts_of,
    with_operands,
)
from vedette.language.test_nodes.comparison import Comparison
from vedette.language.test_nodes.in_list import In
from vedette.language.test_nodes.in_network import InNetwork
from vedette.language.test_nodes.is_null import IsNull
from vedette.language.test_nodes.near import Near
from vedette.language.test_nodes.range import Range
from vedette.language.test_nodes.text_pair import PAIR_KINDS, PairKind, TextPair
from vedette.language.test_nodes.text_test import TextTest
from vedette.language.test_nodes.within import Within

__all__ = [
    "EVERYTHING",
    "MIRRORED",
    "OPPOSITE",
    "PAIR_KINDS",
    "READINGS",
    "Absence",
    "And",
    "Arithmetic",
    "Attribute",
    "Call",
    "Comparator",
    "Comparison",
    "Composite",
    "Constant",
    "Evidence",
    "Expression",
    "Filter",
    "FilterLeaf",
    "In",
    "InNetwork",
    "IsNull",
    "JoinVariable",
    "Literal",
    "Near",
    "Not",
    "Operand",
    "Or",
    "PairKind",
    "Pattern",
    "PatternAnd",
    "PatternOr",
    "Point",
    "QuantifiedAttribute",
    "Range",
    "Reading",
    "Region",
    "Repeat",
    "Sequence",
    "Span",
    "Step",
    "Test",
    "TextKind",
    "TextPair",
    "TextTest",
    "TimeCondition",
    "TimedPattern",
    "TruthLiteral",
    "ValueTest",
    "Variable",
    "View",
    "Within",
    "directed",
    "leaves_of",
    "parts_of",
    "with_operands",
]
