import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import javax.jms.JMSException;
import javax.jms.Message;
import javax.jms.MessageConsumer;
import javax.jms.Session;
import javax.jms.XAConnection;
import javax.jms.XASession;
import javax.transaction.Status;
import javax.transaction.TransactionManager;
import javax.transaction.xa.XAResource;
import org.apache.qpid.client.AMQConnectionFactory;
import org.json.JSONObject;

/**
 * The JMS client of AMQP 0-10 with XA, through a transaction manager: what it does is on the command line, what
 * came of it are JSON lines on standard output. --manager says which, narayana or atomikos, and --log where it
 * keeps its log.
 *
 * <p>Verbs: work (a transaction that takes a message of each queue of --takes, and sends --text to each of
 * --sends), recover (as a manager that starts again: what is in doubt is ended by what its log says). --second is
 * the port of another broker, whose queues have a "2:" in front. With --dies the process is gone in the middle:
 * "unlogged" when all brokers have prepared and the manager has written nothing, "logged" when it has.
 */
public final class XaPeer {
  private static final int PATIENCE_MS = 30_000;

  private final Map<String, String> options;
  private final Map<String, XAConnection> connections = new HashMap<>();
  private final Map<String, XASession> sessions = new HashMap<>();

  private XaPeer(Map<String, String> options) {
    this.options = options;
  }

  public static void main(String[] arguments) {
    Map<String, String> options = new HashMap<>();
    for (int i = 1; i + 1 < arguments.length; i += 2) {
      options.put(arguments[i].substring(2), arguments[i + 1]);
    }
    int exitCode = 0;
    try {
      new XaPeer(options).run(arguments[0]);
    } catch (Throwable e) {
      exitCode = 1;
      say(new JSONObject().put("event", "error").put("class", e.getClass().getName())
          .put("text", String.valueOf(e.getMessage())).put("cause", String.valueOf(e.getCause())));
      e.printStackTrace();
    }
    System.out.flush();
    Runtime.getRuntime().halt(exitCode); // the manager's threads have no end
  }

  private void run(String verb) throws Exception {
    connect("", options.get("port"));
    if (options.containsKey("second")) {
      connect("2:", options.get("second"));
    }
    switch (verb) {
      case "work" -> work();
      case "recover" -> recover();
      default -> throw new IllegalArgumentException("unknown verb " + verb);
    }
    for (XAConnection connection : connections.values()) {
      connection.close();
    }
    say(new JSONObject().put("event", "closed"));
  }

  private void connect(String prefix, String port) throws Exception {
    String url = "amqp://:@/?brokerlist='tcp://127.0.0.1:" + port
        + "?sasl_mechs='ANONYMOUS'&retries='0'&heartbeat='0''&failover='nofailover'";
    XAConnection connection = new AMQConnectionFactory(url).createXAConnection();
    connection.start();
    connections.put(prefix, connection);
    sessions.put(prefix, connection.createXASession());
  }

  private void work() throws Exception {
    List<XASession> used = sessions();
    TransactionManager manager = managed().manager();
    manager.begin();
    String dies = options.getOrDefault("dies", "");
    if (dies.equals("logged")) {
      manager.getTransaction().enlistResource(new Dying(dies));
    }
    for (XASession session : used) {
      manager.getTransaction().enlistResource(session.getXAResource());
    }
    if (!dies.isEmpty() && !dies.equals("logged")) {
      manager.getTransaction().enlistResource(new Dying(dies));
    }
    for (String queue : names("takes")) {
      take(queue);
    }
    for (String queue : names("sends")) {
      Session session = session(queue);
      session.createProducer(session.createQueue(bare(queue))).send(session.createTextMessage(options.get("text")));
      say(new JSONObject().put("event", "sent").put("queue", queue));
    }
    if (options.getOrDefault("end", "commit").equals("commit")) {
      manager.commit();
    } else {
      manager.rollback();
    }
    say(new JSONObject().put("event", manager.getStatus() == Status.STATUS_NO_TRANSACTION ? "ended" : "unended"));
  }

  /** All sessions that the work is done in: two of one broker with --sessions 2. */
  private List<XASession> sessions() throws JMSException {
    List<XASession> used = new ArrayList<>(sessions.values());
    if (options.getOrDefault("sessions", "1").equals("2")) {
      XASession other = connections.get("").createXASession();
      sessions.put("other:", other);
      used.add(other);
    }
    return used;
  }

  private void take(String queue) throws JMSException {
    Session session = session(queue);
    MessageConsumer consumer = session.createConsumer(session.createQueue(bare(queue)));
    Message message = consumer.receive(PATIENCE_MS);
    say(message == null ? new JSONObject().put("event", "timeout")
        : new JSONObject().put("event", "received").put("queue", queue)
            .put("redelivered", message.getJMSRedelivered()));
    consumer.close();
  }

  private void recover() throws Exception {
    Managed managed = managed();
    say(counted("before"));
    managed.recover();
    say(counted("after"));
  }

  private Managed managed() throws Exception {
    List<XAResource> resources = connections.keySet().stream().map(each -> sessions.get(each).getXAResource()).toList();
    String log = options.get("log");
    return options.get("manager").equals("atomikos") ? new Atomikos(log, resources) : new Narayana(log, resources);
  }

  /** What is in doubt, broker by broker. */
  private JSONObject counted(String event) throws Exception {
    List<Integer> counts = new ArrayList<>();
    for (XASession session : sessions.values()) {
      counts.add(Managed.inDoubt(session.getXAResource()));
    }
    return new JSONObject().put("event", event).put("in-doubt", counts);
  }

  private XASession session(String queue) {
    String prefix = queue.contains(":") ? queue.substring(0, queue.indexOf(':') + 1) : "";
    return sessions.get(prefix);
  }

  private static String bare(String queue) {
    return queue.substring(queue.indexOf(':') + 1);
  }

  private List<String> names(String option) {
    String given = options.getOrDefault(option, "");
    return given.isEmpty() ? List.of() : List.of(given.split(","));
  }

  private static synchronized void say(JSONObject line) {
    var octets = (line + "\n").getBytes(StandardCharsets.UTF_8);
    System.out.write(octets, 0, octets.length);
    System.out.flush();
  }
}
