package dev.coracle.testing;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.platform.engine.discovery.DiscoverySelectors.selectClass;

import io.fabric8.kubernetes.api.model.NamespaceBuilder;
import java.nio.file.Path;
import java.util.Arrays;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.testkit.engine.EngineTestKit;
import org.junit.platform.testkit.engine.Event;

/** The extension in a JUnit of its own: every claim is a test's name. */
class ExtensionTest {
  @CoracleCluster(nodes = 0, reports = "target/failing-reports")
  static class Failing {
    @Test
    void fails(Coracle coracle) {
      try (var client = ClusterTest.client(coracle)) {
        client.resource(new NamespaceBuilder().withNewMetadata().withName("the-last-one").endMetadata().build()).create();
      }
      assertEquals(1, 2);
    }
  }

  @CoracleCluster(nodes = 0)
  static class Shared {
    static Coracle first;

    @BeforeAll
    static void keep(Coracle coracle) {
      first = coracle;
    }

    @Nested
    class Inner {
      @Test
      void hasTheSameServer(Coracle coracle) {
        assertSame(first, coracle);
      }
    }
  }

  @Test
  void aFailureHasThePathOfThePageOfItsRun() throws Exception {
    var events = EngineTestKit.engine("junit-jupiter").selectors(selectClass(Failing.class)).execute().testEvents();
    var failure = events.failed().stream().findFirst().flatMap(event -> event.getPayload(TestExecutionResult.class)).orElseThrow().getThrowable().orElseThrow();
    assertTrue(failure.getMessage().contains("expected: <1> but was: <2>"), failure.toString());
    var page = Arrays.stream(failure.getSuppressed()).map(Throwable::getMessage).filter(text -> text.startsWith("the page of the run: ")).findFirst().orElseThrow();
    assertTrue(ClusterTest.runOf(Path.of(page.substring("the page of the run: ".length()))).contains("the-last-one"));
    assertTrue(page.contains("target/failing-reports"), page);
  }

  @Test
  void aNestedClassAndBeforeAllHaveTheServerOfTheEnclosingClass() {
    var events = EngineTestKit.engine("junit-jupiter").selectors(selectClass(Shared.class), selectClass(Shared.Inner.class)).execute().testEvents();
    assertEquals(1, events.succeeded().count(), () -> events.failed().stream().map(Event::toString).toList().toString());
  }

  @Test
  void theServerStopsAfterTheLastTest() {
    EngineTestKit.engine("junit-jupiter").selectors(selectClass(Shared.class), selectClass(Shared.Inner.class)).execute();
    var error = org.junit.jupiter.api.Assertions.assertThrows(CoracleException.Start.class, () -> Shared.first.clock().now());
    assertTrue(error.getMessage().endsWith("it was stopped"), error.getMessage());
  }
}
