package dev.coracle.testing;

import com.fasterxml.jackson.databind.JsonNode;

/** A fault. It ends with {@link #close}, or with a reset. */
public final class Fault implements AutoCloseable {
  private final Connection connection;
  private final int id;

  Fault(Connection connection, int id) {
    this.connection = connection;
    this.id = id;
  }

  /** Its number. */
  public int id() {
    return id;
  }

  /** {@code state}, {@code struck}, {@code revision} (of the first strike), {@code nearMiss}. */
  public JsonNode status() {
    return connection.json("GET", "/faults/" + id, null).get("faults").get(0);
  }

  /** How often the fault has struck. */
  public int struck() {
    return status().get("struck").asInt();
  }

  /** Ends and removes the fault. A fault that a reset has ended is no error. */
  @Override
  public void close() {
    Coracle.unlessGone(() -> connection.json("DELETE", "/faults/" + id, null));
  }
}
