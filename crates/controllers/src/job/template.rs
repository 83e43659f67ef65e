//! The pods of a Job.

use coracle_api::batch_v1::Job;
use coracle_api::core_v1::{EnvVar, EnvVarSource, ObjectFieldSelector, Pod};
use coracle_controller_runtime::ReconcileError;

use super::pod::{FAILURES, FINALIZER, IGNORED_FAILURES, INDEX, failures_before, is_indexed};
use super::policy::verdict;
use crate::pods::new_pod;

/// The environment variable with a container's index.
const INDEX_VARIABLE: &str = "JOB_COMPLETION_INDEX";

/// The maximum length of a name before its generated suffix. In Kubernetes: `names.MaxGeneratedNameLength`.
const LONGEST_PREFIX: usize = 58;

/// The pod of a Job without an index, for [`with_index`].
pub(super) fn job_pod(job: &Job) -> Result<Pod, ReconcileError> {
    let mut pod = new_pod(job, &job.spec.template)?;
    if !pod.metadata.finalizers.iter().any(|finalizer| finalizer == FINALIZER) {
        pod.metadata.finalizers.push(FINALIZER.to_owned());
    }
    if is_indexed(job) {
        let containers = pod.spec.init_containers.iter_mut().chain(&mut pod.spec.containers);
        for container in containers.filter(|container| !container.env.iter().any(|one| one.name == INDEX_VARIABLE)) {
            container.env.push(index_variable());
        }
    }
    Ok(pod)
}

fn index_variable() -> EnvVar {
    let field =
        ObjectFieldSelector { field_path: format!("metadata.labels['{INDEX}']"), ..ObjectFieldSelector::default() };
    let source = EnvVarSource { field_ref: Some(Box::new(field)), ..EnvVarSource::default() };
    EnvVar { name: INDEX_VARIABLE.to_owned(), value_from: Some(Box::new(source)), ..EnvVar::default() }
}

/// The pod for one index; with a limit per index, it continues the failure count of the pod that it replaces.
pub(super) fn with_index(mut pod: Pod, job: &Job, index: u64, replaced: Option<&Pod>) -> Pod {
    let name = job.metadata.name.as_deref().unwrap_or_default();
    let suffix = format!("-{index}-");
    let prefix = name.get(..LONGEST_PREFIX.saturating_sub(suffix.len())).unwrap_or(name);
    pod.metadata.generate_name = Some(format!("{prefix}{suffix}"));
    pod.metadata.labels.insert(INDEX.to_owned(), index.to_string());
    pod.metadata.annotations.insert(INDEX.to_owned(), index.to_string());
    pod.spec.hostname = format!("{name}-{index}");
    if job.spec.backoff_limit_per_index.is_some() {
        let (counted, ignored) = replaced.map_or((0, 0), |pod| {
            let (counted, ignored) = failures_before(pod);
            if verdict(job, pod).counts() {
                (counted.saturating_add(1), ignored)
            } else {
                (counted, ignored.saturating_add(1))
            }
        });
        pod.metadata.annotations.insert(FAILURES.to_owned(), counted.to_string());
        if ignored > 0 {
            pod.metadata.annotations.insert(IGNORED_FAILURES.to_owned(), ignored.to_string());
        }
    }
    pod
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(name: &str) -> Job {
        let mut job = Job::default();
        job.metadata.name = Some(name.to_owned());
        job.spec.completion_mode = Some("Indexed".to_owned());
        job.spec.template.metadata.labels.insert("app".to_owned(), "work".to_owned());
        job.spec.template.spec.containers = vec![Default::default(), Default::default()];
        job.spec.template.spec.containers[1].env =
            vec![EnvVar { name: INDEX_VARIABLE.to_owned(), value: "mine".to_owned(), ..EnvVar::default() }];
        job
    }

    #[test]
    fn a_pod_knows_its_index_by_label_annotation_host_name_and_variable() {
        let job = job("work");
        let pod = with_index(job_pod(&job).unwrap(), &job, 7, None);
        assert_eq!(pod.metadata.generate_name.as_deref(), Some("work-7-"));
        assert_eq!((pod.metadata.labels[INDEX].as_str(), pod.metadata.annotations[INDEX].as_str()), ("7", "7"));
        assert_eq!(pod.spec.hostname, "work-7");
        assert_eq!(pod.metadata.finalizers, [FINALIZER]);
        let field = pod.spec.containers[0].env[0].value_from.as_ref().unwrap().field_ref.as_ref().unwrap();
        assert_eq!(field.field_path, "metadata.labels['batch.kubernetes.io/job-completion-index']");
        assert_eq!(pod.spec.containers[1].env[0].value, "mine", "one that is set stays");
        let long = self::job(&"x".repeat(63));
        let pod = with_index(job_pod(&long).unwrap(), &long, 12, None);
        assert_eq!(pod.metadata.generate_name.unwrap().len(), LONGEST_PREFIX);
    }

    #[test]
    fn the_count_of_an_index_goes_from_pod_to_pod() {
        let mut job = job("work");
        job.spec.backoff_limit_per_index = Some(3);
        let first = with_index(job_pod(&job).unwrap(), &job, 0, None);
        assert_eq!(first.metadata.annotations[FAILURES], "0");
        let mut second = with_index(job_pod(&job).unwrap(), &job, 0, Some(&first));
        assert_eq!(second.metadata.annotations[FAILURES], "1");
        second.metadata.annotations.insert(FAILURES.to_owned(), "many".to_owned());
        let third = with_index(job_pod(&job).unwrap(), &job, 0, Some(&second));
        assert_eq!(third.metadata.annotations[FAILURES], "1", "what cannot be read is none");
    }
}
