package dev.coracle.testing;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.cert.CertificateFactory;
import java.time.Duration;
import java.util.Base64;
import java.util.function.Supplier;
import java.util.regex.Pattern;
import javax.net.ssl.HttpsURLConnection;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLSocketFactory;
import javax.net.ssl.TrustManagerFactory;

/**
 * Requests to the control endpoint of one API server, with the address and the token of a kubeconfig. Each request has a
 * connection of its own, because a reset ends them.
 */
final class Connection {
  static final ObjectMapper JSON = new ObjectMapper();

  /** For how long a request is repeated that got 503, as all requests do while a reset runs. */
  private static final Duration RETRIED_FOR = Duration.ofSeconds(60);

  private final String server;
  private final String token;
  private final SSLSocketFactory sockets;
  private final Supplier<String> explain;

  /**
   * @param kubeconfig the text of one that Coracle wrote
   * @param explain why the server may not answer, or an empty text
   */
  Connection(String kubeconfig, Supplier<String> explain) {
    server = field(kubeconfig, "server");
    token = field(kubeconfig, "token");
    sockets = trusting(Base64.getDecoder().decode(field(kubeconfig, "certificate-authority-data")));
    this.explain = explain;
  }

  String server() {
    return server;
  }

  JsonNode json(String method, String path, Object body) {
    try {
      return JSON.readTree(text(method, path, body));
    } catch (JsonProcessingException error) {
      throw new CoracleException("the server at " + server + " answered with no JSON: use the same version of both", error);
    }
  }

  /** The body of the answer. A text is sent as it is, and another body as JSON. */
  String text(String method, String path, Object body) {
    try {
      var sent = body == null ? null : body instanceof String text ? text : JSON.writeValueAsString(body);
      var end = System.nanoTime() + RETRIED_FOR.toNanos();
      while (true) {
        var answer = send(method, path, sent);
        if (answer.code() < 400) {
          return answer.text();
        }
        if (answer.code() != 503 || !answer.isRetried() || System.nanoTime() > end) {
          throw error(answer);
        }
        Thread.sleep(50);
      }
    } catch (JsonProcessingException error) {
      throw new IllegalArgumentException("the argument cannot be written as JSON: " + error.getOriginalMessage(), error);
    } catch (IOException error) {
      var why = explain.get();
      throw new CoracleException.Start("the server at " + server + " does not answer: " + (why.isEmpty() ? error + "; start another one" : why), error);
    } catch (InterruptedException error) {
      Thread.currentThread().interrupt();
      throw new CoracleException("the thread was interrupted while a reset ran", error);
    }
  }

  private record Answer(int code, boolean isRetried, String text) {}

  private Answer send(String method, String path, String body) throws IOException {
    var connection = (HttpsURLConnection) URI.create(server + "/coracle/v1" + path).toURL().openConnection();
    connection.setSSLSocketFactory(sockets);
    connection.setRequestMethod(method);
    connection.setRequestProperty("Authorization", "Bearer " + token);
    connection.setRequestProperty("User-Agent", "coracle-java/" + Binary.VERSION);
    connection.setRequestProperty("Connection", "close");
    if (body != null) {
      connection.setRequestProperty("Content-Type", "application/json");
      connection.setDoOutput(true);
      try (var out = connection.getOutputStream()) {
        out.write(body.getBytes(StandardCharsets.UTF_8));
      }
    }
    var code = connection.getResponseCode();
    try (var in = code < 400 ? connection.getInputStream() : connection.getErrorStream()) {
      var text = in == null ? "" : new String(in.readAllBytes(), StandardCharsets.UTF_8);
      return new Answer(code, connection.getHeaderField("Retry-After") != null, text);
    }
  }

  private static CoracleException error(Answer answer) {
    var reason = "";
    var message = answer.text().trim();
    try {
      if (JSON.readTree(answer.text()) instanceof ObjectNode status) {
        reason = status.path("reason").asText();
        message = status.path("message").asText();
      }
    } catch (JsonProcessingException noStatus) {
      // The text is the message.
    }
    if (answer.code() == 404 && reason.isEmpty()) {
      message = "this API server has no control endpoint: start it with `coracle up` of the version of this package";
    }
    return answer.code() == 408
        ? new CoracleException.NotMet(answer.code(), reason, message)
        : new CoracleException.Api(answer.code(), reason, message);
  }

  private static String field(String kubeconfig, String name) {
    var found = Pattern.compile("^ *" + name + ": (\\S+)$", Pattern.MULTILINE).matcher(kubeconfig);
    if (!found.find()) {
      throw new IllegalArgumentException("the kubeconfig has no `" + name + "`: use one that Coracle wrote");
    }
    return found.group(1);
  }

  private static SSLSocketFactory trusting(byte[] authority) {
    try {
      var trusted = KeyStore.getInstance(KeyStore.getDefaultType());
      trusted.load(null, null);
      var certificates = CertificateFactory.getInstance("X.509").generateCertificates(new ByteArrayInputStream(authority));
      for (var certificate : certificates) {
        trusted.setCertificateEntry("coracle", certificate);
      }
      var managers = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
      managers.init(trusted);
      var context = SSLContext.getInstance("TLS");
      context.init(null, managers.getTrustManagers(), null);
      return context.getSocketFactory();
    } catch (GeneralSecurityException | IOException error) {
      throw new CoracleException("the certificate authority of the kubeconfig cannot be read: use one that Coracle wrote", error);
    }
  }
}
