package dev.coracle.testing;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fabric8.kubernetes.api.model.ConfigMap;
import io.fabric8.kubernetes.api.model.ConfigMapBuilder;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.PodBuilder;
import io.fabric8.kubernetes.api.model.apps.DeploymentBuilder;
import io.fabric8.kubernetes.client.Config;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientBuilder;
import io.fabric8.kubernetes.client.KubernetesClientException;
import java.io.ByteArrayInputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Base64;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.regex.Pattern;
import java.util.zip.GZIPInputStream;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What an injected cluster offers, with fabric8's client: every claim is a test's name. */
@CoracleCluster
class ClusterTest {
  private static final Duration MINUTE = Duration.ofMinutes(1);

  static KubernetesClient client(Coracle coracle) {
    // No retries: a refused request is what a test asks for.
    var config = Config.fromKubeconfig(coracle.kubeconfigText());
    config.setRequestRetryBackoffLimit(0);
    return new KubernetesClientBuilder().withConfig(config).build();
  }

  private static ConfigMap configMap(String name) {
    return new ConfigMapBuilder().withNewMetadata().withName(name).withNamespace("default").endMetadata().build();
  }

  private static void createMap(Coracle coracle, String name) {
    try (var client = client(coracle)) {
      client.resource(configMap(name)).create();
    }
  }

  private static Set<String> maps(Coracle coracle) {
    try (var client = client(coracle)) {
      var names = new HashSet<String>();
      client.configMaps().inNamespace("default").list().getItems().forEach(map -> names.add(map.getMetadata().getName()));
      names.remove("kube-root-ca.crt");
      return names;
    }
  }

  private static Pod pod() {
    return new PodBuilder().withNewMetadata().withName("web").withNamespace("default").endMetadata()
        .withNewSpec().addNewContainer().withName("c").withImage("nginx").endContainer().endSpec().build();
  }

  private static Map<String, Object> named(String kind, String apiVersion, Map<String, Object> status) {
    return Map.of("apiVersion", apiVersion, "kind", kind, "metadata", Map.of("name", "web", "namespace", "default"), "status", status);
  }

  @Test
  @CoracleCluster(nodes = 0)
  void theClockStandsStillAndAdvancesByADurationOrAText(Coracle coracle) {
    var before = coracle.clock().now();
    assertEquals(before, coracle.clock().now());
    coracle.clock().advance(Duration.ofHours(24));
    assertEquals(before.plus(Duration.ofHours(25)), coracle.clock().advance("1h"));
  }

  @Test
  void settleRunsAPod(Coracle coracle) {
    try (var client = client(coracle)) {
      client.resource(pod()).create();
      assertTrue(coracle.settle().revision() > 0);
      assertEquals("Running", client.resource(pod()).get().getStatus().getPhase());
    }
  }

  @Test
  void untilTakesAMapAModelOrAText(Coracle coracle) {
    try (var client = client(coracle)) {
      client.resource(pod()).create();
      assertTrue(coracle.clock().until(named("Pod", "v1", Map.of("phase", "Running")), MINUTE).compareTo(MINUTE) < 0);
      var model = new PodBuilder().withNewMetadata().withName("web").withNamespace("default").endMetadata()
          .withNewStatus().withPhase("Running").endStatus().build();
      assertEquals(Duration.ZERO, coracle.clock().until(model, MINUTE));
      client.resource(pod()).delete();
      var text = "{\"apiVersion\": \"v1\", \"kind\": \"Pod\", \"metadata\": {\"name\": \"web\", \"namespace\": \"default\"}}";
      coracle.clock().untilAbsent(text, Duration.ofMinutes(5));
      assertEquals(List.of(), client.pods().inNamespace("default").list().getItems());
    }
  }

  @Test
  void untilNamesWhatItFound(Coracle coracle) {
    var error = assertThrows(CoracleException.NotMet.class, () -> coracle.clock().until(pod(), MINUTE));
    assertEquals("not within 1m0s: expected Pod web in default; found no such object", error.getMessage());
  }

  @Test
  void aDeploymentBecomesAvailableWhileAnInformerSeesItsPods(Coracle coracle) {
    var labels = Map.of("app", "web");
    var names = ConcurrentHashMap.<String>newKeySet();
    try (var client = client(coracle); var watch = client.pods().inNamespace("default").watch(new Names(names))) {
      var deployment = new DeploymentBuilder().withNewMetadata().withName("web").withNamespace("default").endMetadata()
          .withNewSpec().withReplicas(3).withNewSelector().withMatchLabels(labels).endSelector()
          .withNewTemplate().withNewMetadata().withLabels(labels).endMetadata().withSpec(pod().getSpec()).endTemplate().endSpec().build();
      client.resource(deployment).create();
      coracle.clock().until(named("Deployment", "apps/v1", Map.of("availableReplicas", 3)), Duration.ofMinutes(5));
      coracle.until(() -> names.size() == 3, Duration.ofSeconds(30));
      assertTrue(coracle.why("pod/default/" + names.iterator().next()).contains("controller-manager/replicaset"));
      assertTrue(coracle.why(deployment).contains("kubernetes-admin"));
    }
  }

  private record Names(Set<String> names) implements io.fabric8.kubernetes.client.Watcher<Pod> {
    @Override
    public void eventReceived(Action action, Pod pod) {
      names.add(pod.getMetadata().getName());
    }

    @Override
    public void onClose(io.fabric8.kubernetes.client.WatcherException cause) {}
  }

  @RepeatedTest(2)
  void eachTestStartsWithTheSameCluster(Coracle coracle) {
    assertEquals(Set.of(), maps(coracle));
    assertEquals(List.of("start"), coracle.snapshots().stream().map(Coracle.Snapshot::name).toList());
    createMap(coracle, "left");
    coracle.snapshot("left");
    coracle.fault("{do: {lag: 5s, kind: Pod, to: nothing}}");
    coracle.fork();
  }

  @Test
  void aResetReturnsToASnapshotAtAHigherRevision(Coracle coracle) {
    createMap(coracle, "kept");
    var kept = coracle.snapshot("kept");
    createMap(coracle, "lost");
    assertTrue(coracle.reset("kept") > kept.revision());
    assertEquals(Set.of("kept"), maps(coracle));
  }

  @Test
  void aForkHasAClockAndObjectsOfItsOwn(Coracle coracle) {
    createMap(coracle, "both");
    try (var fork = coracle.fork()) {
      createMap(fork, "fork");
      fork.clock().advance(Duration.ofMinutes(10));
      assertEquals(Set.of("both", "fork"), maps(fork));
      assertEquals(Set.of("both"), maps(coracle));
      assertTrue(Duration.between(coracle.clock().now(), fork.clock().now()).compareTo(Duration.ofMinutes(10)) >= 0);
      fork.close();
      assertFalse(Files.exists(fork.kubeconfig()));
      assertThrows(CoracleException.Start.class, () -> fork.clock().now());
    }
  }

  @Test
  void aFaultStrikesUntilItIsClosed(Coracle coracle) {
    try (var fault = coracle.fault("{when: {by: fabric8-kubernetes-client, verb: create, resource: configmaps}, do: {refuse: 503}}")) {
      var refused = assertThrows(KubernetesClientException.class, () -> createMap(coracle, "a"));
      assertEquals(503, refused.getCode());
      assertEquals(1, fault.struck());
    }
    createMap(coracle, "a");
    assertEquals(Set.of("a"), maps(coracle));
    assertTrue(coracle.faults().isEmpty());
  }

  @Test
  void aFaultWithAnUnknownWordNamesIt(Coracle coracle) {
    var error = assertThrows(CoracleException.Api.class, () -> coracle.fault(Map.of("do", Map.of("loose", "answer"))));
    assertEquals(422, error.code());
    assertTrue(error.getMessage().contains("loose"), error.getMessage());
  }

  @Test
  void checkDecidesClaims(Coracle coracle) {
    var checked = coracle.check("nodes.size() == 2", Map.of("name", "a pod", "cel", "pods.size() == 1"));
    assertFalse(checked.holds());
    assertEquals(List.of(true, false), checked.claims().stream().map(Coracle.Claim::holds).toList());
  }

  @Test
  void reportWritesAPage(Coracle coracle, @TempDir Path folder) throws Exception {
    createMap(coracle, "on-the-page");
    assertTrue(runOf(coracle.report(folder.resolve("pages").resolve("run.html"))).contains("on-the-page"));
    assertTrue(coracle.events().stream().anyMatch(line -> line.contains("configmaps/default/on-the-page")));
  }

  static String runOf(Path page) throws Exception {
    var run = Pattern.compile("<script id=\"run\"[^>]*>([^<]+)").matcher(Files.readString(page));
    assertTrue(run.find());
    try (var text = new GZIPInputStream(new ByteArrayInputStream(Base64.getDecoder().decode(run.group(1))))) {
      return new String(text.readAllBytes());
    }
  }

  @Test
  @CoracleCluster(nodes = 1, kubernetes = "1.36")
  void theAnnotationOfAMethodSelectsNodesAndARelease(Coracle coracle) {
    assertEquals("1.36", coracle.info().get("kubernetes").asText());
    assertTrue(coracle.check("nodes.size() == 1").holds());
  }

  @Test
  @CoracleCluster(nodes = 1, time = "real")
  void inRealTimeTheNodesAreReadyAndTheClockCannotBeAdvanced(Coracle coracle) {
    try (var client = client(coracle)) {
      var conditions = client.nodes().list().getItems().get(0).getStatus().getConditions();
      assertTrue(conditions.stream().anyMatch(found -> found.getType().equals("Ready") && found.getStatus().equals("True")));
    }
    assertEquals(409, assertThrows(CoracleException.Api.class, () -> coracle.clock().advance("1h")).code());
  }
}
