use std::collections::BTreeMap;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;

use coracle_ambient::Random;

use crate::history::Entry;

/// The unit that a disk writes whole or not at all.
const SECTOR: usize = 512;
const ROOT: u64 = 0;

/// A file system under a folder as the process sees it, and what of it a disk is sure to hold.
#[derive(Clone, Default)]
pub(crate) struct Platter {
    files: BTreeMap<u64, File>,
    /// As the process sees it.
    current: Names,
    /// As it was synced.
    synced: Names,
    /// Changes of names that were not synced, in order.
    unsynced: Vec<Rename>,
    /// Inodes as the process knows them; their numbers are used again after files are gone.
    inodes: BTreeMap<u64, u64>,
    nodes: u64,
}

/// The entries of each folder.
type Names = BTreeMap<u64, BTreeMap<String, Node>>;

#[derive(Clone, Copy)]
enum Node {
    File(u64),
    Folder(u64),
}

/// Names that change together.
#[derive(Clone)]
struct Rename(Vec<(u64, String, Option<Node>)>);

#[derive(Clone, Default)]
struct File {
    /// What is sure to be there.
    synced: Vec<u8>,
    unsynced: Vec<Change>,
}

#[derive(Clone)]
enum Change {
    Write(u64, Vec<u8>),
    Truncate(u64),
}

/// What the loss of power takes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Loss {
    /// Everything that was not synced.
    OnlySynced,
    /// Nothing but a part of the last write.
    TornAtTheEnd,
    /// Any sectors of the files, and the last of the names, that were not synced.
    AnySectors,
}

/// The files of a state, by path; a folder has no bytes.
pub(crate) struct State(BTreeMap<String, Option<Vec<u8>>>);

impl Platter {
    /// What is in a folder, all of it synced.
    pub(crate) fn load(folder: &Path) -> Self {
        let mut platter = Self::default();
        platter.current.insert(ROOT, BTreeMap::new());
        platter.load_folder(folder, ROOT);
        platter.synced = platter.current.clone();
        platter
    }

    fn load_folder(&mut self, path: &Path, folder: u64) {
        for entry in std::fs::read_dir(path).unwrap() {
            let entry = entry.unwrap();
            let name = entry.file_name().into_string().unwrap();
            let id = self.next_node();
            let node = if entry.file_type().unwrap().is_dir() {
                self.current.insert(id, BTreeMap::new());
                self.load_folder(&entry.path(), id);
                Node::Folder(id)
            } else {
                let synced = std::fs::read(entry.path()).unwrap();
                self.files.insert(id, File { synced, unsynced: Vec::new() });
                self.inodes.insert(entry.metadata().unwrap().ino(), id);
                Node::File(id)
            };
            self.current.get_mut(&folder).unwrap().insert(name, node);
        }
    }

    /// Follows the process by one step. What a failed sync has dropped, `random` decides sector by sector.
    pub(crate) fn apply(&mut self, entry: &Entry, random: &Random) {
        match entry {
            Entry::Create { path, inode } => {
                let id = self.next_node();
                self.files.insert(id, File::default());
                self.inodes.insert(*inode, id);
                self.name(&[(path, Some(Node::File(id)))]);
            }
            Entry::MakeFolder { path } => {
                let id = self.next_node();
                self.current.insert(id, BTreeMap::new());
                self.synced.insert(id, BTreeMap::new());
                self.name(&[(path, Some(Node::Folder(id)))]);
            }
            Entry::Write { inode, offset, data } => {
                self.file(*inode).unsynced.push(Change::Write(*offset, data.clone()));
            }
            Entry::Truncate { inode, length } => self.file(*inode).unsynced.push(Change::Truncate(*length)),
            Entry::Rename { from, to } => {
                let (folder, name) = self.find(from);
                let node = self.current[&folder][&name];
                self.name(&[(from, None), (to, Some(node))]);
            }
            Entry::Unlink { path } | Entry::RemoveFolder { path } => self.name(&[(path, None)]),
            Entry::Sync { inode } => self.file(*inode).sync(),
            Entry::SyncFailed { inode } => {
                let file = self.file(*inode);
                file.synced = file.with_some_sectors(random);
                file.unsynced.clear();
            }
            Entry::SyncFolder { path } => self.sync_folder(path),
            Entry::Said(_) => {}
        }
    }

    /// What the disk holds if the power goes now.
    pub(crate) fn after(&self, loss: Loss, random: &Random) -> State {
        let mut names = self.synced.clone();
        let kept = match loss {
            Loss::OnlySynced => 0,
            Loss::TornAtTheEnd => self.unsynced.len(),
            Loss::AnySectors => random.below(self.unsynced.len() as u64 + 1) as usize,
        };
        self.unsynced[..kept].iter().for_each(|rename| rename.apply(&mut names));
        let torn = random.fraction();
        let mut state = BTreeMap::new();
        let mut folders = vec![(String::new(), ROOT)];
        while let Some((path, folder)) = folders.pop() {
            for (name, node) in &names[&folder] {
                let path = if path.is_empty() { name.clone() } else { format!("{path}/{name}") };
                match node {
                    Node::Folder(id) => {
                        state.insert(path.clone(), None);
                        folders.push((path, *id));
                    }
                    Node::File(id) => {
                        let file = &self.files[id];
                        let bytes = match loss {
                            Loss::OnlySynced => file.synced.clone(),
                            Loss::TornAtTheEnd => file.torn_at_the_end(torn),
                            Loss::AnySectors => file.with_some_sectors(random),
                        };
                        state.insert(path, Some(bytes));
                    }
                }
            }
        }
        State(state)
    }

    fn next_node(&mut self) -> u64 {
        self.nodes += 1;
        self.nodes
    }

    fn file(&mut self, inode: u64) -> &mut File {
        self.files.get_mut(&self.inodes[&inode]).unwrap()
    }

    /// The folder that holds a path, and the name in it.
    fn find(&self, path: &str) -> (u64, String) {
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        (self.folder(folder), name.to_owned())
    }

    fn folder(&self, path: &str) -> u64 {
        path.split('/').filter(|name| !name.is_empty()).fold(ROOT, |folder, name| match self.current[&folder][name] {
            Node::Folder(id) => id,
            Node::File(_) => panic!("{path} is no folder"),
        })
    }

    fn name(&mut self, changes: &[(&String, Option<Node>)]) {
        let changes = changes.iter().map(|(path, node)| {
            let (folder, name) = self.find(path);
            (folder, name, *node)
        });
        let rename = Rename(changes.collect());
        rename.apply(&mut self.current);
        self.unsynced.push(rename);
    }

    fn sync_folder(&mut self, path: &str) {
        let folder = self.folder(path);
        let (inside, outside) = std::mem::take(&mut self.unsynced)
            .into_iter()
            .partition(|rename| rename.0.iter().any(|(changed, ..)| *changed == folder));
        self.unsynced = outside;
        let inside: Vec<Rename> = inside;
        inside.iter().for_each(|rename| rename.apply(&mut self.synced));
    }
}

impl Rename {
    fn apply(&self, names: &mut Names) {
        for (folder, name, node) in &self.0 {
            let folder = names.get_mut(folder).unwrap();
            match node {
                Some(node) => drop(folder.insert(name.clone(), *node)),
                None => drop(folder.remove(name)),
            }
        }
    }
}

impl File {
    fn sync(&mut self) {
        for change in std::mem::take(&mut self.unsynced) {
            change.apply(&mut self.synced);
        }
    }

    fn torn_at_the_end(&self, share: f64) -> Vec<u8> {
        let mut bytes = self.synced.clone();
        let Some((last, before)) = self.unsynced.split_last() else { return bytes };
        before.iter().for_each(|change| change.apply(&mut bytes));
        match last {
            Change::Write(offset, data) => {
                let kept = (data.len() as f64 * share) as usize;
                Change::Write(*offset, data[..kept].to_vec()).apply(&mut bytes);
            }
            Change::Truncate(_) => last.apply(&mut bytes),
        }
        bytes
    }

    fn with_some_sectors(&self, random: &Random) -> Vec<u8> {
        let mut bytes = self.synced.clone();
        let share = [0.1, 0.5, 0.9][random.below(3) as usize];
        for change in &self.unsynced {
            match change {
                Change::Truncate(_) if random.fraction() < share => change.apply(&mut bytes),
                Change::Truncate(_) => {}
                Change::Write(offset, data) => {
                    let (mut at, mut rest) = (*offset, &data[..]);
                    while !rest.is_empty() {
                        let length = (SECTOR - at as usize % SECTOR).min(rest.len());
                        let (sector, after) = rest.split_at(length);
                        if random.fraction() < share {
                            put(&mut bytes, at, sector);
                        }
                        (at, rest) = (at + length as u64, after);
                    }
                }
            }
        }
        bytes
    }
}

impl Change {
    fn apply(&self, bytes: &mut Vec<u8>) {
        match self {
            Self::Write(offset, data) => put(bytes, *offset, data),
            Self::Truncate(length) => bytes.resize(*length as usize, 0),
        }
    }
}

fn put(bytes: &mut Vec<u8>, offset: u64, data: &[u8]) {
    let end = offset as usize + data.len();
    if bytes.len() < end {
        bytes.resize(end, 0);
    }
    bytes[offset as usize..end].copy_from_slice(data);
}

impl State {
    /// Makes the files; nothing but zeros takes no space.
    pub(crate) fn write(&self, folder: &Path) {
        const PAGE: usize = 4096;
        const ZEROS: [u8; PAGE] = [0; PAGE];
        // A folder comes before what is in it.
        for (path, bytes) in &self.0 {
            let path = folder.join(path);
            let Some(bytes) = bytes else {
                std::fs::create_dir(path).unwrap();
                continue;
            };
            let file = std::fs::File::create(path).unwrap();
            file.set_len(bytes.len() as u64).unwrap();
            for (number, page) in bytes.chunks(PAGE).enumerate() {
                if page != &ZEROS[..page.len()] {
                    file.write_all_at(page, (number * PAGE) as u64).unwrap();
                }
            }
        }
    }
}
