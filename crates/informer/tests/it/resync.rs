use std::sync::Arc;
use std::time::Duration;

use coracle_informer::{HandlerRegistration, Notification};
use coracle_journal::Recorder;
use parking_lot::Mutex;
use tokio::time::{Instant, sleep};

use crate::{World, map, world};

const MINUTE: Duration = Duration::from_secs(60);

/// When a handler was told what, in seconds since it was added.
type Diary = Arc<Mutex<Vec<(u64, String)>>>;

fn told(diary: &Diary) -> Vec<(u64, String)> {
    std::mem::take(&mut *diary.lock())
}

fn again(seconds: u64, name: &str) -> (u64, String) {
    (seconds, format!("again {name}"))
}

/// A world in which `names` are cached, and have been told of to the handler without a resync.
async fn world_with(names: &[&str]) -> World {
    let world = world(Recorder::off()).await;
    world.informer.synced().await;
    for name in names {
        world.maps.create(&map(name, 1)).await.unwrap();
    }
    world.settle().await;
    world.told();
    world
}

/// A handler that is told again each `period` of what the tests made, and has been told of what is there.
async fn resyncing(world: &World, period: Duration) -> (HandlerRegistration, Diary) {
    let diary = Diary::default();
    let (writing, begin) = (diary.clone(), Instant::now());
    let registration = world.informer.add_resyncing_handler("test/resyncing", period, move |notification, _| {
        let name = notification.object().metadata.name.clone().unwrap();
        let word = match notification {
            Notification::Updated { old, new } if old.metadata.resource_version == new.metadata.resource_version => {
                "again"
            }
            other => other.word(),
        };
        // Not what every cluster begins with.
        let is_own =
            notification.object().metadata.namespace.as_deref() == Some("default") && name != "kube-root-ca.crt";
        if is_own {
            writing.lock().push((begin.elapsed().as_secs(), format!("{word} {name}")));
        }
    });
    registration.synced().await;
    told(&diary);
    (registration, diary)
}

#[tokio::test(start_paused = true)]
async fn only_handlers_with_a_resync_period_get_everything_again_each_period() {
    let world = world_with(&["a", "b"]).await;
    let (_registration, diary) = resyncing(&world, MINUTE).await;
    sleep(3 * MINUTE + MINUTE / 2).await;
    let expected = [60, 120, 180].into_iter().flat_map(|second| [again(second, "a"), again(second, "b")]);
    let mut seen = told(&diary);
    seen.sort();
    assert_eq!(seen, expected.collect::<Vec<_>>());
    assert_eq!(world.told(), [""; 0], "the handler without a resync");
}

#[tokio::test(start_paused = true)]
async fn a_resync_comes_from_the_cache_also_while_the_server_cannot_be_reached() {
    let world = world_with(&["a"]).await;
    let (_registration, diary) = resyncing(&world, MINUTE).await;
    let lists = world.gate.asked_for("sendInitialEvents");
    sleep(MINUTE + MINUTE / 2).await;
    assert_eq!(world.gate.asked_for("sendInitialEvents"), lists, "the server is not asked");
    world.gate.close();
    world.maps.create(&map("unseen", 1)).await.unwrap();
    sleep(MINUTE).await;
    assert_eq!(told(&diary), [again(60, "a"), again(120, "a")], "what the cache lacks is not told");
}

#[tokio::test(start_paused = true)]
async fn a_removed_handler_gets_no_more_events() {
    let world = world_with(&["a"]).await;
    let (registration, diary) = resyncing(&world, MINUTE).await;
    let (_other, others) = resyncing(&world, MINUTE).await;
    sleep(MINUTE + MINUTE / 2).await;
    assert_eq!(told(&diary), [again(60, "a")]);
    registration.remove();
    sleep(2 * MINUTE).await;
    assert_eq!(told(&diary), []);
    assert_eq!(told(&others), [again(60, "a"), again(120, "a"), again(180, "a")], "one that was not removed is");
}

#[tokio::test(start_paused = true)]
async fn two_periods_do_not_disturb_each_other() {
    let world = world_with(&["a"]).await;
    let (_slow, slow) = resyncing(&world, 5 * MINUTE).await;
    // Added while the informer waits for the slower one, and half a minute off its beat.
    sleep(MINUTE / 2).await;
    let (_fast, fast) = resyncing(&world, 2 * MINUTE).await;
    sleep(10 * MINUTE + MINUTE / 4).await;
    assert_eq!(told(&slow), [again(300, "a"), again(600, "a")]);
    assert_eq!(told(&fast), [120, 240, 360, 480, 600].map(|second| again(second, "a")));
}

#[tokio::test(start_paused = true)]
async fn each_handler_gets_a_change_once_and_the_new_state_at_the_next_resync() {
    let world = world_with(&["a"]).await;
    let (_registration, diary) = resyncing(&world, MINUTE).await;
    sleep(MINUTE / 2).await;
    let mut changed = world.informer.lister().get(&crate::key("a")).unwrap().as_ref().clone();
    changed.data.insert("value".to_owned(), "2".to_owned());
    world.maps.update(&changed).await.unwrap();
    world.settle().await;
    sleep(MINUTE).await;
    assert_eq!(told(&diary), [(30, "Updated a".to_owned()), again(60, "a")]);
    assert_eq!(world.told(), ["updated default/a"]);
}

#[tokio::test(start_paused = true)]
async fn no_period_is_no_resync_and_a_second_is_the_shortest() {
    let world = world_with(&["a"]).await;
    let (_never, never) = resyncing(&world, Duration::ZERO).await;
    let (_hasty, hasty) = resyncing(&world, Duration::from_millis(1)).await;
    sleep(Duration::from_millis(2500)).await;
    assert_eq!(told(&never), []);
    assert_eq!(told(&hasty), [again(1, "a"), again(2, "a")]);
}
