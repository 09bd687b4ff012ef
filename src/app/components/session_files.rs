//! The files of a session: the tree, one file with its editor, and what a step did to them. The server
//! renders it.

use leptos::{prelude::*, server_fn::ServerFn};

use super::{
    chat_settings::Drawer,
    icon::{Glyph, Icon},
    versions::Diff,
    when::When,
    written::written,
};
use crate::{
    app::server_fns::playground::{DeleteFile, FileDiff, SaveFile, UnsavedFile},
    domain::{
        address::escaped,
        id::{ConversationId, PersonaId},
        virtual_file::{FileInfo, MAX_PATH_BYTES},
    },
};

/// The files as a tree, and the ways in and out.
#[component]
pub fn FileTree(
    /// Whose session.
    persona: PersonaId,
    /// Which one.
    session: ConversationId,
    /// Its page.
    home: String,
    /// The files, by their paths.
    files: Vec<FileInfo>,
) -> impl IntoView {
    let address = format!("/api/agents/{persona}/playground/sessions/{session}");
    let (archive, upload) = (format!("{address}/files.zip"), format!("{address}/upload"));
    let new = format!("{home}?new=1");
    let count = files.len();
    let rows = rows(&files, &home);
    view! {
        <section class="card stack" id="session-files" aria-labelledby="files-title">
            <header class="row apart">
                <h2 id="files-title">"Files " <span class="faint small">{count}</span></h2>
                <span class="row tight">
                    <a class="button quiet small" href=new><Glyph icon=Icon::Plus/> "New"</a>
                    {(count > 0).then(|| view! { <a class="button quiet small" href=archive download rel="external">"Zip"</a> })}
                </span>
            </header>
            {(count == 0).then(|| view! { <p class="faint small">"No files yet. The persona writes here, and so can you."</p> })}
            <ul class="file-tree">{rows}</ul>
            <form method="post" action=upload enctype="multipart/form-data" class="row tight">
                <label class="sr" for="upload">"Files from this computer"</label>
                <input id="upload" type="file" name="file" multiple required class="small"/>
                <button class="button quiet small">"Upload"</button>
            </form>
        </section>
    }
}

/// A row for each folder and file, deeper ones further in.
fn rows(files: &[FileInfo], home: &str) -> Vec<AnyView> {
    let mut rows = Vec::new();
    let mut open: Vec<&str> = Vec::new();
    for file in files {
        let mut steps: Vec<&str> = file.path.split('/').collect();
        let name = steps.pop().unwrap_or_default().to_owned();
        let same = open.iter().zip(&steps).take_while(|(one, other)| one == other).count();
        open.truncate(same);
        for step in &steps[same..] {
            let depth = open.len().to_string();
            rows.push(
                view! { <li class="folder" data-depth=depth>{format!("{step}/")}</li> }.into_any(),
            );
            open.push(step);
        }
        let (depth, size) = (steps.len().to_string(), told_size(file.size));
        let href = format!("{home}?file={}", escaped(&file.path));
        rows.push(
            view! { <li data-depth=depth><a href=href>{name}</a> " " <span class="faint small">{size}</span></li> }
                .into_any(),
        );
    }
    rows
}

fn told_size(bytes: u64) -> String {
    match bytes {
        0..1024 => format!("{bytes} B"),
        1024..1_048_576 => format!("{} KiB", bytes.div_ceil(1024)),
        _ => format!("{} MiB", bytes.div_ceil(1_048_576)),
    }
}

/// One file: read, edit, delete; or the form for a new one.
#[component]
pub fn FileDrawer(
    /// Whose session.
    persona: PersonaId,
    /// Which one.
    session: ConversationId,
    /// Its page.
    home: String,
    /// The file with its text, which is missing when it is none; no file for a new one.
    file: Option<(FileInfo, Option<String>)>,
) -> impl IntoView {
    let (info, text) = match file {
        Some((info, text)) => (Some(info), text),
        None => (None, Some(String::new())),
    };
    let title = if info.is_some() { "File" } else { "New file" };
    let path = info.as_ref().map(|info| info.path.clone()).unwrap_or_default();
    let known = !path.is_empty();
    let download =
        format!("/api/agents/{persona}/playground/sessions/{session}/files/{}", escaped(&path));
    let (persona, session) = (persona.to_string(), session.to_string());
    let (owner, owned, removed) = (persona.clone(), session.clone(), path.clone());
    let revision = info.as_ref().map_or(0, |info| info.revision).to_string();
    let facts = info.map(|info| {
        let by = if info.call_id.is_some() { "by the persona" } else { "by you" };
        view! {
            <p class="faint small">
                {told_size(info.size)} " · revision " {info.revision} " · written " {by} " " <When at=info.updated_at/>
                " · " <a href=download download rel="external">"Download"</a>
            </p>
        }
    });
    let editor = match text {
        None => view! { <p class="faint">"This is not a text file."</p> }.into_any(),
        Some(text) => view! {
            <form method="post" action=SaveFile::url() class="stack" data-quiet>
                <input type="hidden" name="persona" value=persona/>
                <input type="hidden" name="session" value=session/>
                <input type="hidden" name="revision" value=revision/>
                <div class="field">
                    <label for="file-path">"Path"</label>
                    <input id="file-path" name="path" value=path required readonly=known maxlength=MAX_PATH_BYTES.to_string()/>
                </div>
                <div class="field">
                    <label for="file-content">"Content"</label>
                    <textarea id="file-content" name="content" class="code" rows="20" spellcheck="false" inner_html=written(&text)></textarea>
                </div>
                <p><button class="button">"Save"</button></p>
            </form>
        }
        .into_any(),
    };
    view! {
        <Drawer title home wide=true>
            {facts}
            {editor}
            {known.then(|| view! {
                <form method="post" action=DeleteFile::url() data-quiet data-told="The file is deleted on this branch.">
                    <input type="hidden" name="persona" value=owner/>
                    <input type="hidden" name="session" value=owned/>
                    <input type="hidden" name="path" value=removed/>
                    <button class="button quiet small"><Glyph icon=Icon::Bin/> "Delete"</button>
                </form>
            })}
        </Drawer>
    }
}

/// A text that could not be saved, beside what stands there now.
#[component]
pub fn UnsavedDrawer(
    /// Whose session.
    persona: PersonaId,
    /// Which one.
    session: ConversationId,
    /// Its page.
    home: String,
    /// Both texts.
    file: UnsavedFile,
) -> impl IntoView {
    let UnsavedFile { path, yours, theirs, revision } = file;
    let told = match (revision, &theirs) {
        (0, _) => format!("“{path}” was deleted while you wrote. Your text is not saved yet."),
        (_, None) => format!("“{path}” is no text by now. Your text is not saved yet."),
        (_, Some(_)) => {
            format!("There is another “{path}” than you saw. Your text is not saved yet.")
        }
    };
    view! {
        <Drawer title="Two texts" home wide=true>
            <p class="problem" role="alert">{told}</p>
            <form method="post" action=SaveFile::url() class="stack" data-quiet>
                <input type="hidden" name="persona" value=persona.to_string()/>
                <input type="hidden" name="session" value=session.to_string()/>
                <input type="hidden" name="path" value=path/>
                <input type="hidden" name="revision" value=revision.to_string()/>
                <div class="field">
                    <label for="file-content">"Your text"</label>
                    <textarea id="file-content" name="content" class="code" rows="12" spellcheck="false" inner_html=written(&yours)></textarea>
                </div>
                {theirs.map(|theirs| view! {
                    <div class="field">
                        <label for="file-there">"What stands there now"</label>
                        <textarea id="file-there" class="code" rows="12" readonly inner_html=written(&theirs)></textarea>
                    </div>
                })}
                <p class="row tight">
                    <button class="button">"Save mine"</button>
                    <button class="button quiet" name="leave" value="true">"Leave mine"</button>
                </p>
            </form>
        </Drawer>
    }
}

/// What a step did to files.
#[component]
pub fn StepDrawer(
    /// The files.
    files: Vec<FileDiff>,
    /// The page of the session.
    home: String,
) -> impl IntoView {
    let none = files.is_empty();
    view! {
        <Drawer title="What this step changed" home wide=true>
            {none.then(|| view! { <p class="faint">"No file."</p> })}
            {files.into_iter().map(|file| {
                let binary = file.segments.is_empty();
                view! {
                    <section class="stack">
                        <h3><code>{file.path}</code> " " <span class="badge">{file.told}</span></h3>
                        {if binary {
                            view! { <p class="faint small">"Nothing that could be shown as text."</p> }.into_any()
                        } else {
                            view! { <div class="code-diff"><Diff segments=file.segments/></div> }.into_any()
                        }}
                    </section>
                }
            }).collect_view()}
        </Drawer>
    }
}
