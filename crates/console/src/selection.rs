//! Which objects the arguments of a command mean.
//!
//! In Kubernetes: `resource.Builder`.

use coracle_meta::{go_quote, reason};

use crate::failure::Failure;
use crate::kinds::ServedKind;
use crate::manifests::{self, Info};
use crate::session::CommandSession;

/// How a command selects objects.
#[derive(Clone, Debug, Default)]
pub(crate) struct Wanted {
    pub(crate) args: Vec<String>,
    pub(crate) labels: String,
    pub(crate) fields: String,
    pub(crate) is_all_namespaces: bool,
    /// Whether `--all` selects the objects.
    pub(crate) is_all: bool,
    /// Whether a kind without names means all of its objects.
    pub(crate) is_all_by_default: bool,
    /// Whether the command reads files, if it names some.
    pub(crate) reads_files: bool,
}

impl Wanted {
    /// What the arguments and the usual flags of a command mean.
    pub(crate) fn of(session: &CommandSession<'_>, args: &[String]) -> Self {
        let flags = &session.flags;
        Self {
            args: args.to_vec(),
            labels: flags.text("selector").trim().to_owned(),
            fields: flags.text("field-selector").trim().to_owned(),
            is_all_namespaces: flags.is("all-namespaces"),
            is_all: flags.is("all"),
            is_all_by_default: false,
            reads_files: true,
        }
    }

    pub(crate) fn all_by_default(mut self) -> Self {
        self.is_all_by_default = true;
        self
    }
}

/// What a command means.
#[derive(Clone, Debug)]
pub(crate) enum Pick {
    /// An object by its name.
    Named { kind: ServedKind, namespace: String, name: String },
    /// The objects of a kind that the selectors select.
    Selected { kind: ServedKind, namespace: String },
    /// An object of a file.
    Object(Box<Info>),
}

/// The objects that a command means.
#[derive(Clone, Debug, Default)]
pub(crate) struct SelectedObjects {
    pub(crate) picks: Vec<Pick>,
    /// Errors of files that cannot be read.
    pub(crate) failures: Vec<Failure>,
    /// Whether the command means one object, so that its output is no list.
    pub(crate) is_single: bool,
    labels: String,
    fields: String,
}

const NO_RESOURCE: &str = "You must provide one or more resources by argument or filename.
Example resource specifications include:
   '-f rsrc.yaml'
   '--filename=rsrc.json'
   '<resource> <name>'
   '<resource>'";

/// Reads the arguments of a command.
pub(crate) async fn select(session: &mut CommandSession<'_>, wanted: &Wanted) -> Result<SelectedObjects, Failure> {
    let args = normalized(&wanted.args);
    let tuples = tuples(&args)?;
    let (kinds, names) = match (&tuples, args.as_slice()) {
        (Some(_), _) | (None, []) => (Vec::new(), &[][..]),
        (None, [kinds, names @ ..]) => (kind_words(session, kinds).await?, names),
    };
    if !session.flags.texts("kustomize").is_empty() {
        return Err(Failure::text("the console has no kustomize: use -f"));
    }
    if wanted.reads_files && !session.flags.texts("filename").is_empty() {
        return of_files(session, !kinds.is_empty(), !names.is_empty(), tuples.is_some()).await;
    }
    let selects_all = wanted.is_all || (wanted.is_all_by_default && names.is_empty() && !kinds.is_empty());
    let by_selector = selects_all || !wanted.labels.is_empty() || !wanted.fields.is_empty();
    if by_selector {
        if !names.is_empty() {
            return Err(Failure::text("name cannot be provided when a selector is specified"));
        }
        if tuples.is_some() {
            let why = "selectors and the all flag cannot be used when passing resource/name arguments";
            return Err(Failure::text(why));
        }
        if kinds.is_empty() {
            return Err(Failure::text("at least one resource must be specified to use a selector"));
        }
        return selected(session, &kinds, wanted).await;
    }
    let pairs: Vec<(String, String)> = match tuples {
        Some(tuples) => tuples,
        None if names.is_empty() && kinds.is_empty() => return Err(Failure::text(NO_RESOURCE)),
        None if names.is_empty() => {
            for kind in &kinds {
                session.kinds().await?.of_word(kind)?;
            }
            return Err(Failure::text("resource(s) were provided, but no name was specified"));
        }
        None if kinds.len() > 1 => return Err(Failure::text("you must specify only one resource")),
        None => names.iter().map(|name| (kinds[0].clone(), name.clone())).collect(),
    };
    named(session, &pairs, wanted.is_all_namespaces).await
}

async fn of_files(
    session: &mut CommandSession<'_>,
    has_kinds: bool,
    has_names: bool,
    has_tuples: bool,
) -> Result<SelectedObjects, Failure> {
    let refused = if has_kinds {
        "when paths, URLs, or stdin is provided as input, you may not specify resource arguments as well"
    } else if has_names {
        "name cannot be provided when a path is specified"
    } else if has_tuples {
        "resource/name arguments cannot be provided when a path is specified"
    } else {
        ""
    };
    if !refused.is_empty() {
        return Err(Failure::text(refused));
    }
    let (infos, failures) = manifests::read(session).await?;
    let picks: Vec<Pick> = infos.into_iter().map(|info| Pick::Object(Box::new(info))).collect();
    let is_single = picks.len() == 1 && session.flags.texts("filename").len() == 1;
    Ok(SelectedObjects { picks, failures, is_single, ..SelectedObjects::default() })
}

async fn selected(
    session: &mut CommandSession<'_>,
    words: &[String],
    wanted: &Wanted,
) -> Result<SelectedObjects, Failure> {
    let kinds = session.kinds().await?;
    let namespace = if wanted.is_all_namespaces { String::new() } else { session.namespace() };
    let mut found: Vec<ServedKind> = Vec::new();
    for word in words {
        let kind = kinds.of_word(word)?;
        if !found.contains(kind) {
            found.push(kind.clone());
        }
    }
    let picks = found.into_iter().map(|kind| Pick::Selected { kind, namespace: namespace.clone() });
    Ok(SelectedObjects {
        picks: picks.collect(),
        labels: wanted.labels.clone(),
        fields: wanted.fields.clone(),
        ..SelectedObjects::default()
    })
}

async fn named(
    session: &mut CommandSession<'_>,
    pairs: &[(String, String)],
    is_all_namespaces: bool,
) -> Result<SelectedObjects, Failure> {
    let kinds = session.kinds().await?;
    let mut picks = Vec::new();
    for (word, name) in pairs {
        let kind = kinds.of_word(word)?.clone();
        if kind.is_namespaced && is_all_namespaces {
            return Err(Failure::text("a resource cannot be retrieved by name across all namespaces"));
        }
        let namespace = if kind.is_namespaced { session.namespace() } else { String::new() };
        picks.push(Pick::Named { kind, namespace, name: name.clone() });
    }
    Ok(SelectedObjects { is_single: picks.len() == 1, picks, ..SelectedObjects::default() })
}

/// The words for kinds: separated by commas, with categories as their kinds.
async fn kind_words(session: &mut CommandSession<'_>, arg: &str) -> Result<Vec<String>, Failure> {
    let kinds = session.kinds().await?;
    let mut words: Vec<String> = Vec::new();
    for word in arg.split(',') {
        let category = kinds.of_category(word);
        let expanded = if category.is_empty() {
            vec![word.to_owned()]
        } else {
            category.iter().map(ServedKind::resource).collect()
        };
        for word in expanded {
            if word.is_empty() {
                continue;
            }
            if !words.contains(&word) {
                words.push(word);
            }
        }
    }
    Ok(words)
}

/// `a,b c d` as `a/c a/d b/c b/d`.
fn normalized(args: &[String]) -> Vec<String> {
    match args {
        [kinds, names @ ..] if !names.is_empty() && kinds.contains(',') => {
            let kinds = kinds.split(',').filter(|kind| !kind.is_empty());
            kinds.flat_map(|kind| names.iter().map(move |name| format!("{kind}/{name}"))).collect()
        }
        _ => args.to_vec(),
    }
}

/// The pairs of arguments in the form `kind/name`; `None` if no argument has this form.
fn tuples(args: &[String]) -> Result<Option<Vec<(String, String)>>, Failure> {
    let slashes = args.iter().filter(|arg| arg.contains('/')).count();
    if slashes == 0 {
        return Ok(None);
    }
    if slashes != args.len() {
        return Err(Failure::text(
            "there is no need to specify a resource type as a separate argument when passing arguments in resource/name \
             form (e.g. 'kubectl get resource/<resource_name>' instead of 'kubectl get resource resource/<resource_name>'",
        ));
    }
    let pair = |arg: &String| {
        let parts: Vec<&str> = arg.split('/').collect();
        let [kind, name] = parts.as_slice() else {
            return Err(Failure::text("arguments in resource/name form may not have more than one slash"));
        };
        if kind.is_empty() || name.is_empty() || kind.contains(',') {
            return Err(Failure::text("arguments in resource/name form must have a single resource and name"));
        }
        Ok(((*kind).to_owned(), (*name).to_owned()))
    };
    args.iter().map(pair).collect::<Result<_, _>>().map(Some)
}

impl SelectedObjects {
    pub(crate) fn labels(&self) -> &str {
        &self.labels
    }

    pub(crate) fn fields(&self) -> &str {
        &self.fields
    }

    /// Reads the objects from the server, and continues after errors.
    pub(crate) async fn fetch(self, session: &mut CommandSession<'_>) -> (Vec<Info>, Vec<Failure>) {
        let Self { picks, mut failures, labels, fields, .. } = self;
        let mut infos = Vec::new();
        for pick in picks {
            match pick {
                Pick::Named { kind, namespace, name } => match session.get(&kind, &namespace, &name).await {
                    Ok(object) => infos.push(Info::of(&kind, object)),
                    Err(failure) => failures.push(failure),
                },
                Pick::Selected { kind, namespace } => match session.list(&kind, &namespace, &labels, &fields).await {
                    Ok(objects) => infos.extend(objects.into_iter().map(|object| Info::of(&kind, object))),
                    Err(failure) => failures.push(unable(failure, &kind, &labels, &fields)),
                },
                Pick::Object(info) => match session.get(&info.kind, &info.namespace, &info.name).await {
                    Ok(object) => infos.push(Info { object, ..*info }),
                    Err(failure) => failures.push(failure),
                },
            }
        }
        (infos, failures)
    }

    /// The same, but the first error ends it.
    pub(crate) async fn fetch_all(self, session: &mut CommandSession<'_>) -> Result<Vec<Info>, Failure> {
        let (infos, failures) = self.fetch(session).await;
        Failure::aggregate(failures)?;
        Ok(infos)
    }
}

/// The error of a list. In Kubernetes: `resource.Selector.Visit`.
pub(crate) fn unable(failure: Failure, kind: &ServedKind, labels: &str, fields: &str) -> Failure {
    let Failure::Api(mut status) = failure else { return failure };
    if [reason::BAD_REQUEST, reason::NOT_FOUND, reason::METHOD_NOT_ALLOWED].contains(&status.reason.as_str()) {
        let resource = format!("{}/{}, Resource={}", kind.group, kind.version, kind.plural);
        let (resource, labels, fields) = (go_quote(&resource), go_quote(labels), go_quote(fields));
        let message = &status.message;
        status.message = if labels == "\"\"" && fields == "\"\"" {
            format!("Unable to list {resource}: {message}")
        } else {
            format!("Unable to find {resource} that match label selector {labels}, field selector {fields}: {message}")
        };
    }
    Failure::Api(status)
}
