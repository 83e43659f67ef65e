package dev.coracle.testing;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.function.Supplier;

/** A fork: a cluster of its own until {@link #close}. */
public final class Fork extends Coracle implements AutoCloseable {
  private final Connection parent;
  private final String name;

  Fork(Connection parent, String name, String kubeconfig, Path file, Supplier<String> explain) {
    super(new Connection(kubeconfig, explain), file);
    this.parent = parent;
    this.name = name;
  }

  /** Its name: {@code fork-1}. */
  public String name() {
    return name;
  }

  /** Stops the fork. A second call has no effect. */
  @Override
  public void close() {
    unlessGone(() -> parent.json("DELETE", "/forks/" + name, null));
    try {
      Files.deleteIfExists(kubeconfig());
    } catch (IOException error) {
      throw new CoracleException("the kubeconfig of the fork cannot be removed: remove " + kubeconfig(), error);
    }
  }
}
