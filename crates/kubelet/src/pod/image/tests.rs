use std::collections::BTreeMap;

use coracle_meta::Quantity;

use super::*;

fn images(yaml: &str) -> Result<Images, String> {
    serde_saphyr::from_str(yaml).map_err(|error| error.to_string())
}

fn container(image: &str) -> Container {
    Container { image: image.to_owned(), ..Container::default() }
}

fn of(images: &Images, image: &str) -> Behaviour {
    with_image(Behaviour::default(), &container(image), images)
}

#[test]
fn by_default_an_image_is_missing_only_if_its_path_or_tag_says_so() {
    let images = Images::default();
    for missing in ["doesnotexist", "web:does-not-exist", "team/nonexistent:1", "r.io/missing/app", "web:404"] {
        assert!(of(&images, missing).has_no_image, "{missing}");
    }
    for there in ["nginx", "web:1.404", "team/missing-links:1", "missing.example.com/app", "localhost:404/app"] {
        assert_eq!(of(&images, there), Behaviour::default(), "{there}");
    }
}

#[test]
fn an_entry_for_a_tag_comes_before_one_for_all_tags_and_both_before_the_name() {
    let images =
        images("web: {exists: false}\nweb:1: {exists: true}\ndocker.io/team/missing:2: {exists: true}").unwrap();
    let is_missing = |image: &str| of(&images, image).has_no_image;
    assert!(is_missing("web") && is_missing("docker.io/library/web:2"));
    assert!(!is_missing("web:1") && !is_missing("team/missing:2"));
    assert!(is_missing("team/missing:3") && !is_missing("other/web"));
}

#[test]
fn the_program_of_an_image_exits_crashes_or_needs_memory() {
    let images = images("job: {exits: 3s}\nbad: {crashes: 1m}\nlarge: {needs: 300Mi}").unwrap();
    let end = |behaviour: Behaviour| (behaviour.exits, behaviour.exit_after.as_secs(), behaviour.exit_reason);
    assert_eq!(end(of(&images, "job:1")), (Some(0), 3, None));
    assert_eq!(end(of(&images, "bad")), (Some(1), 60, None));
    assert_eq!(end(of(&images, "large")), (None, 0, None));
    let with_limit = |limit: &str| {
        let mut limited = container("large");
        limited.resources.limits = BTreeMap::from([("memory".to_owned(), Quantity::parse(limit).unwrap())]);
        end(with_image(Behaviour::default(), &limited, &images))
    };
    assert_eq!(with_limit("300Mi"), (None, 0, None));
    assert_eq!(with_limit("299Mi"), (Some(KILLED), 0, Some(OOM_KILLED.to_owned())));
}

#[test]
fn a_command_of_the_container_and_an_annotation_take_precedence_over_the_program_of_the_image() {
    let images = images("bad: {crashes: 1s}").unwrap();
    let other = Container { command: vec!["sleep".to_owned()], ..container("bad") };
    assert_eq!(with_image(Behaviour::default(), &other, &images).exits, None);
    let annotated = Behaviour { exits: Some(7), ..Behaviour::default() };
    assert_eq!(with_image(annotated, &container("bad"), &images).exits, Some(7));
}
