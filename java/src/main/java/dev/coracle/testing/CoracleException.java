package dev.coracle.testing;

import java.util.List;

/** Base of all errors of this package. Each message is one sentence about the problem, and what to do. */
public class CoracleException extends RuntimeException {
  CoracleException(String message) {
    super(message);
  }

  CoracleException(String message, Throwable cause) {
    super(message, cause);
  }

  /** The program is missing, or cannot run here. */
  public static final class Binary extends CoracleException {
    Binary(String message) {
      super(message);
    }
  }

  /** The server did not start, or has ended. */
  public static final class Start extends CoracleException {
    Start(String message, Throwable cause) {
      super(message, cause);
    }
  }

  /** The control endpoint refused a request with a Status of meta/v1. */
  public static class Api extends CoracleException {
    private final int code;
    private final String reason;

    Api(int code, String reason, String message) {
      super(message);
      this.code = code;
      this.reason = reason;
    }

    /** The HTTP code. */
    public int code() {
      return code;
    }

    /** The reason of the Status, such as {@code Invalid}. */
    public String reason() {
      return reason;
    }
  }

  /** {@link Clock#until}: the object did not hold in time. The message has what was found. */
  public static final class NotMet extends Api {
    NotMet(int code, String reason, String message) {
      super(code, reason, message);
    }
  }

  /** {@link Coracle#settle()}: something still moves. */
  public static final class NotSettled extends CoracleException {
    private final String lastChange;
    private final List<String> pending;

    NotSettled(String lastChange, List<String> pending) {
      super("the cluster did not settle: " + (lastChange == null ? "" : "the last change was " + lastChange + "; ") + String.join("; ", pending));
      this.lastChange = lastChange;
      this.pending = List.copyOf(pending);
    }

    /** The object that changed last; {@code null} if the server does not know one. */
    public String lastChange() {
      return lastChange;
    }

    /** The work that is left. */
    public List<String> pending() {
      return pending;
    }
  }
}
