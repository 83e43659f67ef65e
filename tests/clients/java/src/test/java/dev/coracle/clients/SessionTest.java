package dev.coracle.clients;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fabric8.kubernetes.api.model.ConfigMap;
import io.fabric8.kubernetes.api.model.ConfigMapBuilder;
import io.fabric8.kubernetes.api.model.GenericKubernetesResource;
import io.fabric8.kubernetes.api.model.NamespaceBuilder;
import io.fabric8.kubernetes.api.model.apiextensions.v1.CustomResourceDefinition;
import io.fabric8.kubernetes.api.model.apps.DeploymentBuilder;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientBuilder;
import io.fabric8.kubernetes.client.KubernetesClientException;
import io.fabric8.kubernetes.client.Watcher;
import io.fabric8.kubernetes.client.WatcherException;
import io.fabric8.kubernetes.client.dsl.base.PatchContext;
import io.fabric8.kubernetes.client.dsl.base.PatchType;
import io.fabric8.kubernetes.client.dsl.base.ResourceDefinitionContext;
import io.fabric8.kubernetes.client.extended.leaderelection.LeaderCallbacks;
import io.fabric8.kubernetes.client.extended.leaderelection.LeaderElectionConfigBuilder;
import io.fabric8.kubernetes.client.extended.leaderelection.resourcelock.LeaseLock;
import io.fabric8.kubernetes.client.informers.ResourceEventHandler;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** What fabric8's client does with a cluster: every claim is a test's name. The cluster is the one of KUBECONFIG. */
class SessionTest {
  private static KubernetesClient client;
  private static String namespace;

  @BeforeAll
  static void connect() {
    client = new KubernetesClientBuilder().build();
    var wanted = new NamespaceBuilder().withNewMetadata().withGenerateName("java-").endMetadata().build();
    namespace = client.namespaces().resource(wanted).create().getMetadata().getName();
  }

  @AfterAll
  static void leave() {
    client.namespaces().withName(namespace).delete();
    client.close();
  }

  private static ConfigMap configMap(String name, Map<String, String> data) {
    return new ConfigMapBuilder().withNewMetadata().withName(name).withNamespace(namespace).addToLabels("app", name).endMetadata().withData(data).build();
  }

  private static void refused(int code, org.junit.jupiter.api.function.Executable call) {
    assertEquals(code, assertThrows(KubernetesClientException.class, call).getCode());
  }

  private static <T> T next(BlockingQueue<T> queue) throws InterruptedException {
    return queue.poll(30, TimeUnit.SECONDS);
  }

  @Test
  void anObjectLivesThroughEveryVerbWhileAWatchLooksOn() throws Exception {
    var seen = new LinkedBlockingQueue<Watcher.Action>();
    var maps = client.configMaps().inNamespace(namespace);
    var watch = maps.withLabel("app", "m").watch(new Watcher<ConfigMap>() {
      @Override
      public void eventReceived(Action action, ConfigMap object) {
        seen.add(action);
      }

      @Override
      public void onClose(WatcherException cause) {
        throw new IllegalStateException(cause);
      }
    });
    var made = maps.resource(configMap("m", Map.of("a", "1"))).create();
    refused(409, () -> maps.resource(configMap("m", Map.of())).create());
    made.getData().put("a", "2");
    maps.resource(made).update();
    refused(409, () -> maps.resource(made).update());
    var one = maps.withName("m");
    one.patch(PatchContext.of(PatchType.JSON), "[{\"op\":\"add\",\"path\":\"/data/json\",\"value\":\"y\"}]");
    one.patch(PatchContext.of(PatchType.JSON_MERGE), "{\"data\":{\"merge\":\"y\",\"a\":null}}");
    one.patch(PatchContext.of(PatchType.STRATEGIC_MERGE), "{\"data\":{\"strategic\":\"y\"}}");
    var applied = maps.resource(configMap("m", Map.of("applied", "y"))).serverSideApply();
    assertEquals(Map.of("json", "y", "merge", "y", "strategic", "y", "applied", "y"), applied.getData());
    assertEquals(1, maps.withField("metadata.name", "m").list().getItems().size());
    assertEquals(1, one.delete().size());
    assertNull(one.get());
    for (var action : List.of("ADDED", "MODIFIED", "MODIFIED", "MODIFIED", "MODIFIED", "MODIFIED", "DELETED")) {
      assertEquals(action, next(seen).name());
    }
    watch.close();
  }

  @Test
  void twoAppliersMeetInConflictAndOneForcesItsWay() {
    var maps = client.configMaps().inNamespace(namespace);
    maps.resource(configMap("applied", Map.of("a", "1"))).fieldManager("one").serverSideApply();
    var other = maps.resource(configMap("applied", Map.of("a", "2"))).fieldManager("two");
    refused(409, other::serverSideApply);
    assertEquals("2", other.forceConflicts().serverSideApply().getData().get("a"));
  }

  @Test
  void anInformerFollowsWhatIsWritten() throws Exception {
    var maps = client.configMaps().inNamespace(namespace);
    var told = new LinkedBlockingQueue<String>();
    maps.resource(configMap("i", Map.of("a", "1"))).create();
    var informer = maps.withLabel("app", "i").inform(new ResourceEventHandler<ConfigMap>() {
      @Override
      public void onAdd(ConfigMap object) {
        told.add("added");
      }

      @Override
      public void onUpdate(ConfigMap before, ConfigMap after) {
        told.add("updated");
      }

      @Override
      public void onDelete(ConfigMap object, boolean unknown) {
        told.add("deleted");
      }
    });
    assertTrue(informer.hasSynced());
    maps.withName("i").edit(map -> new ConfigMapBuilder(map).addToData("b", "2").build());
    maps.withName("i").delete();
    for (var event : List.of("added", "updated", "deleted")) {
      assertEquals(event, next(told));
    }
    informer.close();
  }

  @Test
  void aDeploymentRunsScalesAndLogs() {
    var labels = Map.of("app", "web");
    var deployments = client.apps().deployments().inNamespace(namespace);
    deployments.resource(new DeploymentBuilder().withNewMetadata().withName("web").endMetadata().withNewSpec().withReplicas(2)
        .withNewSelector().withMatchLabels(labels).endSelector()
        .withNewTemplate().withNewMetadata().withLabels(labels).endMetadata()
        .withNewSpec().addNewContainer().withName("c").withImage("nginx").endContainer().endSpec().endTemplate()
        .endSpec().build()).create();
    var web = deployments.withName("web");
    web.waitUntilCondition(found -> Integer.valueOf(2).equals(found.getStatus().getReadyReplicas()), 30, TimeUnit.SECONDS);
    var pods = client.pods().inNamespace(namespace).withLabels(labels);
    assertEquals(2, pods.list().getItems().size());
    assertFalse(client.pods().resource(pods.list().getItems().get(0)).getLog().isEmpty());
    web.scale(0);
    client.pods().inNamespace(namespace).withLabels(labels).informOnCondition(List::isEmpty).orTimeout(30, TimeUnit.SECONDS).join();
    web.withTimeout(30, TimeUnit.SECONDS).delete();
  }

  @Test
  void aCustomKindIsDefinedAndWritten() {
    var definition = client.getKubernetesSerialization().unmarshal("""
        apiVersion: apiextensions.k8s.io/v1
        kind: CustomResourceDefinition
        metadata: {name: widgets.java.example.com}
        spec:
          group: java.example.com
          scope: Namespaced
          names: {plural: widgets, kind: Widget}
          versions:
          - name: v1
            served: true
            storage: true
            schema:
              openAPIV3Schema:
                type: object
                properties: {spec: {type: object, properties: {size: {type: integer, default: 3}}}}
        """, CustomResourceDefinition.class);
    var definitions = client.apiextensions().v1().customResourceDefinitions();
    definitions.resource(definition).create();
    definitions.withName("widgets.java.example.com").waitUntilCondition(found -> found.getStatus() != null
        && found.getStatus().getConditions().stream().anyMatch(c -> c.getType().equals("Established") && c.getStatus().equals("True")), 30, TimeUnit.SECONDS);
    var context = new ResourceDefinitionContext.Builder().withGroup("java.example.com").withVersion("v1").withKind("Widget").withPlural("widgets").withNamespaced(true).build();
    var widgets = client.genericKubernetesResources(context).inNamespace(namespace);
    var widget = client.getKubernetesSerialization().unmarshal("""
        apiVersion: java.example.com/v1
        kind: Widget
        metadata: {name: w}
        spec: {}
        """, GenericKubernetesResource.class);
    assertEquals(Integer.valueOf(3), widgets.resource(widget).create().get("spec", "size"));
    assertEquals(1, widgets.list().getItems().size());
    widgets.withName("w").delete();
    definitions.withName("widgets.java.example.com").delete();
  }

  @Test
  void leadershipPassesFromOneCandidateToTheNext() throws Exception {
    var leading = new LinkedBlockingQueue<String>();
    var first = candidate("first", leading);
    assertEquals("first", next(leading));
    var second = candidate("second", leading);
    first.cancel(true);
    assertEquals("second", next(leading));
    assertEquals("second", client.leases().inNamespace(namespace).withName("lead").get().getSpec().getHolderIdentity());
    second.cancel(true);
  }

  private static CompletableFuture<?> candidate(String name, BlockingQueue<String> leading) {
    return client.leaderElector().withConfig(new LeaderElectionConfigBuilder()
        .withName("lead").withLock(new LeaseLock(namespace, "lead", name)).withReleaseOnCancel(true)
        .withLeaseDuration(Duration.ofSeconds(3)).withRenewDeadline(Duration.ofSeconds(2)).withRetryPeriod(Duration.ofMillis(200))
        .withLeaderCallbacks(new LeaderCallbacks(() -> leading.add(name), () -> { }, leader -> { }))
        .build()).build().start();
  }
}
