package dev.coracle.testing;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** The process {@code coracle up}, with a folder of its own. It ends with {@link #close}, or when this process ends in any way. */
public final class CoracleServer implements AutoCloseable {
  private static final Duration STARTS_WITHIN = Duration.ofSeconds(60);
  private static final long STOPS_WITHIN_SECONDS = 15;

  /**
   * What a server starts with.
   *
   * @param nodes the number of simulated nodes; negative for the default, 2
   * @param kubernetes the release of Kubernetes, such as {@code 1.36}; empty for the newest
   * @param time {@code stepped}, {@code real} or {@code scaled=N}
   * @param seed the seed of names and uids; negative for one from the operating system
   * @param port the HTTPS port; 0 for a free one
   * @param args more arguments of {@code coracle up}
   */
  public record Options(int nodes, String kubernetes, String time, long seed, int port, List<String> args) {
    /** The defaults, in stepped time. */
    public static Options defaults() {
      return new Options(-1, "", "stepped", -1, 0, List.of());
    }

    public Options withNodes(int count) {
      return new Options(count, kubernetes, time, seed, port, args);
    }

    public Options withKubernetes(String release) {
      return new Options(nodes, release, time, seed, port, args);
    }

    public Options withPort(int number) {
      return new Options(nodes, kubernetes, time, seed, number, args);
    }

    private List<String> arguments(Path folder) {
      var all = new ArrayList<>(List.of("up", "--ephemeral", "--state-dir", folder.resolve("state").toString(), "--time", time));
      all.addAll(List.of("--secure-port", String.valueOf(port), "--events", folder.resolve("events.jsonl").toString()));
      if (nodes >= 0) {
        all.addAll(List.of("--nodes", String.valueOf(nodes)));
      }
      if (!kubernetes.isEmpty()) {
        all.addAll(List.of("--kubernetes", kubernetes));
      }
      if (seed >= 0) {
        all.addAll(List.of("--seed", String.valueOf(seed)));
      }
      all.addAll(args);
      return all;
    }
  }

  private final Options options;
  private final Path folder;
  private final RandomAccessFile log;
  private final Process process;
  private final Coracle cluster;
  private String lastLog = "";
  private boolean isClosed;

  private CoracleServer(Options options, Path folder) throws IOException {
    this.options = options;
    this.folder = folder;
    // The program may come from a jar, so it is in the folder before the process is.
    var program = Binary.find(System.getenv(), folder);
    var logFile = folder.resolve("log").toFile();
    log = new RandomAccessFile(logFile, "rw");
    var command = new ArrayList<>(List.of("/bin/sh", "-c", supervise(), "supervise", folder.toString(), program.toString()));
    command.addAll(options.arguments(folder));
    process = new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(logFile).start();
    try {
      var kubeconfig = waitForKubeconfig();
      cluster = new Coracle(new Connection(Files.readString(kubeconfig), this::whyEnded), kubeconfig);
      cluster.prepare();
    } catch (RuntimeException | IOException error) {
      close();
      throw error;
    }
  }

  /** Starts a server, and waits until its API is ready. */
  public static CoracleServer start(Options options) {
    try {
      var folder = Files.createTempDirectory("coracle-");
      try {
        return new CoracleServer(options, folder);
      } catch (RuntimeException | IOException error) {
        remove(folder);
        throw error;
      }
    } catch (IOException error) {
      throw new CoracleException.Start("the server did not start: " + error.getMessage() + "; check the folder for temporary files", error);
    }
  }

  /** The cluster of this server. */
  public Coracle cluster() {
    return cluster;
  }

  /** Whether the process runs. */
  public boolean isRunning() {
    return process.isAlive();
  }

  /** What the server has written on its standard output and standard error. */
  public String log() {
    try {
      if (!isClosed) {
        var text = new byte[(int) log.length()];
        log.seek(0);
        log.readFully(text);
        lastLog = new String(text, StandardCharsets.UTF_8);
      }
      return lastLog;
    } catch (IOException error) {
      throw new CoracleException("the log of the server cannot be read", error);
    }
  }

  /** Stops the server and removes its folder. A second call has no effect. */
  @Override
  public void close() {
    if (isClosed) {
      return;
    }
    try {
      process.getOutputStream().close();
      if (!process.waitFor(STOPS_WITHIN_SECONDS, TimeUnit.SECONDS)) {
        process.descendants().forEach(ProcessHandle::destroyForcibly);
        process.destroyForcibly();
      }
      log();
      isClosed = true;
      log.close();
      remove(folder);
    } catch (IOException error) {
      throw new CoracleException("the folder of the server cannot be removed: remove " + folder, error);
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  /** The last message of a server that has ended, or an empty text. */
  private String whyEnded() {
    if (isClosed) {
      return "it was stopped";
    }
    if (isRunning()) {
      return "";
    }
    var lines = log().lines().filter(line -> line.startsWith("coracle: ") || line.startsWith("error: ")).toList();
    if (lines.isEmpty()) {
      return "exit code " + process.exitValue();
    }
    var last = lines.get(lines.size() - 1);
    if (last.contains("Address already in use")) {
      return "port " + options.port() + " is in use: choose another port, or 0 for a free one";
    }
    return last.substring(last.indexOf(": ") + 2);
  }

  private Path waitForKubeconfig() {
    var kubeconfig = folder.resolve("state").resolve("kubeconfig");
    var end = System.nanoTime() + STARTS_WITHIN.toNanos();
    while (!Files.exists(kubeconfig)) {
      if (!isRunning()) {
        throw new CoracleException.Start("the server did not start: " + whyEnded(), null);
      }
      if (System.nanoTime() > end) {
        throw new CoracleException.Start("the server was not ready within 60 seconds: " + log().trim(), null);
      }
      try {
        Thread.sleep(10);
      } catch (InterruptedException interrupted) {
        Thread.currentThread().interrupt();
        throw new CoracleException.Start("the thread was interrupted while the server started", interrupted);
      }
    }
    return kubeconfig;
  }

  /** The script that ends the server with this process. */
  private static String supervise() throws IOException {
    try (var script = CoracleServer.class.getResourceAsStream("supervise.sh")) {
      return new String(script.readAllBytes(), StandardCharsets.UTF_8);
    }
  }

  private static void remove(Path folder) throws IOException {
    if (!Files.exists(folder)) {
      return;
    }
    try (var files = Files.walk(folder)) {
      for (var file : files.sorted(Comparator.reverseOrder()).toList()) {
        Files.deleteIfExists(file);
      }
    }
  }
}
