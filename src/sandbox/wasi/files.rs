//! Files and folders, as descriptors of the tree in memory.

use wasmtime::{
    StoreContextMut,
    component::{ComponentNamedList, Lift, Linker, LinkerInstance, Lower, Resource, ResourceType},
};

use super::{
    Host,
    clocks::{datetime, nanoseconds},
    forget, named,
    streams::{InputStream, OutputStream, PIECE},
    types::{
        Advice, DescriptorFlags, DescriptorStat, DescriptorType, DirectoryEntry, ErrorCode,
        MetadataHash, NewTimestamp, OpenFlags, PathFlags,
    },
};
use crate::sandbox::tree::{Facts, Number, Opening, ROOT};

/// An open file or folder.
#[derive(Debug)]
pub(super) struct Descriptor {
    number: Number,
    flags: DescriptorFlags,
}

/// The names in a folder that were not read yet, backwards.
#[derive(Debug)]
pub(super) struct Listing(Vec<(String, bool)>);

type Store<'a> = StoreContextMut<'a, Host>;
type File = Resource<Descriptor>;
type Told<T> = wasmtime::Result<(Result<T, ErrorCode>,)>;

fn kind(is_folder: bool) -> DescriptorType {
    if is_folder { DescriptorType::Directory } else { DescriptorType::RegularFile }
}

fn stat(facts: Facts) -> DescriptorStat {
    let at = Some(datetime(facts.modified));
    DescriptorStat {
        kind: kind(facts.is_folder),
        link_count: 1,
        size: facts.size,
        accessed: at,
        modified: at,
        changed: at,
    }
}

fn hash(facts: Facts) -> MetadataHash {
    MetadataHash { lower: facts.number + 1, upper: 0 }
}

impl Host {
    fn descriptor(&self, file: &File) -> Result<&Descriptor, ErrorCode> {
        self.table.get(file).map_err(|_| ErrorCode::BadDescriptor)
    }

    fn keep<T: Send + 'static>(&mut self, thing: T) -> Result<Resource<T>, ErrorCode> {
        self.table.push(thing).map_err(|_| ErrorCode::InsufficientMemory)
    }

    /// A path from a folder, as a path from the root.
    fn path(&self, folder: &File, path: &str) -> Result<String, ErrorCode> {
        let number = self.descriptor(folder)?.number;
        if path.is_empty() {
            return Err(ErrorCode::NoEntry);
        }
        if number == ROOT {
            return Ok(path.to_owned());
        }
        Ok(format!("{}/{path}", self.tree.key_of(number)?))
    }

    fn facts(&self, file: &File) -> Result<Facts, ErrorCode> {
        self.tree.facts(self.descriptor(file)?.number)
    }

    fn facts_at(&self, folder: &File, path: &str) -> Result<Facts, ErrorCode> {
        self.tree.facts_at(&self.path(folder, path)?)
    }

    fn open_at(
        &mut self,
        folder: &File,
        path: &str,
        how: OpenFlags,
        flags: DescriptorFlags,
    ) -> Result<File, ErrorCode> {
        let path = self.path(folder, path)?;
        let how = Opening {
            create: how.contains(OpenFlags::CREATE),
            exclusive: how.contains(OpenFlags::EXCLUSIVE),
            truncate: how.contains(OpenFlags::TRUNCATE),
            folder: how.contains(OpenFlags::DIRECTORY),
            write: flags.contains(DescriptorFlags::WRITE),
        };
        let now = self.wall_now();
        let number = self.tree.open(&path, how, now)?;
        let opened = self.keep(Descriptor { number, flags });
        if opened.is_err() {
            self.tree.release(number);
        }
        opened
    }

    /// The file behind a descriptor that may be used like this.
    fn usable(&self, file: &File, need: DescriptorFlags) -> Result<Number, ErrorCode> {
        let descriptor = self.descriptor(file)?;
        let may = descriptor.flags.contains(need);
        if may { Ok(descriptor.number) } else { Err(ErrorCode::BadDescriptor) }
    }

    fn reading(&mut self, file: &File, at: u64) -> Result<Resource<InputStream>, ErrorCode> {
        let number = self.usable(file, DescriptorFlags::READ)?;
        self.tree.hold(number)?;
        self.keep(InputStream::File { number, at })
    }

    fn writing(
        &mut self,
        file: &File,
        at: Option<u64>,
    ) -> Result<Resource<OutputStream>, ErrorCode> {
        let number = self.usable(file, DescriptorFlags::WRITE)?;
        self.tree.hold(number)?;
        self.keep(OutputStream::File { number, at })
    }

    fn read_file(&self, file: &File, length: u64, at: u64) -> Result<(Vec<u8>, bool), ErrorCode> {
        let number = self.usable(file, DescriptorFlags::READ)?;
        let length = usize::try_from(length).unwrap_or(PIECE).min(PIECE);
        let bytes = self.tree.read(number, at, length)?;
        let is_over = at.saturating_add(bytes.len() as u64) >= self.tree.facts(number)?.size;
        Ok((bytes, is_over))
    }

    fn write_file(&mut self, file: &File, bytes: &[u8], at: u64) -> Result<u64, ErrorCode> {
        let number = self.usable(file, DescriptorFlags::WRITE)?;
        let now = self.wall_now();
        self.tree.write(number, Some(at), bytes, now)?;
        Ok(bytes.len() as u64)
    }

    fn set_size(&mut self, file: &File, size: u64) -> Result<(), ErrorCode> {
        let number = self.usable(file, DescriptorFlags::WRITE)?;
        let size = usize::try_from(size).map_err(|_| ErrorCode::FileTooLarge)?;
        let now = self.wall_now();
        self.tree.resize(number, size, now)
    }

    fn set_time(&mut self, number: Number, time: NewTimestamp) {
        let now = self.wall_now();
        match time {
            NewTimestamp::NoChange => {}
            NewTimestamp::Now => self.tree.set_modified(number, now),
            NewTimestamp::Timestamp(at) => self.tree.set_modified(number, nanoseconds(at)),
        }
    }

    fn list(&mut self, folder: &File) -> Result<Resource<Listing>, ErrorCode> {
        let mut names = self.tree.list(self.descriptor(folder)?.number)?;
        names.reverse();
        self.keep(Listing(names))
    }
}

fn close(mut store: Store<'_>, number: u32) -> wasmtime::Result<()> {
    let host = store.data_mut();
    let closed: Descriptor = host.table.delete(Resource::new_own(number))?;
    if closed.number != ROOT {
        host.tree.release(closed.number);
    }
    Ok(())
}

/// Defines a function of descriptors.
fn method<P, R>(
    types: &mut LinkerInstance<'_, Host>,
    name: &str,
    does: impl Fn(&mut Host, P) -> Result<R, ErrorCode> + Send + Sync + 'static,
) -> wasmtime::Result<()>
where
    P: ComponentNamedList + Lift + 'static,
    R: Lower + 'static,
{
    types.func_wrap(&format!("[method]descriptor.{name}"), move |mut store: Store, given: P| {
        Ok((does(store.data_mut(), given),))
    })
}

pub(super) fn define(linker: &mut Linker<Host>) -> wasmtime::Result<()> {
    let mut preopens = linker.instance(&named("filesystem/preopens"))?;
    preopens.resource("descriptor", ResourceType::host::<Descriptor>(), close)?;
    preopens.func_wrap("get-directories", |mut store: Store, (): ()| {
        let flags = DescriptorFlags::READ | DescriptorFlags::MUTATE_DIRECTORY;
        let root = store.data_mut().table.push(Descriptor { number: ROOT, flags })?;
        Ok((vec![(root, "/".to_owned())],))
    })?;

    let mut types = linker.instance(&named("filesystem/types"))?;
    types.resource("descriptor", ResourceType::host::<Descriptor>(), close)?;
    types.resource("directory-entry-stream", ResourceType::host::<Listing>(), forget::<Listing>)?;
    types.func_wrap(
        "[method]directory-entry-stream.read-directory-entry",
        |mut store: Store, (listing,): (Resource<Listing>,)| -> Told<Option<DirectoryEntry>> {
            let next = store.data_mut().table.get_mut(&listing)?.0.pop();
            Ok((Ok(next.map(|(name, is_folder)| DirectoryEntry { kind: kind(is_folder), name })),))
        },
    )?;

    method(&mut types, "read-via-stream", |host, (file, at): (File, u64)| host.reading(&file, at))?;
    method(&mut types, "write-via-stream", |host, (file, at): (File, u64)| {
        host.writing(&file, Some(at))
    })?;
    method(&mut types, "append-via-stream", |host, (file,): (File,)| host.writing(&file, None))?;
    method(&mut types, "advise", |_, _: (File, u64, u64, Advice)| Ok(()))?;
    method(&mut types, "sync-data", |_, _: (File,)| Ok(()))?;
    method(&mut types, "sync", |_, _: (File,)| Ok(()))?;
    method(&mut types, "get-flags", |host, (file,): (File,)| {
        host.descriptor(&file).map(|it| it.flags)
    })?;
    method(&mut types, "set-size", |host, (file, size): (File, u64)| host.set_size(&file, size))?;
    method(
        &mut types,
        "set-times",
        |host, (file, _, time): (File, NewTimestamp, NewTimestamp)| {
            host.facts(&file).map(|facts| host.set_time(facts.number, time))
        },
    )?;
    method(&mut types, "read", |host, (file, length, at): (File, u64, u64)| {
        host.read_file(&file, length, at)
    })?;
    method(&mut types, "write", |host, (file, bytes, at): (File, Vec<u8>, u64)| {
        host.write_file(&file, &bytes, at)
    })?;
    method(&mut types, "stat", |host, (file,): (File,)| host.facts(&file).map(stat))?;
    method(&mut types, "metadata-hash", |host, (file,): (File,)| host.facts(&file).map(hash))?;
    method(&mut types, "read-directory", |host, (folder,): (File,)| host.list(&folder))?;

    method(&mut types, "stat-at", |host, (folder, _, path): (File, PathFlags, String)| {
        host.facts_at(&folder, &path).map(stat)
    })?;
    method(
        &mut types,
        "metadata-hash-at",
        |host, (folder, _, path): (File, PathFlags, String)| {
            host.facts_at(&folder, &path).map(hash)
        },
    )?;
    type Times = (File, PathFlags, String, NewTimestamp, NewTimestamp);
    method(&mut types, "set-times-at", |host, (folder, _, path, _, time): Times| {
        host.facts_at(&folder, &path).map(|facts| host.set_time(facts.number, time))
    })?;
    type Open = (File, PathFlags, String, OpenFlags, DescriptorFlags);
    method(&mut types, "open-at", |host, (folder, _, path, how, flags): Open| {
        host.open_at(&folder, &path, how, flags)
    })?;
    method(&mut types, "create-directory-at", |host, (folder, path): (File, String)| {
        let now = host.wall_now();
        host.path(&folder, &path).and_then(|path| host.tree.make_folder(&path, now))
    })?;
    method(&mut types, "remove-directory-at", |host, (folder, path): (File, String)| {
        host.path(&folder, &path).and_then(|path| host.tree.remove_folder(&path))
    })?;
    method(&mut types, "unlink-file-at", |host, (folder, path): (File, String)| {
        host.path(&folder, &path).and_then(|path| host.tree.remove_file(&path))
    })?;
    method(&mut types, "rename-at", |host, (from, old, to, new): (File, String, File, String)| {
        host.path(&from, &old).and_then(|old| host.tree.rename(&old, &host.path(&to, &new)?))
    })?;
    method(&mut types, "readlink-at", |_, _: (File, String)| Err::<String, _>(ErrorCode::Invalid))?;
    method(&mut types, "symlink-at", |_, _: (File, String, String)| {
        Err::<(), _>(ErrorCode::Unsupported)
    })?;
    type Link = (File, PathFlags, String, File, String);
    method(&mut types, "link-at", |_, _: Link| Err::<(), _>(ErrorCode::Unsupported))?;
    Ok(())
}
