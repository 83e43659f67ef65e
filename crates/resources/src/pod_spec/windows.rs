//! Windows options of pods. In Kubernetes: `validateWindowsSecurityContextOptions`,
//! `validateWindowsHostProcessPod`.

use coracle_meta::fields::Fields;
use coracle_meta::{FieldError, names};
use serde_json::Value;

use crate::field_checks::{Wrong, each_invalid};

const LONGEST_CREDENTIAL_KIB: usize = 64;
const DOMAIN_LENGTH: usize = 256;
const LONGEST_USER: usize = 104;

/// The errors of the Windows options of a pod or a container.
pub(super) fn wrong_options(security: &Value, path: &str) -> Wrong {
    let options = security.at("windowsOptions");
    let path = format!("{path}.windowsOptions");
    let mut wrong = Wrong::new();
    if let Some(name) = options.at("gmsaCredentialSpecName").as_str() {
        wrong.extend(each_invalid(&format!("{path}.gmsaCredentialSpecName"), name, names::dns1123_subdomain(name)));
    }
    if let Some(credential) = options.at("gmsaCredentialSpec").as_str() {
        let path = format!("{path}.gmsaCredentialSpec");
        if credential.is_empty() {
            wrong.push(FieldError::invalid(path, credential, "gmsaCredentialSpec cannot be an empty string"));
        } else if credential.len() > LONGEST_CREDENTIAL_KIB << 10 {
            let what = format!("gmsaCredentialSpec size must be under {LONGEST_CREDENTIAL_KIB} KiB");
            wrong.push(FieldError::invalid(path, credential, what));
        }
    }
    if let Some(name) = options.at("runAsUserName").as_str() {
        let path = format!("{path}.runAsUserName");
        let sentences = wrong_user_name(name).into_iter();
        wrong.extend(sentences.map(|what| FieldError::invalid(&path, name, format!("runAsUserName{what}"))));
    }
    wrong
}

/// The errors of `user` or `domain\user`, without the name of the field.
fn wrong_user_name(name: &str) -> Vec<String> {
    let plain = |what: &str| vec![what.to_owned()];
    if name.is_empty() {
        return plain(" cannot be an empty string");
    }
    if name.bytes().any(|sign| sign.is_ascii_control()) {
        return plain(" cannot contain control characters");
    }
    let parts: Vec<&str> = name.split('\\').collect();
    let (domain, user) = match parts[..] {
        [user] => (None, user),
        [domain, user] => (Some(domain), user),
        _ => return plain(" cannot contain more than one backslash"),
    };
    let mut wrong = Vec::new();
    if let Some(domain) = domain {
        if domain.len() >= DOMAIN_LENGTH {
            wrong.push(format!("'s Domain length must be under {DOMAIN_LENGTH} characters"));
        }
        if !is_net_bios_name(domain) && !is_dns_name(domain) {
            wrong.push("'s Domain doesn't match the NetBios nor the DNS format".to_owned());
        }
    }
    if user.is_empty() {
        wrong.push("'s User cannot be empty".to_owned());
    } else if user.len() > LONGEST_USER {
        wrong.push(format!("'s User length must not be longer than {LONGEST_USER} characters"));
    }
    if !user.is_empty() && user.chars().all(|sign| matches!(sign, '.' | ' ')) {
        wrong.push("'s User cannot contain only periods or spaces".to_owned());
    }
    if user.contains(['"', '/', '\\', ':', ';', '|', '=', ',', '+', '*', '?', '<', '>', '@', '[', ']']) {
        wrong.push(r#"'s User cannot contain the following characters: "/\:;|=,+*?<>@[]"#.to_owned());
    }
    wrong
}

fn is_net_bios_name(domain: &str) -> bool {
    const REFUSED: [char; 9] = ['\\', '/', ':', '*', '?', '"', '<', '>', '|'];
    (1..=15).contains(&domain.chars().count()) && !domain.starts_with('.') && !domain.contains(REFUSED)
}

fn is_dns_name(domain: &str) -> bool {
    domain.split('.').all(|label| {
        let is_plain = |sign: char| sign.is_ascii_alphanumeric();
        label.len() <= 63
            && label.starts_with(is_plain)
            && label.ends_with(is_plain)
            && label.chars().all(|sign| is_plain(sign) || sign == '-')
    })
}

/// HostProcess containers: all containers of a pod or none, and in the host network.
pub(super) fn wrong_host_process(spec: &Value, path: &str) -> Wrong {
    const FLAG: &str = "securityContext.windowsOptions.hostProcess";
    let of_pod = spec.at(FLAG).as_bool();
    let mut wrong = Wrong::new();
    let containers = super::all_containers(spec, path);
    let mut count = 0;
    for (path, container) in &containers {
        let own = container.at(FLAG).as_bool();
        if let (Some(of_pod), Some(own)) = (of_pod, own)
            && of_pod != own
        {
            let what = format!("pod hostProcess value must be identical if both are specified, was {of_pod}");
            wrong.push(FieldError::invalid(format!("{path}.{FLAG}"), own, what));
        }
        if own.or(of_pod) == Some(true) {
            count += 1;
        }
    }
    if count == 0 {
        return wrong;
    }
    if count != containers.len() {
        let what = "If pod contains any hostProcess containers then all containers must be HostProcess containers";
        wrong.push(FieldError::invalid(path, "", what));
    }
    if !spec.flag("hostNetwork") {
        let what = "hostNetwork must be true if pod contains any hostProcess containers";
        wrong.push(FieldError::invalid(format!("{path}.hostNetwork"), false, what));
    }
    wrong
}
