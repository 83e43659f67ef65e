package dev.coracle.testing;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** How the program is found, checked, started and ended: every claim is a test's name. */
class ServerTest {
  @TempDir Path folder;

  private Path script(String text) throws Exception {
    var path = Files.writeString(folder.resolve("coracle"), text);
    assertTrue(path.toFile().setExecutable(true));
    return path;
  }

  private void refuses(Path path, String expected) {
    var message = assertThrows(CoracleException.Binary.class, () -> Binary.find(Map.of("CORACLE_BIN", path.toString()), folder)).getMessage();
    assertTrue(message.contains(expected), message);
  }

  @Test
  void theProgramOnPathIsFound() throws Exception {
    var path = script("#!/bin/sh\necho coracle 0.1.0\n");
    assertEquals(path, Binary.find(Map.of("PATH", "/nowhere:" + folder), folder.resolve("unused")));
  }

  @Test
  void aMissingProgramIsNamedWithTheThreeWaysToHaveOne() {
    var message = assertThrows(CoracleException.Binary.class, () -> Binary.find(Map.of("PATH", "/nowhere"), folder)).getMessage();
    assertTrue(message.matches(".*add the jar coracle-\\S+ to the class path, put the program on PATH, or set CORACLE_BIN.*"), message);
  }

  @Test
  void coracleBinThatNamesNoFileIsNamed() {
    refuses(Path.of("/no/such"), "CORACLE_BIN names /no/such, which is not a file");
  }

  @Test
  void aProgramThatIsNotExecutableIsNamedWithTheCommand() throws Exception {
    var path = script("");
    assertTrue(path.toFile().setExecutable(false));
    refuses(path, path + " is not executable: run `chmod +x " + path + "`");
  }

  @Test
  void aProgramOfAnotherVersionNamesBoth() throws Exception {
    refuses(script("#!/bin/sh\necho coracle 9.2.1\n"), "has version 9.2.1, and this package needs 0.1.0");
  }

  @Test
  void aProgramThatNeedsANewerGlibcNamesIt() throws Exception {
    var said = "version `GLIBC_2.9' not found\nversion `GLIBC_2.99' not found\n";
    refuses(script("#!/bin/sh\ncat >&2 <<\"END\"\n" + said + "END\nexit 1\n"), "needs glibc 2.99, and this machine has ");
  }

  @Test
  void aProgramForAnotherMachineIsNamed() throws Exception {
    refuses(script("\u007fELF" + "\0".repeat(60)), "is not a program for this machine (" + Binary.platform() + ")");
  }

  @Test
  void anotherProgramIsNamedWithWhatItSaid() throws Exception {
    refuses(script("#!/bin/sh\necho who is there\n"), "is not the program `coracle` (who is there)");
  }

  @Test
  void aPortInUseIsNamed() throws Exception {
    try (var taken = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      var options = CoracleServer.Options.defaults().withPort(taken.getLocalPort());
      var message = assertThrows(CoracleException.Start.class, () -> CoracleServer.start(options)).getMessage();
      assertTrue(message.endsWith("port " + taken.getLocalPort() + " is in use: choose another port, or 0 for a free one"), message);
    }
  }

  @Test
  void anUnknownReleaseIsNamed() {
    var options = CoracleServer.Options.defaults().withKubernetes("1.12");
    var message = assertThrows(CoracleException.Start.class, () -> CoracleServer.start(options)).getMessage();
    assertTrue(message.contains("1.12"), message);
  }

  private static Path folderOf(String kubeconfig) {
    return Path.of(kubeconfig).getParent().getParent();
  }

  @Test
  void closeEndsTheServerAndRemovesItsFolder() {
    var server = CoracleServer.start(CoracleServer.Options.defaults().withNodes(0));
    var state = folderOf(server.cluster().kubeconfig().toString());
    assertTrue(Files.exists(state) && server.isRunning());
    server.close();
    server.close();
    assertFalse(Files.exists(state) || server.isRunning());
    var message = assertThrows(CoracleException.Start.class, () -> server.cluster().clock().now()).getMessage();
    assertTrue(message.endsWith("does not answer: it was stopped"), message);
  }

  /** Starts a server, prints the path of its kubeconfig, and waits. */
  static final class Parent {
    public static void main(String[] arguments) throws Exception {
      System.out.println(CoracleServer.start(CoracleServer.Options.defaults().withNodes(0)).cluster().kubeconfig());
      Thread.sleep(600_000);
    }
  }

  @Test
  void aKilledParentLeavesNoProcessAndNoFolder() throws Exception {
    var java = Path.of(System.getProperty("java.home"), "bin", "java").toString();
    var parent = new ProcessBuilder(java, "-cp", System.getProperty("java.class.path"), Parent.class.getName())
        .redirectError(ProcessBuilder.Redirect.INHERIT).start();
    var state = folderOf(new BufferedReader(new InputStreamReader(parent.getInputStream())).readLine());
    var children = parent.descendants().toList();
    assertTrue(Files.exists(state) && children.size() >= 2);
    parent.destroyForcibly();
    var end = System.nanoTime() + Duration.ofSeconds(20).toNanos();
    while (Files.exists(state) || children.stream().anyMatch(ProcessHandle::isAlive)) {
      assertTrue(System.nanoTime() < end, state + " or a process is there");
      Thread.sleep(20);
    }
  }
}
