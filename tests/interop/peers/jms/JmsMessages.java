import java.io.Serializable;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Enumeration;
import java.util.HexFormat;
import java.util.List;
import javax.jms.BytesMessage;
import javax.jms.Destination;
import javax.jms.JMSException;
import javax.jms.MapMessage;
import javax.jms.Message;
import javax.jms.MessageEOFException;
import javax.jms.ObjectMessage;
import javax.jms.Queue;
import javax.jms.Session;
import javax.jms.StreamMessage;
import javax.jms.TextMessage;
import javax.jms.Topic;
import org.json.JSONArray;
import org.json.JSONObject;

/**
 * JMS messages as JSON: a value is the pair [type, value], with int64 as decimal text so that no JSON reader
 * rounds it, octets as hexadecimal, and floating point as Java's shortest text.
 *
 * <p>Body kinds: message (none), text, bytes, map, stream, object. Member names are those of the neutral
 * message of the tests: body, properties, durable, priority, ttl-ms, jms-type, correlation-id, reply-to,
 * group-id, group-sequence.
 */
final class JmsMessages {
  private JmsMessages() {}

  /** What makes a destination of how a test names it. */
  interface Destinations {
    Destination of(String text) throws Exception;
  }

  static Message create(Session session, JSONObject wanted, Destinations destinations) throws Exception {
    JSONArray body = wanted.optJSONArray("body");
    Message message = body == null ? session.createMessage() : withBody(session, body);
    JSONObject properties = wanted.optJSONObject("properties", new JSONObject());
    for (String name : properties.keySet()) {
      message.setObjectProperty(name, value(properties.getJSONArray(name)));
    }
    if (wanted.has("jms-type")) {
      message.setJMSType(wanted.getString("jms-type"));
    }
    if (wanted.has("correlation-id")) {
      message.setJMSCorrelationID(wanted.getString("correlation-id"));
    }
    if (wanted.has("reply-to")) {
      message.setJMSReplyTo(destinations.of(wanted.getString("reply-to")));
    }
    if (wanted.has("group-id")) {
      message.setStringProperty("JMSXGroupID", wanted.getString("group-id"));
    }
    if (wanted.has("group-sequence")) {
      message.setIntProperty("JMSXGroupSeq", wanted.getInt("group-sequence"));
    }
    return message;
  }

  private static Message withBody(Session session, JSONArray body) throws Exception {
    switch (body.getString(0)) {
      case "text":
        return session.createTextMessage(body.isNull(1) ? null : body.getString(1));
      case "object":
        return session.createObjectMessage((Serializable) value(body.getJSONArray(1)));
      case "bytes":
        BytesMessage bytes = session.createBytesMessage();
        bytes.writeBytes(HexFormat.of().parseHex(body.getString(1)));
        return bytes;
      case "map":
        MapMessage map = session.createMapMessage();
        JSONObject entries = body.getJSONObject(1);
        for (String name : entries.keySet()) {
          map.setObject(name, value(entries.getJSONArray(name)));
        }
        return map;
      case "stream":
        StreamMessage stream = session.createStreamMessage();
        for (Object element : body.getJSONArray(1)) {
          stream.writeObject(value((JSONArray) element));
        }
        return stream;
      default:
        throw new IllegalArgumentException("unknown body " + body);
    }
  }

  static JSONObject describe(Message message) throws JMSException {
    return headers(message).put("body", body(message));
  }

  /** All but the body, which who has written it cannot read. */
  static JSONObject headers(Message message) throws JMSException {
    JSONObject properties = new JSONObject();
    for (Object name : Collections.list((Enumeration<?>) message.getPropertyNames())) {
      properties.put((String) name, pair(message.getObjectProperty((String) name)));
    }
    return new JSONObject()
        .put("properties", properties)
        .put("durable", message.getJMSDeliveryMode() == javax.jms.DeliveryMode.PERSISTENT)
        .put("priority", message.getJMSPriority())
        .put("expiration-ms", message.getJMSExpiration())
        .put("timestamp-ms", message.getJMSTimestamp())
        .put("redelivered", message.getJMSRedelivered())
        .put("message-id", text(message.getJMSMessageID()))
        .put("correlation-id", text(message.getJMSCorrelationID()))
        .put("jms-type", text(message.getJMSType()))
        .put("destination", text(message.getJMSDestination()))
        .put("destination-kind", kind(message.getJMSDestination()))
        .put("reply-to", text(message.getJMSReplyTo()))
        .put("reply-to-kind", kind(message.getJMSReplyTo()));
  }

  private static JSONArray body(Message message) throws JMSException {
    JSONArray body = new JSONArray();
    if (message instanceof TextMessage text) {
      return body.put("text").put(text(text.getText()));
    } else if (message instanceof BytesMessage bytes) {
      byte[] octets = new byte[(int) bytes.getBodyLength()];
      bytes.readBytes(octets);
      return body.put("bytes").put(HexFormat.of().formatHex(octets));
    } else if (message instanceof StreamMessage stream) {  // a list message is a stream and a map
      return body.put("stream").put(elements(stream));
    } else if (message instanceof MapMessage map) {
      JSONObject entries = new JSONObject();
      for (Object name : Collections.list((Enumeration<?>) map.getMapNames())) {
        entries.put((String) name, pair(map.getObject((String) name)));
      }
      return body.put("map").put(entries);
    } else if (message instanceof ObjectMessage object) {
      return body.put("object").put(pair(object.getObject()));
    }
    return body.put("message").put(JSONObject.NULL);
  }

  private static JSONArray elements(StreamMessage stream) throws JMSException {
    List<JSONArray> elements = new ArrayList<>();
    while (true) {
      try {
        elements.add(pair(stream.readObject()));
      } catch (MessageEOFException end) {
        return new JSONArray(elements);
      }
    }
  }

  private static Object value(JSONArray pair) {
    Object given = pair.opt(1);
    return switch (pair.getString(0)) {
      case "null" -> null;
      case "boolean" -> given;
      case "byte" -> Byte.valueOf(given.toString());
      case "short" -> Short.valueOf(given.toString());
      case "int" -> Integer.valueOf(given.toString());
      case "long" -> Long.valueOf(given.toString());
      case "float" -> Float.valueOf(given.toString());
      case "double" -> Double.valueOf(given.toString());
      case "char" -> given.toString().charAt(0);
      case "string" -> given.toString();
      case "binary" -> HexFormat.of().parseHex(given.toString());
      default -> throw new IllegalArgumentException("unknown type in " + pair);
    };
  }

  private static JSONArray pair(Object value) {
    JSONArray pair = new JSONArray();
    if (value == null) {
      return pair.put("null").put(JSONObject.NULL);
    } else if (value instanceof byte[] octets) {
      return pair.put("binary").put(HexFormat.of().formatHex(octets));
    } else if (value instanceof Boolean) {
      return pair.put("boolean").put(value);
    } else if (value instanceof Integer || value instanceof Short || value instanceof Byte) {
      return pair.put(name(value)).put(((Number) value).intValue());
    }
    return pair.put(name(value)).put(value.toString());
  }

  private static String name(Object value) {
    String simple = value.getClass().getSimpleName();
    return switch (simple) {
      case "Integer" -> "int";
      case "Character" -> "char";
      default -> simple.toLowerCase(java.util.Locale.ROOT);
    };
  }

  private static Object kind(Destination destination) {
    boolean topic = destination instanceof Topic;
    boolean queue = destination instanceof Queue;
    return topic == queue ? JSONObject.NULL : topic ? "topic" : "queue";
  }

  private static Object text(Object value) {
    return value == null ? JSONObject.NULL : value.toString();
  }
}
