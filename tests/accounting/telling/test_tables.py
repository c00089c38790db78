"""What was judged, as the page shows it."""

from support.results import broken, found, row_of

from gateway.accounting.steps.identities import OUTLET, QUEUE
from gateway.accounting.telling import tables
from gateway.accounting.telling.stories import Told


def test_a_break_has_its_story_and_the_command_for_all_of_it() -> None:
    told = tables.breaks(
        found(
            breaks=[broken(message=7, node="orders")],
            stories=[Told(["12:00  7  entered  orders"], "amqp-gateway audit trace --message 7")],
        )
    )
    assert "<h3>LOST</h3>" in told
    assert "message 7, orders: gone" in told
    assert "12:00  7  entered  orders</pre>" in told
    assert "<code>amqp-gateway audit trace --message 7</code>" in told


def test_a_break_of_a_segment_says_where_in_it_if_that_is_known() -> None:
    whole = broken("LOG_GAP", segment="1.audit", detail="it is missing")
    assert tables.break_text(whole) == "1.audit: it is missing"
    inside = whole | {"block": 3, "offset": 70}
    assert tables.break_text(inside) == "1.audit block 3 offset 70: it is missing"


def test_breaks_stand_below_their_class_and_those_that_are_not_proven_apart() -> None:
    unproven = broken(proven=False, since=3, sequence=9)
    told = tables.breaks(found(breaks=[broken("LOG_GAP"), broken(), broken(), unproven]))
    assert [part.split("<")[0] for part in told.split("<h3>")[1:]] == [
        "LOG_GAP",
        "LOST",
        "LOST, cannot be proven",
    ]
    assert "of records 4 to 9 not all can be read" in told


def test_of_very_many_breaks_of_a_class_those_behind_the_first_are_folded() -> None:
    lost, twice = [broken()] * (tables.LISTED + 7), [broken("DUPLICATE")] * 2
    told = tables.breaks(found(breaks=[*lost, *twice]))
    shown, rest = told.split('<details class="more"><summary>7 more</summary>')
    assert shown.count('class="break"') == tables.LISTED
    assert rest.split("</details>")[0].count('class="break"') == 7
    assert rest.split("</details>")[1].startswith("<h3>DUPLICATE</h3>")


def test_what_to_type_is_shown_where_the_steps_are_folded() -> None:
    breaks = [broken(message=each) for each in range(tables.STORIES_OPEN + 1)]
    told = tables.breaks(found(breaks=breaks, stories=[Told(["a step"], "trace")] * len(breaks)))
    *_others, last = told.split('<div class="break">')
    assert last.startswith("<details><summary>")
    assert last.endswith("</details><p><code>trace</code></p></div>")


def test_how_many_breaks_are_not_shown_is_said() -> None:
    told = tables.breaks(found(breaks=[broken()], break_rows=4000))
    assert "1 of 4,000 breaks; the Parquet files have them all" in told


def test_names_of_clients_neither_make_markup_nor_move_a_cursor() -> None:
    name = "<script>\n\x1b[1A"
    result = found(
        breaks=[broken(node=name, message=1)],
        queues=[row_of(QUEUE, name, entered=1)],
        stories=[Told(["<b>"], "<i>")],
    )
    told = tables.breaks(result) + tables.identity_table(result, QUEUE)
    assert "<script" not in told
    assert "<b>" not in told
    assert "<i>" not in told
    assert "\x1b" not in told


def test_only_terms_that_say_something_are_columns_and_what_disagrees_is_marked() -> None:
    rows = [
        row_of(QUEUE, "wrong", entered=3, balanced=False),
        row_of(QUEUE, "", entered=2, checkpoints=0),
    ]
    told = tables.identity_table(found(queues=rows), QUEUE)
    assert '<th scope="col" class="n">entered</th>' in told
    assert "expired" not in told
    assert '<span class="bad">disagree</span>' in told
    assert "(default exchange)" in told
    assert ">none</td>" in told


def test_whether_a_line_agrees_stands_beside_its_name_where_every_screen_shows_it() -> None:
    rows = [row_of(QUEUE, "wrong", balanced=False, incarnation=each) for each in (1, 2)]
    told = tables.identity_table(found(queues=rows), QUEUE)
    heads = [part.split("<")[0] for part in told.split('<th scope="col">')[1:]]
    assert heads == ["queue", "run", "checkpoints"]
    assert '<tr><td>wrong</td><td>1</td><td><span class="bad">' in told


def test_how_much_of_a_table_is_shown_is_said() -> None:
    result = found()
    result.sums["queues"]["rows"] = 30_000
    assert "1 of 30,000 queues;" in tables.identity_table(result, QUEUE)


def test_an_outlet_is_told_with_its_queue_and_where_it_leads() -> None:
    row = row_of(OUTLET, 7, sent=1, of_node="orders", leads_to="orders at main")
    assert "7 on orders, to orders at main" in tables.identity_table(found(outlets=[row]), OUTLET)


def test_queues_over_all_runs_are_told_where_there_are_several() -> None:
    assert tables.ledger(found()) == ""
    rows = [row_of(QUEUE, "orders", entered=9, gone_at_stop=2) | {"of": 2}]
    told = tables.ledger(found(over_runs=rows))
    assert "gone at the stop" in told
    assert "1 of 2 queues;" in told
