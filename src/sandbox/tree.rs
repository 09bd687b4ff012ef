//! The files that a program sees: a tree in memory that begins with the session's files.
//!
//! The one rule: nothing here knows of a disk. A path is a key, whatever dots it is written with.

use std::{collections::BTreeMap, sync::Arc};

use super::{
    Files,
    limits::{CHANGED_BYTES, CHANGED_FILES, FOLDERS},
    wasi::ErrorCode,
};

/// What is written below it is forgotten.
const SCRATCH: &str = "tmp";
/// The longest path, and the longest name in it.
const PATH_BYTES: usize = 1024;
const NAME_BYTES: usize = 255;

/// A file or folder, whatever it is called at the moment.
pub(super) type Number = u64;
/// The folder that all paths begin at.
pub(super) const ROOT: Number = 0;

#[derive(Debug)]
struct Node {
    /// `None` for a folder.
    content: Option<Arc<Vec<u8>>>,
    is_changed: bool,
    is_named: bool,
    opened: usize,
    modified: u64,
}

/// How a file is opened.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Opening {
    pub create: bool,
    pub exclusive: bool,
    pub truncate: bool,
    pub folder: bool,
    pub write: bool,
}

/// What is known of a file or folder.
#[derive(Clone, Copy, Debug)]
pub(super) struct Facts {
    pub number: Number,
    pub is_folder: bool,
    pub size: u64,
    /// Nanoseconds since 1970.
    pub modified: u64,
}

/// All files of a run.
#[derive(Debug)]
pub(super) struct Tree {
    names: BTreeMap<String, Number>,
    nodes: BTreeMap<Number, Node>,
    given: BTreeMap<String, Arc<Vec<u8>>>,
    next: Number,
    folders: usize,
    changed_files: usize,
    changed_bytes: usize,
    /// Whether something was refused because of a limit.
    pub is_full: bool,
}

/// A path as a key: `a/b`, and nothing for the root. `None` when it is too long.
pub(super) fn key(path: &str) -> Result<String, ErrorCode> {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            name if name.len() > NAME_BYTES => return Err(ErrorCode::NameTooLong),
            name => parts.push(name),
        }
    }
    let key = parts.join("/");
    if key.len() > PATH_BYTES { Err(ErrorCode::NameTooLong) } else { Ok(key) }
}

fn parent(key: &str) -> &str {
    key.rsplit_once('/').map_or("", |(parent, _)| parent)
}

impl Tree {
    /// A tree with these files in it.
    pub(super) fn new(files: Files, now: u64) -> Self {
        let mut tree = Self {
            names: BTreeMap::new(),
            nodes: BTreeMap::new(),
            given: BTreeMap::new(),
            next: ROOT,
            folders: 0,
            changed_files: 0,
            changed_bytes: 0,
            is_full: false,
        };
        tree.add("", None, false, now);
        tree.add(SCRATCH, None, false, now);
        for (path, content) in files {
            let content = Arc::new(content);
            for (at, _) in path.match_indices('/') {
                if !tree.names.contains_key(&path[..at]) {
                    tree.add(&path[..at], None, false, now);
                }
            }
            tree.add(&path, Some(Arc::clone(&content)), false, now);
            tree.given.insert(path, content);
        }
        tree
    }

    /// What the program made of the files: their new content, or nothing where one was deleted.
    pub(super) fn changes(&self) -> BTreeMap<String, Option<Vec<u8>>> {
        let gone = self.given.keys().filter(|path| !self.is_file(path));
        let mut out: BTreeMap<_, _> = gone.map(|path| (path.clone(), None)).collect();
        for (path, number) in &self.names {
            let content = self.nodes.get(number).and_then(|node| node.content.as_ref());
            let is_scratch = path.starts_with("tmp/") && !self.given.contains_key(path);
            if let Some(content) = content
                && !is_scratch
                && self.given.get(path) != Some(content)
            {
                out.insert(path.clone(), Some(content.to_vec()));
            }
        }
        out
    }

    fn is_file(&self, path: &str) -> bool {
        let number = self.names.get(path);
        number.and_then(|it| self.nodes.get(it)).is_some_and(|node| node.content.is_some())
    }

    fn add(
        &mut self,
        key: &str,
        content: Option<Arc<Vec<u8>>>,
        is_changed: bool,
        modified: u64,
    ) -> Number {
        let number = self.next;
        self.next += 1;
        if content.is_none() {
            self.folders += 1;
        }
        let node = Node { content, is_changed, is_named: true, opened: 0, modified };
        self.nodes.insert(number, node);
        self.names.insert(key.to_owned(), number);
        number
    }

    fn find(&self, key: &str) -> Result<Number, ErrorCode> {
        if let Some(number) = self.names.get(key) {
            return Ok(*number);
        }
        // A file in the middle of a path is another mistake than a missing one.
        if !key.is_empty() && self.is_file(parent(key)) {
            return Err(ErrorCode::NotDirectory);
        }
        Err(ErrorCode::NoEntry)
    }

    fn node(&self, number: Number) -> Result<&Node, ErrorCode> {
        self.nodes.get(&number).ok_or(ErrorCode::BadDescriptor)
    }

    fn content(&self, number: Number) -> Result<&Arc<Vec<u8>>, ErrorCode> {
        self.node(number)?.content.as_ref().ok_or(ErrorCode::IsDirectory)
    }

    fn folder_for(&self, key: &str) -> Result<(), ErrorCode> {
        let folder = self.find(parent(key))?;
        if self.node(folder)?.content.is_some() { Err(ErrorCode::NotDirectory) } else { Ok(()) }
    }

    pub(super) fn facts(&self, number: Number) -> Result<Facts, ErrorCode> {
        let node = self.node(number)?;
        let size = node.content.as_ref().map_or(0, |content| content.len() as u64);
        Ok(Facts { number, is_folder: node.content.is_none(), size, modified: node.modified })
    }

    pub(super) fn facts_at(&self, path: &str) -> Result<Facts, ErrorCode> {
        let key = key(path)?;
        let facts = self.facts(self.find(&key)?)?;
        if path.ends_with('/') && !facts.is_folder {
            Err(ErrorCode::NotDirectory)
        } else {
            Ok(facts)
        }
    }

    pub(super) fn key_of(&self, number: Number) -> Result<String, ErrorCode> {
        let found = self.names.iter().find(|(_, it)| **it == number);
        found.map(|(key, _)| key.clone()).ok_or(ErrorCode::NoEntry)
    }

    pub(super) fn open(&mut self, path: &str, how: Opening, now: u64) -> Result<Number, ErrorCode> {
        let key = key(path)?;
        let number = match self.find(&key) {
            Ok(_) if how.create && how.exclusive => return Err(ErrorCode::Exist),
            Ok(number) => {
                let is_folder = self.node(number)?.content.is_none();
                if how.folder && !is_folder {
                    return Err(ErrorCode::NotDirectory);
                }
                if is_folder && (how.write || how.truncate) {
                    return Err(ErrorCode::IsDirectory);
                }
                if how.truncate {
                    self.resize(number, 0, now)?;
                }
                number
            }
            Err(ErrorCode::NoEntry) if how.create && !how.folder => {
                self.folder_for(&key)?;
                self.count_file()?;
                self.add(&key, Some(Arc::default()), true, now)
            }
            Err(error) => return Err(error),
        };
        self.hold(number)?;
        Ok(number)
    }

    /// Keeps a file alive, though it may lose its name.
    pub(super) fn hold(&mut self, number: Number) -> Result<(), ErrorCode> {
        self.nodes.get_mut(&number).ok_or(ErrorCode::BadDescriptor)?.opened += 1;
        Ok(())
    }

    pub(super) fn release(&mut self, number: Number) {
        if let Some(node) = self.nodes.get_mut(&number) {
            node.opened = node.opened.saturating_sub(1);
        }
        self.forget_unused(number);
    }

    fn forget_unused(&mut self, number: Number) {
        let Some(node) = self.nodes.get(&number) else { return };
        if node.is_named || node.opened > 0 {
            return;
        }
        if let (true, Some(content)) = (node.is_changed, &node.content) {
            self.changed_files -= 1;
            self.changed_bytes -= content.len();
        }
        if node.content.is_none() {
            self.folders -= 1;
        }
        self.nodes.remove(&number);
    }

    pub(super) fn read(
        &self,
        number: Number,
        offset: u64,
        length: usize,
    ) -> Result<Vec<u8>, ErrorCode> {
        let content = self.content(number)?;
        let start = usize::try_from(offset).unwrap_or(usize::MAX).min(content.len());
        let end = start.saturating_add(length).min(content.len());
        Ok(content[start..end].to_vec())
    }

    /// Writes at a place, or at the end.
    pub(super) fn write(
        &mut self,
        number: Number,
        offset: Option<u64>,
        bytes: &[u8],
        now: u64,
    ) -> Result<(), ErrorCode> {
        let length = self.content(number)?.len();
        let start = match offset {
            Some(offset) => usize::try_from(offset).map_err(|_| ErrorCode::FileTooLarge)?,
            None => length,
        };
        let end = start.checked_add(bytes.len()).ok_or(ErrorCode::FileTooLarge)?;
        self.resize(number, length.max(end), now)?;
        if let Some(content) = self.nodes.get_mut(&number).and_then(|it| it.content.as_mut()) {
            Arc::make_mut(content)[start..end].copy_from_slice(bytes);
        }
        Ok(())
    }

    pub(super) fn resize(
        &mut self,
        number: Number,
        length: usize,
        now: u64,
    ) -> Result<(), ErrorCode> {
        self.count_bytes(number, length)?;
        if let Some(node) = self.nodes.get_mut(&number) {
            node.modified = now;
            if let Some(content) = &mut node.content {
                Arc::make_mut(content).resize(length, 0);
            }
        }
        Ok(())
    }

    pub(super) fn set_modified(&mut self, number: Number, at: u64) {
        if let Some(node) = self.nodes.get_mut(&number) {
            node.modified = at;
        }
    }

    fn count_file(&mut self) -> Result<(), ErrorCode> {
        if self.changed_files >= CHANGED_FILES {
            self.is_full = true;
            return Err(ErrorCode::Quota);
        }
        self.changed_files += 1;
        Ok(())
    }

    /// A changed file counts whole.
    fn count_bytes(&mut self, number: Number, length: usize) -> Result<(), ErrorCode> {
        let before = self.content(number)?.len();
        let was_changed = self.node(number)?.is_changed;
        let counted = if was_changed { before } else { 0 };
        let total = (self.changed_bytes - counted).saturating_add(length);
        if total > CHANGED_BYTES {
            self.is_full = true;
            return Err(ErrorCode::InsufficientSpace);
        }
        if !was_changed {
            self.count_file()?;
        }
        self.changed_bytes = total;
        if let Some(node) = self.nodes.get_mut(&number) {
            node.is_changed = true;
        }
        Ok(())
    }

    pub(super) fn list(&self, number: Number) -> Result<Vec<(String, bool)>, ErrorCode> {
        if self.node(number)?.content.is_some() {
            return Err(ErrorCode::NotDirectory);
        }
        let key = self.key_of(number)?;
        let start = if key.is_empty() { key } else { format!("{key}/") };
        let below =
            self.names.range(start.clone()..).take_while(|(name, _)| name.starts_with(&start));
        let direct = below.filter_map(|(name, number)| {
            let rest = &name[start.len()..];
            let is_direct = !rest.is_empty() && !rest.contains('/');
            is_direct.then(|| (rest.to_owned(), self.nodes.get(number)))
        });
        Ok(direct
            .map(|(name, node)| (name, node.is_some_and(|node| node.content.is_none())))
            .collect())
    }

    pub(super) fn make_folder(&mut self, path: &str, now: u64) -> Result<(), ErrorCode> {
        let key = key(path)?;
        match self.find(&key) {
            Ok(_) => return Err(ErrorCode::Exist),
            Err(ErrorCode::NoEntry) => self.folder_for(&key)?,
            Err(error) => return Err(error),
        }
        if self.folders >= FOLDERS {
            self.is_full = true;
            return Err(ErrorCode::Quota);
        }
        self.add(&key, None, false, now);
        Ok(())
    }

    pub(super) fn remove_file(&mut self, path: &str) -> Result<(), ErrorCode> {
        let key = key(path)?;
        let number = self.find(&key)?;
        self.content(number)?;
        self.unname(&key, number);
        Ok(())
    }

    pub(super) fn remove_folder(&mut self, path: &str) -> Result<(), ErrorCode> {
        let key = key(path)?;
        let number = self.find(&key)?;
        if number == ROOT {
            return Err(ErrorCode::Busy);
        }
        if !self.list(number)?.is_empty() {
            return Err(ErrorCode::NotEmpty);
        }
        self.unname(&key, number);
        Ok(())
    }

    fn unname(&mut self, key: &str, number: Number) {
        self.names.remove(key);
        if let Some(node) = self.nodes.get_mut(&number) {
            node.is_named = false;
        }
        self.forget_unused(number);
    }

    pub(super) fn rename(&mut self, old: &str, new: &str) -> Result<(), ErrorCode> {
        let (old, new) = (key(old)?, key(new)?);
        let number = self.find(&old)?;
        if old == new {
            return Ok(());
        }
        if number == ROOT || new.starts_with(&format!("{old}/")) {
            return Err(ErrorCode::Invalid);
        }
        self.folder_for(&new)?;
        let is_folder = self.node(number)?.content.is_none();
        let replaced = self.find(&new).ok();
        if let Some(replaced) = replaced {
            match (is_folder, self.node(replaced)?.content.is_none()) {
                (true, false) => return Err(ErrorCode::NotDirectory),
                (false, true) => return Err(ErrorCode::IsDirectory),
                (true, true) if !self.list(replaced)?.is_empty() => {
                    return Err(ErrorCode::NotEmpty);
                }
                _ => {}
            }
        }
        let below = format!("{old}/");
        let is_moved = |name: &String| *name == old || name.starts_with(&below);
        let moved: Vec<(String, Number)> = self
            .names
            .iter()
            .filter(|(name, _)| is_moved(name))
            .map(|(k, v)| (k.clone(), *v))
            .collect();
        for (_, number) in &moved {
            if let Ok(length) = self.content(*number).map(|content| content.len()) {
                self.count_bytes(*number, length)?;
            }
        }
        if let Some(replaced) = replaced {
            self.unname(&new, replaced);
        }
        for (name, number) in moved {
            self.names.remove(&name);
            self.names.insert(format!("{new}{}", &name[old.len()..]), number);
        }
        Ok(())
    }
}
