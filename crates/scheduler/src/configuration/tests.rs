use proptest::prelude::*;

use super::*;
use crate::profile::Profile;

const HEAD: &str = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n";

fn read(text: &str) -> Result<Configuration, String> {
    Configuration::read("s.yaml", &format!("{HEAD}{text}")).map_err(|error| error.to_string())
}

fn profile(text: &str) -> std::sync::Arc<Profile> {
    read(text).unwrap().config.profiles[0].clone()
}

fn filters(profile: &Profile) -> Vec<&'static str> {
    profile.filters.iter().map(|filter| filter.name()).collect()
}

fn scores(profile: &Profile) -> Vec<(&'static str, i64)> {
    profile.scores.iter().map(|(score, weight)| (score.name(), *weight)).collect()
}

#[test]
fn a_file_that_says_nothing_is_the_default() {
    let read = read("").unwrap();
    let (given, default) = (&read.config.profiles[0], Profile::default());
    assert_eq!(given.name, "default-scheduler");
    assert_eq!((filters(given), scores(given)), (filters(&default), scores(&default)));
    assert_eq!((read.config.backoff, read.config.leader_election), (Backoff::default(), None));
    assert_eq!(read.leader_election, Some(LeaderTimings::default()), "Kubernetes' scheduler stands for election");
    assert!(read.notes.is_empty());
}

#[test]
fn everything_that_is_wrong_is_said_with_its_line_and_path() {
    let wrong = "parallelism: 0\nextenders:\n- {urlPrefix: 'http://x'}\nprofiles:\n- plugins:\n    filter:\n      enabled:\n      - name: Coscheduling\n  plugInConfig: []\n";
    assert_eq!(
        read(wrong).unwrap_err(),
        "s.yaml:3: parallelism: Invalid value: 0: should be an integer value greater than zero\n\
         s.yaml:5: extenders[0]: extenders are not built\n\
         s.yaml:10: profiles[0].plugins.filter.enabled[0]: plugin \"Coscheduling\" does not exist; plug-ins from elsewhere are not built\n\
         s.yaml:11: profiles[0].plugInConfig: unknown field"
    );
    let unread = Configuration::read("s.yaml", "a: [\n").unwrap_err().to_string();
    assert!(unread.starts_with("s.yaml:"), "{unread}");
    let other = Configuration::read("s.yaml", "apiVersion: v1\nkind: Pod\n").unwrap_err().to_string();
    assert!(other.contains("s.yaml:1: apiVersion: Invalid value: \"v1\": must be kubescheduler"), "{other}");
    let twice = read("parallelism: 1\nparallelism: 2\n").unwrap_err();
    assert!(twice.starts_with("s.yaml:"), "{twice}");
}

#[test]
fn plug_ins_are_turned_off_and_on_by_point_and_everywhere() {
    let given = profile(
        "profiles:\n- plugins:\n    score:\n      disabled: [{name: ImageLocality}]\n      enabled: [{name: NodeResourcesFit, weight: 5}]\n",
    );
    let expected = [
        ("NodeResourcesFit", 5),
        ("TaintToleration", 3),
        ("NodeAffinity", 2),
        ("VolumeBinding", 1),
        ("PodTopologySpread", 2),
        ("InterPodAffinity", 2),
        ("DynamicResources", 2),
        ("NodeResourcesBalancedAllocation", 1),
    ];
    assert_eq!(scores(&given), expected, "what a point reconfigures comes first");
    let only = "profiles:\n- plugins:\n    multiPoint:\n      disabled: [{name: '*'}]\n      enabled: [{name: DefaultBinder}, {name: PrioritySort}, {name: NodeResourcesFit, weight: 7}]\n";
    let given = profile(only);
    assert_eq!((filters(&given), scores(&given)), (vec!["NodeResourcesFit"], vec![("NodeResourcesFit", 7)]));
    assert!(given.preemption.is_none() && !given.deallocates && !given.heeds_gates);
    let everywhere = profile(
        "profiles:\n- plugins: {multiPoint: {enabled: [{name: TaintToleration, weight: 9}], disabled: [{name: NodePorts}]}}\n",
    );
    assert_eq!(scores(&everywhere)[0], ("TaintToleration", 9));
    assert!(!filters(&everywhere).contains(&"NodePorts"));
}

#[test]
fn invalid_sets_of_plugins_are_refused() {
    for (plugins, why) in [
        ("{bind: {disabled: [{name: DefaultBinder}]}}", "at least one bind plugin is needed"),
        ("{queueSort: {disabled: [{name: '*'}]}}", "one queue sort plugin is required, and there are 0"),
        ("{filter: {disabled: [{name: NodePorts}]}}", "NodePorts: preFilter and filter are one thing here"),
        (
            "{preScore: {disabled: [{name: InterPodAffinity}]}}",
            "InterPodAffinity: score does not work without preScore",
        ),
        ("{filter: {enabled: [{name: ImageLocality}]}}", "plugin \"ImageLocality\" does not extend filter"),
        ("{score: {enabled: [{name: ImageLocality}, {name: ImageLocality}]}}", "already registered"),
        ("{filter: {enabled: [{name: EBSLimits}]}}", "was invalid in version"),
        ("{multiPoint: {enabled: [{name: GangScheduling}]}}", "off by default in Kubernetes"),
    ] {
        let said = read(&format!("profiles:\n- plugins: {plugins}\n")).unwrap_err();
        assert!(said.contains(why), "{plugins}: {said}");
    }
}

#[test]
fn profiles_have_names_of_their_own() {
    let two = read("percentageOfNodesToScore: 30\nprofiles:\n- schedulerName: a\n- {schedulerName: b, percentageOfNodesToScore: 70}\n").unwrap();
    let shown: Vec<_> =
        two.config.profiles.iter().map(|one| (one.name.as_str(), one.percentage_of_nodes_to_score)).collect();
    assert_eq!(shown, [("a", 30), ("b", 70)]);
    let twice = read("profiles:\n- schedulerName: a\n- schedulerName: a\n").unwrap_err();
    assert_eq!(twice, "s.yaml:5: profiles[1].schedulerName: Duplicate value: \"profiles[0].schedulerName\"");
    let nameless = read("profiles:\n- schedulerName: a\n- {}\n").unwrap_err();
    assert_eq!(nameless, "s.yaml:5: profiles[1].schedulerName: Required value");
}

#[test]
fn arguments_reach_their_plug_ins() {
    let text = "profiles:\n- pluginConfig:\n  - name: NodeResourcesFit\n    args:\n      scoringStrategy:\n        type: RequestedToCapacityRatio\n        resources: [{name: example.com/gpu, weight: 3}]\n        requestedToCapacityRatio: {shape: [{utilization: 0, score: 0}, {utilization: 100, score: 10}]}\n  - name: InterPodAffinity\n    args: {hardPodAffinityWeight: 42, ignorePreferredTermsOfExistingPods: true}\n  - name: DefaultPreemption\n    args: {apiVersion: kubescheduler.config.k8s.io/v1, kind: DefaultPreemptionArgs, minCandidateNodesPercentage: 5}\n  - name: VolumeBinding\n    args: {bindTimeoutSeconds: 60}\n  - name: PodTopologySpread\n    args: {defaultingType: List, defaultConstraints: [{maxSkew: 2, topologyKey: zone, whenUnsatisfiable: DoNotSchedule}]}\n  - name: NodeAffinity\n    args: {addedAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: disk, operator: In, values: [ssd]}]}]}}}\n";
    let given = profile(text);
    assert_eq!(given.volume_binding.timeout, Duration::from_secs(60));
    assert_eq!(given.preemption.as_ref().map(|one| (one.percentage, one.absolute)), Some((5, 100)));
    let shown = format!("{given:?}");
    for part in ["RequestedToCapacityRatio(Shape([(0, 0), (100, 100)]))", "hard_weight: 42", "max_skew: 2", "\"ssd\""] {
        assert!(shown.contains(part), "{part} in {shown}");
    }
}

#[test]
fn arguments_are_checked_as_in_kubernetes() {
    for (name, args, why) in [
        ("NodeResourcesFit", "{scoringStrategy: {type: Best}}", "Unsupported value: \"Best\""),
        ("NodeResourcesFit", "{ignoredResourceGroups: [a/b]}", "can't contain '/'"),
        (
            "NodeResourcesFit",
            "{scoringStrategy: {type: MostAllocated, resources: [{name: cpu, weight: 101}]}}",
            "(0, 100]",
        ),
        ("NodeResourcesFit", "{scoringStrategy: {type: RequestedToCapacityRatio}}", "Required value"),
        ("NodeResourcesBalancedAllocation", "{resources: [{name: cpu, weight: 2}]}", "must be 1"),
        ("InterPodAffinity", "{hardPodAffinityWeight: 101}", "not in valid range [0, 100]"),
        ("DefaultPreemption", "{minCandidateNodesPercentage: 0, minCandidateNodesAbsolute: 0}", "cannot be zero"),
        (
            "PodTopologySpread",
            "{defaultConstraints: [{maxSkew: 1, topologyKey: a, whenUnsatisfiable: DoNotSchedule}]}",
            "when .defaultConstraints",
        ),
        ("PodTopologySpread", "{defaultingType: List, defaultConstraints: [{}]}", "maxSkew"),
        ("VolumeBinding", "{bindTimeoutSeconds: -1}", "negative"),
        ("VolumeBinding", "{shape: []}", "StorageCapacityScoring"),
        ("DynamicResources", "{bindingTimeout: 5s}", "Forbidden"),
        (
            "NodeAffinity",
            "{addedAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: a, operator: In}]}]}}}",
            "can't be empty",
        ),
        ("NodeAffinity", "{kind: NodeNameArgs}", "must be NodeAffinityArgs"),
        ("NodeName", "{a: 1}", "takes no arguments"),
        ("Mine", "{a: 1}", "does not exist"),
    ] {
        let said = read(&format!("profiles:\n- pluginConfig:\n  - name: {name}\n    args: {args}\n")).unwrap_err();
        assert!(said.contains(why), "{name} {args}: {said}");
    }
}

#[test]
fn election_and_back_off_are_checked() {
    let told =
        read("leaderElection: {leaderElect: true, leaseDuration: 60s, resourceName: mine}\npodMaxBackoffSeconds: 3\n")
            .unwrap();
    assert_eq!(told.config.leader_election.map(|timings| timings.lease), Some(Duration::from_secs(60)));
    assert_eq!((told.config.lease.name.as_str(), told.config.backoff.longest), ("mine", Duration::from_secs(3)));
    assert_eq!(read("leaderElection: {leaderElect: false}\n").unwrap().leader_election, None);
    for wrong in [
        "leaderElection: {leaseDuration: 5s}\n",
        "leaderElection: {resourceLock: endpoints}\n",
        "podInitialBackoffSeconds: 20\n",
        "podInitialBackoffSeconds: 0\n",
        "percentageOfNodesToScore: 101\n",
    ] {
        assert!(read(wrong).unwrap_err().contains("Invalid value"), "{wrong}");
    }
}

#[test]
fn settings_without_effect_are_noted() {
    let notes = read("parallelism: 16\nclientConnection: {kubeconfig: /a, qps: 5}\n").unwrap();
    assert_eq!((notes.kubeconfig.as_deref(), notes.notes.len()), (Some("/a"), 2));
    assert_eq!(notes.notes[0], "s.yaml:3: parallelism: has no meaning here: one thread decides");
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(text in "[ -~\n]{0,200}", words in proptest::collection::vec(
        proptest::sample::select(vec!["profiles:", "- ", "  ", "plugins:", "{", "}", "[", "]", "name: ", "args:", "\n", "1", "score:", "enabled:", "NodeAffinity", "null", "&a ", "*a"]), 0..40)) {
        let _ = read(&text);
        let _ = read(&words.concat());
    }
}
