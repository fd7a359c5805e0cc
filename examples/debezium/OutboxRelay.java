import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.debezium.embedded.Connect;
import io.debezium.engine.ChangeEvent;
import io.debezium.engine.DebeziumEngine;
import io.debezium.engine.DebeziumEngine.RecordCommitter;

import java.io.IOException;
import java.io.Reader;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Base64;
import java.util.List;
import java.util.Properties;
import org.apache.kafka.connect.source.SourceRecord;

/**
 * Reads the outbox table from the log of PostgreSQL, and posts its events to an HTTP address in batches.
 *
 * <p>Arguments: a file with the settings of connector and router, and the address. System properties that begin with
 * "debezium." are settings, too, and go before those of the file.
 */
public final class OutboxRelay {
  private static final ObjectMapper json = new ObjectMapper();
  private static final HttpClient http = HttpClient.newHttpClient();

  public static void main(String[] arguments) throws Exception {
    URI address = URI.create(arguments[1]);
    var engine =
        DebeziumEngine.create(Connect.class)
            .using(settings(Path.of(arguments[0])))
            .using(OutboxRelay::exit)
            .notifying((records, committer) -> relay(records, committer, address))
            .build();
    engine.run();
  }

  private static Properties settings(Path file) throws IOException {
    var settings = new Properties();
    try (Reader reader = Files.newBufferedReader(file)) {
      settings.load(reader);
    }
    System.getProperties().stringPropertyNames().stream()
        .filter(name -> name.startsWith("debezium."))
        .forEach(name -> settings.setProperty(name.substring("debezium.".length()), System.getProperty(name)));
    return settings;
  }

  /** The engine has given up. Another process has to start it again. */
  private static void exit(boolean success, String message, Throwable error) {
    System.err.println("The engine has ended: " + message);
    Runtime.getRuntime().halt(success ? 0 : 1);
  }

  /** Marks events as processed only after the consumer has confirmed them: a crash repeats them, and loses none. */
  private static void relay(
      List<ChangeEvent<SourceRecord, SourceRecord>> records,
      RecordCommitter<ChangeEvent<SourceRecord, SourceRecord>> committer,
      URI address)
      throws InterruptedException {
    ArrayNode messages = json.createArrayNode();
    for (var event : records) {
      SourceRecord record = event.value();
      if (record.headers().lastWithName("id") != null) messages.add(message(record));
    }
    while (!messages.isEmpty() && !isConfirmed(messages, address)) Thread.sleep(200);
    for (var event : records) committer.markProcessed(event);
    committer.markBatchFinished();
  }

  private static boolean isConfirmed(ArrayNode messages, URI address) throws InterruptedException {
    var request =
        HttpRequest.newBuilder(address)
            .header("content-type", "application/json")
            .POST(BodyPublishers.ofString(messages.toString()))
            .build();
    try {
      return http.send(request, BodyHandlers.discarding()).statusCode() == 204;
    } catch (IOException unreachable) {
      return false;
    }
  }

  private static ObjectNode message(SourceRecord record) {
    ObjectNode message = json.createObjectNode();
    message.put("topic", record.topic());
    message.set("key", json.valueToTree(record.key()));
    message.put("timestamp", record.timestamp());
    ObjectNode headers = message.putObject("headers");
    record.headers().forEach(header -> headers.set(header.key(), json.valueToTree(header.value())));
    if (record.value() instanceof ByteBuffer bytes) {
      byte[] content = new byte[bytes.remaining()];
      bytes.duplicate().get(content);
      message.put("base64", Base64.getEncoder().encodeToString(content));
    } else {
      message.set("value", json.valueToTree(record.value()));
    }
    return message;
  }
}
