//! The operator's own tools: `tools.yaml` lists tools of ours by name, functions in Python files, and servers
//! that speak the Model Context Protocol.
//!
//! There is one set for everybody. It is read when it is first needed, and again when a file of it changed:
//! what changed applies to the next answer. Nothing in the web app and no model can write it.

mod docstring;
mod file;
mod mcp;
mod python;
mod schema;
mod secrets;

use std::{
    collections::BTreeMap,
    fmt,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex as StdMutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, SystemTime},
};

use file::{Entry, ServerEntry, Wish};
pub use file::{Problem, Weight};
use futures_util::future::join_all;
use mcp::Server;
use python::Module;
use tokio::{sync::Mutex, time::Instant};

use super::{
    Agent,
    tool::{FoundTool, Registry},
    tools,
};
use crate::{
    providers::{Providers, ToolSpec},
    sandbox::{HOW_TO_GET, Sandbox},
};

/// The file's name in the folder for terminals.
pub const FILE: &str = "tools.yaml";
/// How long a server that does not start is left alone.
const TRY_AGAIN: Duration = Duration::from_secs(60);

/// When a file was written, and how long it is; nothing for one that is not there.
type Stamp = Option<(SystemTime, u64)>;

/// The operator's tools. Cheap to clone.
#[derive(Clone)]
pub struct Toolbox {
    shared: Arc<Shared>,
}

struct Shared {
    file: PathBuf,
    sandbox: Option<Sandbox>,
    providers: Providers,
    loaded: Mutex<Option<Arc<Tools>>>,
    /// What was last loaded, for whoever does not want to wait.
    known: StdMutex<Registry>,
}

/// The tools as they were last read.
#[derive(Default)]
pub struct Tools {
    registry: Registry,
    /// What is wrong with the file.
    pub problems: Vec<Problem>,
    servers: Vec<Arc<Server>>,
    /// The files they come from, as they were.
    stamps: BTreeMap<PathBuf, Stamp>,
    /// When to look for servers again that did not start.
    again: Option<Instant>,
    tried_again: AtomicBool,
}

impl Tools {
    /// What models are told of them.
    pub fn specs(&self) -> &[ToolSpec] {
        self.registry.specs()
    }

    /// Whether some server may start now that did not before. Says so once.
    fn is_to_be_tried_again(&self) -> bool {
        self.again.is_some_and(|again| again <= Instant::now())
            && !self.tried_again.swap(true, Ordering::Relaxed)
    }

    async fn is_current(&self) -> bool {
        for (path, known) in &self.stamps {
            if stamp(path).await != *known {
                return false;
            }
        }
        true
    }
}

impl fmt::Debug for Toolbox {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Toolbox").field("file", &self.shared.file).finish_non_exhaustive()
    }
}

impl fmt::Debug for Tools {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { registry, problems, .. } = self;
        out.debug_struct("Tools").field("tools", registry).field("problems", problems).finish()
    }
}

impl Toolbox {
    /// The tools of a file, which need not be there. Nothing is read or started before they are needed.
    pub fn new(file: impl Into<PathBuf>, sandbox: Option<Sandbox>, providers: Providers) -> Self {
        let (file, loaded, known) = (file.into(), Mutex::default(), StdMutex::default());
        Self { shared: Arc::new(Shared { file, sandbox, providers, loaded, known }) }
    }

    /// The tools as the files say now.
    pub async fn tools(&self) -> Arc<Tools> {
        let mut loaded = self.shared.loaded.lock().await;
        let before = loaded.clone().unwrap_or_default();
        if loaded.is_some() && before.is_current().await {
            if before.is_to_be_tried_again() {
                tokio::spawn(self.clone().try_again(before.clone()));
            }
            return before;
        }
        let tools = Arc::new(self.load(&before).await);
        *loaded = Some(tools.clone());
        drop(loaded);
        self.changed(&before, &tools).await;
        tools
    }

    /// Looks once more for servers that did not start, while nobody waits.
    async fn try_again(self, before: Arc<Tools>) {
        let tools = Arc::new(self.load(&before).await);
        let mut loaded = self.shared.loaded.lock().await;
        if loaded.as_ref().is_some_and(|known| Arc::ptr_eq(known, &before)) {
            *loaded = Some(tools.clone());
            drop(loaded);
            self.changed(&before, &tools).await;
        }
    }

    /// Other tools are there than before: servers that are not listed any more end, and problems are told.
    async fn changed(&self, before: &Tools, now: &Tools) {
        *self.shared.known.lock().unwrap_or_else(PoisonError::into_inner) = now.registry.clone();
        for server in &before.servers {
            if !now.servers.iter().any(|kept| Arc::ptr_eq(kept, server)) {
                server.close().await;
            }
        }
        for problem in now.problems.iter().filter(|told| !before.problems.contains(told)) {
            match problem.weight {
                Weight::Warning => tracing::warn!("{problem}"),
                Weight::Error => tracing::error!("{problem}"),
            }
        }
    }

    /// What runs may use.
    pub(super) async fn registry(&self) -> Registry {
        self.tools().await.registry.clone()
    }

    /// What runs may use, as it was last read. Nothing is waited for.
    pub(super) fn known(&self) -> Registry {
        self.shared.known.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Ends all servers. Those that are called again start again.
    pub async fn close(&self) {
        // What is still being started ends with the process.
        let Ok(loaded) = self.shared.loaded.try_lock() else { return };
        let servers = loaded.iter().flat_map(|tools| &tools.servers);
        join_all(servers.map(|server| server.close())).await;
    }

    fn folder(&self) -> &Path {
        self.shared.file.parent().unwrap_or(Path::new("."))
    }

    async fn load(&self, before: &Tools) -> Tools {
        let file = &self.shared.file;
        let seen = stamp(file).await;
        let mut stamps = BTreeMap::from([(file.clone(), seen)]);
        if seen.is_none() {
            return Tools { stamps, ..Tools::default() };
        }
        let text = tokio::fs::read_to_string(file).await;
        let read = match text {
            Ok(text) => file::read(&text),
            Err(error) => Err(Problem::error(0, format!("It cannot be read: {error}."))),
        };
        let (entries, mut problems) = match read {
            Ok(read) => read,
            // Whoever is in the middle of writing it keeps the tools that were there.
            Err(problem) => {
                let (registry, servers) = (before.registry.clone(), before.servers.clone());
                stamps.extend(before.stamps.iter().map(|(path, at)| (path.clone(), *at)));
                stamps.insert(file.clone(), seen);
                let problems = vec![problem];
                return Tools { registry, problems, servers, stamps, ..Tools::default() };
            }
        };
        let (wanted, mut servers) = (self.wanted(entries, before, &mut problems), Vec::new());
        let mut failed = false;
        let mut registry = Registry::default();
        let ours = tools::terminal_tools();
        // Everything is looked into side by side, and stands in the order of the file.
        for found in join_all(wanted.into_iter().map(|wanted| self.find(wanted))).await {
            failed |= found.tools.is_empty() && found.server.is_some();
            servers.extend(found.server);
            for path in found.files {
                let at = stamp(&path).await;
                stamps.insert(path, at);
            }
            problems.extend(found.problems);
            if let Some(name) = found.built_in {
                match ours.has(&name) {
                    _ if registry.has(&name) => problems.push(clash(found.line, &name)),
                    true => registry = registry.beside(&ours.only(&[name])),
                    false => {
                        let all = ours.names().join(", ");
                        let reason = format!(
                            "There is no built-in tool “{name}”. There are: {all}. A Python \
                             function is written as path.py:function."
                        );
                        problems.push(Problem::error(found.line, reason));
                    }
                }
            }
            for mut tool in found.tools {
                schema::name_items(&mut tool.spec.schema);
                let name = &tool.spec.name;
                if registry.has(name) || ours.has(name) {
                    problems.push(clash(found.line, name));
                } else {
                    registry = registry.with_found(tool);
                }
            }
        }
        problems.sort_by_key(|problem| problem.line);
        let again = failed.then(|| Instant::now() + TRY_AGAIN);
        Tools { registry, problems, servers, stamps, again, ..Tools::default() }
    }

    /// What is to be looked into. A server that is written as it was goes on.
    fn wanted(
        &self,
        entries: Vec<Entry>,
        before: &Tools,
        problems: &mut Vec<Problem>,
    ) -> Vec<Wanted> {
        let mut names: Vec<String> = Vec::new();
        let mut wanted = Vec::new();
        for Entry { line, wish } in entries {
            let what = match wish {
                Wish::BuiltIn(name) => What::BuiltIn(name),
                Wish::Python { path, function } => What::Python { path, function },
                Wish::Server(entry) if names.contains(&entry.name) => {
                    problems.push(clash(line, &entry.name));
                    continue;
                }
                Wish::Server(entry) => {
                    names.push(entry.name.clone());
                    What::Server(self.server(entry, before))
                }
            };
            wanted.push(Wanted { line, what });
        }
        wanted
    }

    fn server(&self, entry: ServerEntry, before: &Tools) -> Arc<Server> {
        match before.servers.iter().find(|server| *server.entry() == entry) {
            Some(server) => server.clone(),
            None => Arc::new(Server::new(entry, self.folder(), self.shared.providers.clone())),
        }
    }

    async fn find(&self, Wanted { line, what }: Wanted) -> Found {
        let mut found = Found { line, ..Found::default() };
        match what {
            What::BuiltIn(name) => found.built_in = Some(name),
            What::Python { path, function } => {
                match self.function(&path, &function, &mut found.files).await {
                    Ok((tool, warning)) => {
                        found.tools.push(tool);
                        found.problems.extend(warning.map(|told| Problem::warning(line, told)));
                    }
                    Err(reason) => found.problems.push(Problem::error(line, reason)),
                }
            }
            What::Server(server) => {
                (found.tools, found.problems) = server.tools(line).await;
                found.server = Some(server);
            }
        }
        found
    }

    async fn function(
        &self,
        path: &str,
        function: &str,
        files: &mut Vec<PathBuf>,
    ) -> Result<(FoundTool, Option<String>), String> {
        files.push(self.folder().join(path));
        let module = Module::read(self.folder(), path).await?;
        files.extend(module.beside(self.folder()));
        match &self.shared.sandbox {
            Some(sandbox) => python::tool(sandbox, module, function).await,
            None => Err(HOW_TO_GET.to_owned()),
        }
    }
}

/// An entry that is to be looked into.
struct Wanted {
    line: usize,
    what: What,
}

enum What {
    BuiltIn(String),
    Python { path: String, function: String },
    Server(Arc<Server>),
}

/// What came of an entry.
#[derive(Default)]
struct Found {
    line: usize,
    built_in: Option<String>,
    tools: Vec<FoundTool>,
    problems: Vec<Problem>,
    server: Option<Arc<Server>>,
    files: Vec<PathBuf>,
}

fn clash(line: usize, name: &str) -> Problem {
    Problem::error(line, format!("The name “{name}” is taken by another tool or server."))
}

async fn stamp(path: &Path) -> Stamp {
    let about = tokio::fs::metadata(path).await.ok()?;
    Some((about.modified().ok()?, about.len()))
}

impl Agent {
    /// Lets runs use the operator's tools. Only the first toolbox counts.
    pub fn use_toolbox(&self, toolbox: Toolbox) {
        self.shared.toolbox.get_or_init(|| toolbox);
    }

    /// The operator's tools, where there are some.
    pub fn toolbox(&self) -> Option<&Toolbox> {
        self.shared.toolbox.get()
    }

    /// What is wrong with the operator's tools, a sentence each.
    pub async fn tool_problems(&self) -> Vec<String> {
        match self.toolbox() {
            Some(toolbox) => {
                toolbox.tools().await.problems.iter().map(Problem::to_string).collect()
            }
            None => Vec::new(),
        }
    }

    /// The operator's tools that a persona can have beside those of the playground, with what they do, as they
    /// were last read.
    pub fn offered_tools(&self) -> Vec<(String, String)> {
        let known = self.toolbox().map(Toolbox::known).unwrap_or_default();
        let ours = &self.shared.playground_tools;
        let others = known.specs().iter().filter(|spec| !ours.has(&spec.name));
        let line = |spec: &ToolSpec| spec.description.lines().next().unwrap_or_default().to_owned();
        others.map(|spec| (spec.name.clone(), line(spec))).collect()
    }

    /// The tools of the operator's file, as it says now.
    pub(super) async fn operators_tools(&self) -> Registry {
        match self.toolbox() {
            Some(toolbox) => toolbox.registry().await,
            None => Registry::default(),
        }
    }
}
