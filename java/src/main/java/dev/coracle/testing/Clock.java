package dev.coracle.testing;

import java.time.Duration;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.Map;

/** The clock of a cluster. */
public final class Clock {
  private final Connection connection;

  Clock(Connection connection) {
    this.connection = connection;
  }

  /** The time of the cluster. */
  public Instant now() {
    return Instant.parse(connection.json("GET", "/clock", null).get("now").asText());
  }

  /** Advances a stepped clock: all timers of the cluster fire in their order. Returns the time. */
  public Instant advance(Duration duration) {
    return advance(Durations.text(duration));
  }

  /** The same with Go's text: {@code 24h}. */
  public Instant advance(String duration) {
    return Instant.parse(connection.json("POST", "/clock/advance", Map.of("duration", duration)).get("now").asText());
  }

  /**
   * Advances a stepped clock until an object has all fields of a partial object. Returns how far it has advanced.
   *
   * @param object a map, a text in JSON, or an object that Jackson writes, such as a model of fabric8
   * @throws CoracleException.NotMet with what was found
   */
  public Duration until(Object object, Duration within) {
    return until(object, within, false);
  }

  /** Advances a stepped clock until there is no such object. */
  public Duration untilAbsent(Object object, Duration within) {
    return until(object, within, true);
  }

  private Duration until(Object object, Duration within, boolean absent) {
    var until = Map.of("object", Objects.toMap(object), "absent", absent);
    var asked = new LinkedHashMap<String, Object>(Map.of("until", until, "within", Durations.text(within)));
    return Durations.parse(connection.json("POST", "/clock/advance", asked).get("advanced").asText());
  }
}
