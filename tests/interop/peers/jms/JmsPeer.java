import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.net.URISyntaxException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Enumeration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import javax.jms.Connection;
import javax.jms.ConnectionFactory;
import javax.jms.Destination;
import javax.jms.JMSException;
import javax.jms.Message;
import javax.jms.MessageConsumer;
import javax.jms.MessageProducer;
import javax.jms.Queue;
import javax.jms.QueueBrowser;
import javax.jms.Session;
import javax.jms.TemporaryQueue;
import javax.jms.Topic;
import org.apache.qpid.client.AMQAnyDestination;
import org.apache.qpid.client.AMQConnection;
import org.json.JSONObject;

/**
 * A JMS client of AMQP 0-10, or with --protocol 1.0 of AMQP 1.0, that a test drives: options on the
 * command line, messages as JSON lines on standard input, everything it did and saw as JSON lines on
 * standard output.
 *
 * <p>Verbs: publish, consume, browse, request, select (request, and select the answers), respond, unsubscribe, forward (consume and send on). A destination is an address ("ADDR:..."), a
 * binding URL ("BURL:..."), a name for the session to make one of ("QUEUE:...", "TOPIC:..."), or a temporary one
 * ("TEMPORARY-QUEUE", "TEMPORARY-TOPIC"). JmsMessages says what a message looks like in JSON.
 */
public final class JmsPeer {
  private static final int PATIENCE_MS = 180_000;

  private final Map<String, String> options;
  private final Connection connection;
  private final Session session;
  private final boolean transacted;

  private JmsPeer(Map<String, String> options) throws Exception {
    this.options = options;
    this.connection = connect();
    this.connection.setExceptionListener(e -> say(new JSONObject().put("event", "connection-error")
        .put("text", String.valueOf(e.getMessage()))));
    String ack = option("ack", "auto");
    this.transacted = ack.equals("transacted");
    this.session = connection.createSession(transacted, switch (ack) {
      case "transacted" -> Session.SESSION_TRANSACTED;
      case "client" -> Session.CLIENT_ACKNOWLEDGE;
      case "dups-ok" -> Session.DUPS_OK_ACKNOWLEDGE;
      default -> Session.AUTO_ACKNOWLEDGE;
    });
  }

  public static void main(String[] arguments) {
    int exitCode = 0;
    JmsPeer peer = null;
    try {
      peer = new JmsPeer(parse(arguments));
      peer.run(arguments[0]);
    } catch (Throwable e) {
      exitCode = 1;
      say(failure(e));
    }
    exitCode |= close(peer);
    System.out.flush();
    System.exit(exitCode);
  }

  private static int close(JmsPeer peer) {
    try {
      if (peer != null) {
        peer.connection.close();
        say(new JSONObject().put("event", "closed"));
      }
      return 0;
    } catch (Throwable e) {
      say(failure(e));
      return 1;
    }
  }

  private void run(String verb) throws Exception {
    Destination destination = destination(required("destination"));
    switch (verb) {
      case "publish" -> publish(destination);
      case "consume" -> consume(destination);
      case "browse" -> browse(destination);
      case "request" -> request(destination);
      case "select" -> select(destination, destination(required("replies")));
      case "respond" -> respond(destination);
      case "unsubscribe" -> session.unsubscribe(required("durable-subscription"));
      case "forward" -> forward(destination, destination(required("to")));
      default -> throw new IllegalArgumentException("unknown verb " + verb);
    }
  }

  private Connection connect() throws Exception {
    if (option("protocol", "0-10").equals("0-10")) {
      return new AMQConnection(connectionUrl());
    }
    // by its name: without that client this program is one of 0-10 all the same
    String uri = "amqp://127.0.0.1:" + required("port");
    if (options.containsKey("mechanism")) {
      uri += "?amqp.saslMechanisms=" + required("mechanism");
    }
    var factory = (ConnectionFactory) Class.forName("org.apache.qpid.jms.JmsConnectionFactory")
        .getConstructor(String.class)
        .newInstance(options.containsKey("failover") ? "failover:(" + uri + ")" : uri);
    Connection made = options.containsKey("user")
        ? factory.createConnection(required("user"), required("password"))
        : factory.createConnection();
    if (options.containsKey("client-id")) {
      made.setClientID(required("client-id"));
    }
    return made;
  }

  private Destination destination(String text) throws JMSException, URISyntaxException {
    if (text.startsWith("TOPIC:")) {
      return session.createTopic(text.substring(6));
    } else if (text.startsWith("QUEUE:")) {
      return session.createQueue(text.substring(6));
    } else if (text.equals("TEMPORARY-QUEUE")) {
      return session.createTemporaryQueue();
    } else if (text.equals("TEMPORARY-TOPIC")) {
      return session.createTemporaryTopic();
    }
    return new AMQAnyDestination(text);
  }

  private void publish(Destination destination) throws Exception {
    Map<String, MessageProducer> producers = new HashMap<>();
    producers.put("", session.createProducer(destination));
    connection.start();
    for (JSONObject wanted : messagesFromStandardInput()) {
      String to = wanted.optString("destination", "");
      if (!producers.containsKey(to)) {
        producers.put(to, session.createProducer(destination(to)));
      }
      Message message = JmsMessages.create(session, wanted, this::destination);
      send(producers.get(to), message, wanted);
      say(JmsMessages.headers(message).put("event", "sent"));
    }
    endTransaction();
    for (MessageProducer producer : producers.values()) {
      producer.close();
    }
  }

  private static void send(MessageProducer producer, Message message, JSONObject wanted) throws JMSException {
    int mode = wanted.optBoolean("durable", false) ? javax.jms.DeliveryMode.PERSISTENT
        : javax.jms.DeliveryMode.NON_PERSISTENT;
    producer.send(message, mode, wanted.optInt("priority", 4), wanted.optLong("ttl-ms", 0));
  }

  private void consume(Destination destination) throws Exception {
    MessageConsumer consumer = consumer(destination);
    MessageConsumer also = options.containsKey("also") ? consumer(destination(required("also"))) : null;
    connection.start();
    say(new JSONObject().put("event", "ready").put("queue", nameOf(destination)));
    receive(consumer, integer("count", 1));
    if (also != null) {
      receive(also, integer("also-count", 1));
      also.close();
    }
    endTransaction();
    consumer.close();
  }

  private static String nameOf(Destination destination) throws JMSException {
    return destination instanceof TemporaryQueue temporary ? temporary.getQueueName() : destination.toString();
  }

  private void receive(MessageConsumer consumer, int count) throws JMSException {
    Message message = null;
    int soon = integer("timeout-ms", PATIENCE_MS);
    int sure = integer("sure", 0); // so many are waited for in any case
    for (int number = 0; number < count; number++) {
      message = consumer.receive(number < sure ? PATIENCE_MS : soon);
      if (message == null) {
        say(new JSONObject().put("event", "timeout"));
        break;
      }
      say(JmsMessages.describe(message).put("event", "received"));
    }
    if (message != null && option("ack", "auto").equals("client")) {
      message.acknowledge();
    }
  }

  private MessageConsumer consumer(Destination destination) throws JMSException {
    String selector = options.get("selector");
    String subscription = options.get("durable-subscription");
    if (subscription != null) {
      return session.createDurableSubscriber((Topic) destination, subscription, selector, false);
    }
    return session.createConsumer(destination, selector, options.containsKey("no-local"));
  }

  private void browse(Destination destination) throws Exception {
    QueueBrowser browser = session.createBrowser((Queue) destination, options.get("selector"));
    connection.start();
    for (Enumeration<?> found = browser.getEnumeration(); found.hasMoreElements(); ) {
      say(JmsMessages.describe((Message) found.nextElement()).put("event", "received"));
    }
    browser.close();
  }

  private void request(Destination destination) throws Exception {
    Destination replies = session.createTemporaryQueue();
    MessageConsumer consumer = session.createConsumer(replies);
    MessageProducer producer = session.createProducer(destination);
    connection.start();
    for (JSONObject wanted : messagesFromStandardInput()) {
      Message message = JmsMessages.create(session, wanted, this::destination);
      message.setJMSReplyTo(replies);
      send(producer, message, wanted);
      say(new JSONObject().put("event", "sent").put("message-id", message.getJMSMessageID()));
      Message reply = consumer.receive(integer("timeout-ms", PATIENCE_MS));
      say(reply == null ? new JSONObject().put("event", "timeout")
          : JmsMessages.describe(reply).put("event", "received"));
    }
  }

  /** Ask by all messages, then select each answer, the last one first, in a queue that others use, too. */
  private void select(Destination destination, Destination replies) throws Exception {
    MessageProducer producer = session.createProducer(destination);
    connection.start();
    List<String> asked = new ArrayList<>();
    for (JSONObject wanted : messagesFromStandardInput()) {
      Message message = JmsMessages.create(session, wanted, this::destination);
      message.setJMSReplyTo(replies);
      send(producer, message, wanted);
      asked.add(0, message.getJMSMessageID());
      say(new JSONObject().put("event", "sent").put("message-id", message.getJMSMessageID()));
    }
    for (String id : asked) {
      MessageConsumer consumer = session.createConsumer(replies, "JMSCorrelationID = '" + id + "'");
      Message reply = consumer.receive(integer("timeout-ms", PATIENCE_MS));
      say(reply == null ? new JSONObject().put("event", "timeout")
          : JmsMessages.describe(reply).put("event", "received"));
      consumer.close();
    }
  }

  private void respond(Destination destination) throws Exception {
    MessageConsumer consumer = session.createConsumer(destination);
    MessageProducer producer = session.createProducer(null);
    connection.start();
    say(new JSONObject().put("event", "ready"));
    for (int count = integer("count", 1); count > 0; count--) {
      Message message = consumer.receive(integer("timeout-ms", PATIENCE_MS));
      if (message == null) {
        say(new JSONObject().put("event", "timeout"));
        return;
      }
      say(JmsMessages.describe(message).put("event", "received"));
      String correlation = message.getJMSCorrelationID();
      message.setJMSCorrelationID(correlation != null ? correlation : message.getJMSMessageID());
      producer.send(message.getJMSReplyTo(), message);
      say(new JSONObject().put("event", "sent").put("message-id", message.getJMSMessageID()));
    }
  }

  private void forward(Destination from, Destination to) throws Exception {
    MessageConsumer consumer = session.createConsumer(from);
    MessageProducer producer = session.createProducer(to);
    connection.start();
    for (int count = integer("count", 1); count > 0; count--) {
      Message message = consumer.receive(integer("timeout-ms", PATIENCE_MS));
      if (message == null) {
        say(new JSONObject().put("event", "timeout"));
        return;
      }
      producer.send(message, message.getJMSDeliveryMode(), message.getJMSPriority(), 0);
      say(new JSONObject().put("event", "sent").put("message-id", message.getJMSMessageID()));
    }
  }

  private void endTransaction() throws JMSException {
    if (transacted && option("end", "commit").equals("commit")) {
      session.commit();
      say(new JSONObject().put("event", "committed"));
    } else if (transacted) {
      session.rollback();
      say(new JSONObject().put("event", "rolled-back"));
    }
  }

  private String connectionUrl() {
    boolean anonymous = !options.containsKey("user");
    String mechanism = option("mechanism", anonymous ? "ANONYMOUS" : "PLAIN");
    String identity = anonymous ? ":" : required("user") + ":" + required("password");
    return "amqp://" + identity + "@" + option("client-id", "") + "/" + option("virtual-host", "")
        + "?brokerlist='tcp://127.0.0.1:" + required("port") + "?sasl_mechs='" + mechanism + "'&retries='"
        + option("retries", "0") + "'&connectdelay='" + option("delay-ms", "0") + "'&heartbeat='"
        + option("heartbeat-s", "0") + "''&failover='" + option("failover", "nofailover") + "'"
        + option("url-options", "");
  }

  private static Map<String, String> parse(String[] arguments) {
    Map<String, String> options = new HashMap<>();
    for (int i = 1; i + 1 < arguments.length; i += 2) {
      options.put(arguments[i].substring(2), arguments[i + 1]);
    }
    return options;
  }

  private String option(String name, String otherwise) {
    return options.getOrDefault(name, otherwise);
  }

  private int integer(String name, int otherwise) {
    return Integer.parseInt(option(name, Integer.toString(otherwise)));
  }

  private String required(String name) {
    String value = options.get(name);
    if (value == null) {
      throw new IllegalArgumentException("--" + name + " is required");
    }
    return value;
  }

  private static List<JSONObject> messagesFromStandardInput() throws Exception {
    List<JSONObject> messages = new ArrayList<>();
    var lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
      messages.add(new JSONObject(line));
    }
    return messages;
  }

  private static JSONObject failure(Throwable e) {
    JSONObject said = new JSONObject().put("event", "error").put("class", e.getClass().getName())
        .put("text", String.valueOf(e.getMessage()));
    if (e instanceof JMSException jms && jms.getErrorCode() != null) {
      said.put("code", jms.getErrorCode());
    }
    return e.getCause() == null ? said : said.put("cause", String.valueOf(e.getCause().getMessage()));
  }

  private static synchronized void say(JSONObject line) {
    var octets = (line + "\n").getBytes(StandardCharsets.UTF_8);
    System.out.write(octets, 0, octets.length);
    System.out.flush();
  }
}
