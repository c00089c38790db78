"""What the log says of queues that alert."""

from twisted.logger import capturedLogs, formatEvent

from gateway.bridge.queues.alarms import Alarm, Alarms
from gateway.bridge.queues.discipline import AlertLimits
from gateway.service.alerts import AlertLines


def test_a_line_tells_of_each_time_and_none_is_told_twice() -> None:
    alarms = Alarms()
    lines = AlertLines(alarms)
    alarm = Alarm("main", "q", AlertLimits(count=2, count_down=1, size=50))
    with capturedLogs() as events:
        for count, octets in ((1, 10), (2, 50), (1, 0)):
            alarms.look(alarm, count, octets, 0)
        lines.look()
        lines.look()
    assert [(each["log_level"].name, formatEvent(each)) for each in events] == [
        ("warn", "queue 'q' of virtual host 'main' holds 2 messages: it alerts at 2"),
        ("warn", "queue 'q' of virtual host 'main' holds 50 octets: it alerts at 50"),
        ("info", "queue 'q' of virtual host 'main' holds 1 messages, and alerts no longer"),
        ("info", "queue 'q' of virtual host 'main' holds 0 octets, and alerts no longer"),
    ]
