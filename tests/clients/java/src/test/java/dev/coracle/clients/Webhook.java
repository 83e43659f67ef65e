package dev.coracle.clients;

import com.sun.net.httpserver.HttpsConfigurator;
import com.sun.net.httpserver.HttpsServer;
import io.fabric8.kubernetes.api.model.HasMetadata;
import io.fabric8.kubernetes.api.model.StatusBuilder;
import io.fabric8.kubernetes.api.model.admission.v1.AdmissionRequest;
import io.fabric8.kubernetes.api.model.admission.v1.AdmissionResponse;
import io.fabric8.kubernetes.api.model.admission.v1.AdmissionReview;
import io.fabric8.kubernetes.client.utils.Serialization;
import java.io.FileInputStream;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyFactory;
import java.security.KeyStore;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;

/** A mutating webhook with the types of fabric8: {@code Webhook ADDRESS:PORT CERTIFICATE KEY}. */
public final class Webhook {
  public static void main(String[] arguments) throws Exception {
    int colon = arguments[0].lastIndexOf(':');
    var address = new InetSocketAddress(arguments[0].substring(0, colon), Integer.parseInt(arguments[0].substring(colon + 1)));
    HttpsServer server = HttpsServer.create(address, 0);
    server.setHttpsConfigurator(new HttpsConfigurator(tls(Path.of(arguments[1]), Path.of(arguments[2]))));
    server.createContext("/mutate", exchange -> {
      try (exchange) {
        AdmissionReview review = Serialization.unmarshal(exchange.getRequestBody(), AdmissionReview.class);
        review.setResponse(answer(review.getRequest()));
        review.setRequest(null);
        byte[] body = Serialization.asJson(review).getBytes(StandardCharsets.UTF_8);
        exchange.getResponseHeaders().add("Content-Type", "application/json");
        exchange.sendResponseHeaders(200, body.length);
        exchange.getResponseBody().write(body);
      }
    });
    server.start();
  }

  private static AdmissionResponse answer(AdmissionRequest asked) {
    var answer = new AdmissionResponse();
    answer.setUid(asked.getUid());
    Map<String, String> labels = ((HasMetadata) asked.getObject()).getMetadata().getLabels();
    boolean hasLabels = labels != null && !labels.isEmpty();
    if (hasLabels && labels.containsKey("illegal")) {
      answer.setAllowed(false);
      answer.setStatus(new StatusBuilder().withMessage("Resource contained 'illegal' label").build());
      return answer;
    }
    answer.setAllowed(true);
    if (hasLabels && labels.containsKey("admission")) {
      return answer;
    }
    List<Map<String, Object>> patch = new ArrayList<>();
    if (!hasLabels) {
      patch.add(Map.of("op", "add", "path", "/metadata/labels", "value", Map.of()));
    }
    patch.add(Map.of("op", "add", "path", "/metadata/labels/admission", "value", "modified-by-admission-controller"));
    answer.setPatch(Base64.getEncoder().encodeToString(Serialization.asJson(patch).getBytes(StandardCharsets.UTF_8)));
    answer.setPatchType("JSONPatch");
    return answer;
  }

  private static SSLContext tls(Path certificate, Path key) throws Exception {
    Certificate shown;
    try (var file = new FileInputStream(certificate.toFile())) {
      shown = CertificateFactory.getInstance("X.509").generateCertificate(file);
    }
    String pem = Files.readString(key).replaceAll("-----[A-Z ]+-----", "").replaceAll("\\s", "");
    var secret = KeyFactory.getInstance("RSA").generatePrivate(new PKCS8EncodedKeySpec(Base64.getDecoder().decode(pem)));
    KeyStore keys = KeyStore.getInstance("PKCS12");
    keys.load(null, null);
    keys.setKeyEntry("webhook", secret, new char[0], new Certificate[] {shown});
    KeyManagerFactory managers = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
    managers.init(keys, new char[0]);
    SSLContext context = SSLContext.getInstance("TLS");
    context.init(managers.getKeyManagers(), null, null);
    return context;
  }
}
