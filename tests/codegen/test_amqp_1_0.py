from gateway.amqp_1_0 import _spec, _spec_conditions
from gateway.codegen import amqp_1_0
from gateway.codegen.__main__ import ROOT
from gateway.codegen.amqp_1_0_tables import COMPOSITES, CONDITIONS, FILTERS, SECTIONS


def test_the_committed_files_are_what_the_tables_yield():
    for name, source in amqp_1_0.files().items():
        assert (ROOT / name).read_text(encoding="utf-8") == source, name


def test_there_is_one_class_for_each_type_and_no_code_twice():
    for composite in COMPOSITES:
        assert getattr(_spec, amqp_1_0.pascal(composite.name))
        assert getattr(_spec, amqp_1_0.snake(composite.name).upper()) == composite.code
    codes = [c.code for c in COMPOSITES]
    assert len(set(codes)) == len(codes)


def test_every_symbolic_descriptor_has_its_number():
    symbols = {c.symbol: c.code for c in COMPOSITES}
    symbols |= {f"amqp:{name}:{kind}": code for name, kind, code in SECTIONS}
    symbols |= dict(FILTERS)
    assert symbols == _spec.SYMBOLS


def test_every_condition_has_its_constant():
    for name, symbol in CONDITIONS:
        assert getattr(_spec_conditions, amqp_1_0.snake(name).upper()) == symbol


def test_mandatory_fields_are_those_that_the_constructor_demands():
    by_name = {c.name: c for c in COMPOSITES}
    mandatory = {f.name for f in by_name["attach"].fields if f.mandatory}
    assert mandatory == {"name", "handle", "role"}
    assert {f.name for f in by_name["begin"].fields if f.mandatory} == {
        "next-outgoing-id", "incoming-window", "outgoing-window",
    }  # fmt: skip
