package dev.coracle.testing;

import java.io.File;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Comparator;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;

/** Finds the program {@code coracle}, and checks that it runs here. */
final class Binary {
  /** The version of this package, and of the program it needs. */
  static final String VERSION = "0.1.0";

  /** The machine of an ELF program, as this package names architectures. */
  private static final Map<Integer, String> MACHINES = Map.of(62, "x86_64", 183, "aarch64");

  private static final Pattern GLIBC = Pattern.compile("GLIBC_([\\d.]+)' not found");
  private static final Pattern ANSWER = Pattern.compile("coracle(?:-\\S+)? ((\\d+\\.\\d+)\\S*)");

  private Binary() {}

  /** The platform of this process, such as {@code linux-x86_64}. */
  static String platform() {
    return System.getProperty("os.name").toLowerCase().replaceAll("\\s", "") + "-" + architecture();
  }

  private static String architecture() {
    var name = System.getProperty("os.arch");
    return name.equals("amd64") ? "x86_64" : name;
  }

  /**
   * The path of the program: CORACLE_BIN, the one that a jar carries, or the one on PATH; checked.
   *
   * @param folder where a program from a jar is written
   */
  static Path find(Map<String, String> environment, Path folder) throws IOException {
    var named = environment.getOrDefault("CORACLE_BIN", "");
    if (!named.isEmpty()) {
      if (!Files.isRegularFile(Path.of(named))) {
        throw new CoracleException.Binary("CORACLE_BIN names " + named + ", which is not a file: set it to the path of the program `coracle`");
      }
      return checked(Path.of(named));
    }
    try (var carried = Binary.class.getResourceAsStream("/dev/coracle/bin/" + platform() + "/coracle")) {
      if (carried != null) {
        var path = folder.resolve("coracle");
        Files.copy(carried, path);
        path.toFile().setExecutable(true);
        return checked(path);
      }
    }
    var folders = Arrays.stream(environment.getOrDefault("PATH", "").split(File.pathSeparator)).filter(part -> !part.isEmpty());
    var onPath = folders.map(part -> Path.of(part, "coracle")).filter(Files::isRegularFile).findFirst();
    return checked(onPath.orElseThrow(() -> new CoracleException.Binary("the program `coracle` is missing: add the jar coracle-" + platform()
        + " to the class path, put the program on PATH, or set CORACLE_BIN to its path")));
  }

  /** This path, if the program runs here and has the version of this package. */
  static Path checked(Path path) throws IOException {
    if (!Files.isExecutable(path)) {
      throw new CoracleException.Binary(path + " is not executable: run `chmod +x " + path + "`");
    }
    if (!isForThisMachine(path)) {
      throw new CoracleException.Binary(path + " is not a program for this machine (" + platform() + "): use the build for it");
    }
    var answer = run(path.toString(), "--version");
    var newest = GLIBC.matcher(answer.text()).results().map(found -> found.group(1)).max(Comparator.comparing(Binary::number));
    if (newest.isPresent()) {
      throw new CoracleException.Binary(path + " needs glibc " + newest.get() + ", and this machine has " + glibc()
          + ": use a newer system or image, or a build for its glibc");
    }
    var found = ANSWER.matcher(answer.text());
    if (answer.code() != 0 || !found.matches()) {
      var said = answer.text().isEmpty() ? "exit code " + answer.code() : answer.text().substring(answer.text().lastIndexOf('\n') + 1);
      throw new CoracleException.Binary(path + " is not the program `coracle` (" + said + "): set CORACLE_BIN to its path");
    }
    if (!found.group(2).equals(VERSION.substring(0, VERSION.lastIndexOf('.')))) {
      throw new CoracleException.Binary(path + " has version " + found.group(1) + ", and this package needs " + VERSION
          + ": install the same version of both");
    }
    return path;
  }

  /** A script, or on Linux an ELF program of this architecture. The JDK would give anything else to a shell. */
  private static boolean isForThisMachine(Path path) throws IOException {
    byte[] head;
    try (var file = Files.newInputStream(path)) {
      head = file.readNBytes(20);
    }
    if (!platform().startsWith("linux") || head.length >= 2 && head[0] == '#' && head[1] == '!') {
      return true;
    }
    var isElf = head.length == 20 && head[0] == 0x7f && head[1] == 'E' && head[2] == 'L' && head[3] == 'F';
    return isElf && architecture().equals(MACHINES.get((int) ByteBuffer.wrap(head).order(ByteOrder.LITTLE_ENDIAN).getShort(18)));
  }

  /** Orders versions such as 2.9 and 2.34. */
  private static long number(String version) {
    return Arrays.stream(version.split("\\.")).mapToLong(Long::parseLong).reduce(0, (sum, part) -> sum * 10_000 + part);
  }

  private static String glibc() throws IOException {
    try {
      var answer = run("getconf", "GNU_LIBC_VERSION");
      return answer.code() == 0 ? answer.text().replace("glibc ", "") : "another C library";
    } catch (CoracleException.Binary missing) {
      return "another C library";
    }
  }

  private record Answer(int code, String text) {}

  private static Answer run(String... command) throws IOException {
    Process process;
    try {
      process = new ProcessBuilder(command).redirectErrorStream(true).start();
    } catch (IOException error) {
      throw new CoracleException.Binary(command[0] + " cannot be started (" + error.getMessage() + "): check the file");
    }
    process.getOutputStream().close();
    var text = new String(process.getInputStream().readAllBytes()).trim();
    try {
      if (process.waitFor(30, TimeUnit.SECONDS)) {
        return new Answer(process.exitValue(), text);
      }
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
    }
    process.destroyForcibly();
    throw new CoracleException.Binary("`" + String.join(" ", command) + "` did not end: check that it is the program `coracle`");
  }
}
