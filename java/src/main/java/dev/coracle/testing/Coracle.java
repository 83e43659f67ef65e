package dev.coracle.testing;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;

/** A cluster whose clock, snapshots, forks and faults a test controls. */
public class Coracle {
  /** The snapshot that each server has: the cluster as it started. */
  private static final String START = "start";

  private final Connection connection;
  private final Path kubeconfig;
  private final Clock clock;
  private String start = START;

  Coracle(Connection connection, Path kubeconfig) {
    this.connection = connection;
    this.kubeconfig = kubeconfig;
    this.clock = new Clock(connection);
  }

  /** The cluster at rest. */
  public record Settled(long revision, Instant now) {}

  /** A state of the cluster. */
  public record Snapshot(String name, long revision) {}

  /** One check: what was expected, and what was found. */
  public record Claim(String name, boolean holds, String expected, String found) {}

  /** The answer to a check. */
  public record Checked(boolean holds, List<Claim> claims) {}

  /** The path of a kubeconfig for any client; its user is an administrator. */
  public Path kubeconfig() {
    return kubeconfig;
  }

  /** The text of the kubeconfig, for {@code Config.fromKubeconfig} of fabric8. */
  public String kubeconfigText() {
    try {
      return Files.readString(kubeconfig);
    } catch (IOException error) {
      throw new CoracleException("the kubeconfig cannot be read, because the server has stopped: start another one", error);
    }
  }

  /** The address of the API server: https://127.0.0.1:PORT. */
  public String server() {
    return connection.server();
  }

  /** {@code version}, {@code kubernetes} and {@code time} of the server. */
  public JsonNode info() {
    return connection.json("GET", "", null);
  }

  /** The clock of the cluster. */
  public Clock clock() {
    return clock;
  }

  /** Makes the state in which each test starts: the nodes are Ready. Only stepped time starts with that. */
  void prepare() {
    if (!info().get("time").asText().equals("stepped")) {
      settle();
      start = snapshot("ready").name();
    }
  }

  /**
   * Waits until nothing moves; a stepped clock advances as far as needed.
   *
   * @throws CoracleException.NotSettled with the last change and the work that is left
   */
  public Settled settle() {
    return settle(null, null);
  }

  /** The same with how long no object changes, and how long to wait at most; {@code null} for the default. */
  public Settled settle(Duration quiet, Duration within) {
    var asked = new LinkedHashMap<String, Object>();
    put(asked, "quiet", Durations.text(quiet));
    put(asked, "within", Durations.text(within));
    var answer = connection.json("POST", "/settle", asked);
    if (!answer.get("settled").asBoolean()) {
      var pending = new ArrayList<String>();
      answer.path("pending").forEach(work -> pending.add(work.asText()));
      throw new CoracleException.NotSettled(answer.path("lastChange").textValue(), pending);
    }
    return new Settled(answer.get("revision").asLong(), Instant.parse(answer.get("now").asText()));
  }

  /**
   * Calls a function until its value is true or an object, which it returns. The bound is real time: this waits for
   * programs in other processes and threads, while a stepped clock stands still.
   */
  public <T> T until(Callable<T> holds, Duration within) {
    var end = System.nanoTime() + within.toNanos();
    try {
      while (true) {
        var found = holds.call();
        if (found != null && !Boolean.FALSE.equals(found)) {
          return found;
        }
        if (System.nanoTime() > end) {
          throw new CoracleException("not within " + within + " of real time; the last call gave " + found);
        }
        Thread.sleep(20);
      }
    } catch (RuntimeException error) {
      throw error;
    } catch (Exception error) {
      throw new CoracleException("the function failed: " + error.getMessage(), error);
    }
  }

  /** Causes a fault: a text in YAML or JSON, or a map, as a scenario has it, with {@code when} and {@code do}. */
  public Fault fault(Object fault) {
    return new Fault(connection, connection.json("POST", "/faults", fault).get("faults").get(0).get("id").asInt());
  }

  /** All faults, with {@code id}, {@code name}, {@code state}, {@code struck}. */
  public JsonNode faults() {
    return connection.json("GET", "/faults", null).get("faults");
  }

  /** Keeps the cluster as it is. A snapshot of the same name is replaced. */
  public Snapshot snapshot(String name) {
    var answer = connection.json("PUT", "/snapshots/" + encoded(name), null);
    return new Snapshot(answer.get("name").asText(), answer.get("revision").asLong());
  }

  /** All snapshots. */
  public List<Snapshot> snapshots() {
    var all = new ArrayList<Snapshot>();
    var found = connection.json("GET", "/snapshots", null).get("snapshots");
    found.forEach(each -> all.add(new Snapshot(each.get("name").asText(), each.get("revision").asLong())));
    return all;
  }

  /** Makes the cluster as it started. Faults end, and watches, too. Returns the revision, higher than all before. */
  public long reset() {
    return reset(start);
  }

  /** Makes the cluster what a snapshot has. */
  public long reset(String snapshot) {
    return connection.json("POST", "/reset", Map.of("snapshot", snapshot)).get("revision").asLong();
  }

  /** {@link #reset()}, and removes all forks, and the snapshots that tests have kept: what the extension does for each test. */
  public void startOver() {
    for (var fork : connection.json("GET", "/forks", null).get("forks")) {
      connection.json("DELETE", "/forks/" + encoded(fork.get("name").asText()), null);
    }
    for (var snapshot : snapshots()) {
      if (!snapshot.name().equals(START) && !snapshot.name().equals(start)) {
        connection.json("DELETE", "/snapshots/" + encoded(snapshot.name()), null);
      }
    }
    reset();
  }

  /** A second cluster that begins as this one is. It has its own clock, faults and kubeconfig. */
  public Fork fork() {
    return fork(Map.of());
  }

  /** A fork of a snapshot. */
  public Fork forkOf(String snapshot) {
    return fork(Map.of("snapshot", snapshot));
  }

  /** A fork of the cluster at a revision. */
  public Fork forkAt(long revision) {
    return fork(Map.of("revision", revision));
  }

  private Fork fork(Map<String, Object> from) {
    var answer = connection.json("POST", "/forks", from);
    var name = answer.get("name").asText();
    var text = answer.get("kubeconfig").asText();
    try {
      // In the folder of the server, which is removed when the server ends.
      var file = Files.createTempFile(kubeconfig.toAbsolutePath().getParent(), name, ".kubeconfig");
      Files.writeString(file, text);
      return new Fork(connection, name, text, file, () -> "");
    } catch (IOException error) {
      throw new CoracleException("the kubeconfig of the fork cannot be written: check " + kubeconfig.getParent(), error);
    }
  }

  /** The chain of causes of an object, as text: {@code pod/default/web-1}, or the object itself. */
  public String why(Object about) {
    return connection.text("GET", "/why?about=" + encoded(Objects.reference(about)), null);
  }

  /** Decides claims about the cluster as it is: texts in CEL, or maps as below {@code eventually} in a scenario. */
  public Checked check(Object... claims) {
    var eventually = new ArrayList<Object>();
    for (var claim : claims) {
      eventually.add(claim instanceof String cel ? Map.of("name", cel, "cel", cel) : claim);
    }
    var spec = Map.of("eventually", eventually, "steps", List.of());
    return checked(Map.of("apiVersion", "coracle.dev/v1alpha1", "kind", "Scenario", "metadata", Map.of("name", "check"), "spec", spec));
  }

  /** Decides the checks of a whole scenario: a text in YAML or JSON. */
  public Checked checkScenario(String scenario) {
    return checked(scenario);
  }

  private Checked checked(Object scenario) {
    var answer = connection.json("POST", "/check", scenario);
    var claims = new ArrayList<Claim>();
    for (var claim : answer.get("claims")) {
      claims.add(new Claim(claim.get("name").asText(), claim.get("holds").asBoolean(), claim.path("expected").asText(), claim.path("found").asText()));
    }
    return new Checked(answer.get("holds").asBoolean(), claims);
  }

  /** The event log since the last reset, as lines of JSON. */
  public List<String> events() {
    return connection.text("GET", "/events", null).lines().toList();
  }

  /** Writes the page of the run since the last reset. Returns its path. */
  public Path report(Path path) {
    var page = connection.text("GET", "/report", null);
    var whole = path.toAbsolutePath();
    try {
      Files.createDirectories(whole.getParent());
      return Files.writeString(whole, page);
    } catch (IOException error) {
      throw new CoracleException("the page cannot be written: check " + whole, error);
    }
  }

  /** What a reset, or another call, has removed before is no error. */
  static void unlessGone(Runnable removal) {
    try {
      removal.run();
    } catch (CoracleException.Api error) {
      if (error.code() != 404) {
        throw error;
      }
    }
  }

  private static void put(Map<String, Object> map, String name, Object value) {
    if (value != null) {
      map.put(name, value);
    }
  }

  private static String encoded(String text) {
    return URLEncoder.encode(text, StandardCharsets.UTF_8).replace("+", "%20");
  }
}
