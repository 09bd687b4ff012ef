//! The files of a session: the tree, one file as it is looked at and with its editor, and what a step did to
//! them. The server renders it.

use leptos::{prelude::*, server_fn::ServerFn};

use super::{
    chat_settings::Drawer,
    icon::{Glyph, Icon},
    versions::Diff,
    when::When,
    written::written,
};
use crate::{
    app::server_fns::playground::{DeleteFile, FileDiff, FileView, SaveFile, UnsavedFile},
    domain::{
        address::escaped,
        id::{ConversationId, PersonaId},
        virtual_file::{FileInfo, MAX_PATH_BYTES},
    },
};

/// Of so many lines the numbers are drawn.
const MAX_NUMBERED: usize = 20_000;

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

/// One file, as it is looked at.
#[component]
pub fn ViewDrawer(
    /// Whose session.
    persona: PersonaId,
    /// Which one.
    session: ConversationId,
    /// Its page.
    home: String,
    /// The file.
    info: FileInfo,
    /// How it is looked at.
    file: FileView,
) -> impl IntoView {
    let path = info.path.clone();
    let raw =
        format!("/api/agents/{persona}/playground/sessions/{session}/files/{}", escaped(&path));
    let here = format!("{home}?file={}", escaped(&path));
    let (edit, written) = (format!("{here}&edit=1"), format!("{here}&written=1"));
    let is_text = !matches!(file, FileView::Picture | FileView::Bytes);
    let other = match &file {
        FileView::Prose(_) | FileView::Table(_) => Some((written, "Source")),
        FileView::Lines { drawn: true, .. } => Some((here, "Preview")),
        FileView::Lines { drawn: false, .. } | FileView::Picture | FileView::Bytes => None,
    };
    let facts = facts(&info, raw.clone());
    let shown = match file {
        FileView::Lines { text, .. } if text.is_empty() => {
            view! { <p class="faint">"The file is empty."</p> }.into_any()
        }
        FileView::Lines { text, .. } => lines(&text).into_any(),
        FileView::Prose(html) => {
            view! { <div class="prose file-prose" inner_html=html></div> }.into_any()
        }
        FileView::Table(rows) => table(rows).into_any(),
        // The number of the revision keeps an older picture from being shown.
        FileView::Picture => {
            let source = format!("{raw}?revision={}", info.revision);
            view! { <img class="file-picture" src=source alt=path.clone()/> }.into_any()
        }
        FileView::Bytes => view! { <p class="faint">"This is not a text file."</p> }.into_any(),
    };
    view! {
        <Drawer title="File" home wide=true>
            <h3 class="file-path"><code>{path.clone()}</code></h3>
            {facts}
            {is_text.then(|| view! {
                <p class="row tight">
                    <a class="button quiet small" href=edit>"Edit"</a>
                    {other.map(|(href, told)| view! { <a class="button quiet small" href=href>{told}</a> })}
                </p>
            })}
            {shown}
            <DeleteButton persona=persona.to_string() session=session.to_string() path/>
        </Drawer>
    }
}

/// What is known of a file.
fn facts(info: &FileInfo, download: String) -> impl IntoView + use<> {
    let by = if info.call_id.is_some() { "by the persona" } else { "by a person" };
    view! {
        <p class="faint small">
            {told_size(info.size)} " · revision " {info.revision} " · written " {by} " " <When at=info.updated_at/>
            " · " <a href=download download rel="external">"Download"</a>
        </p>
    }
}

/// A text with the numbers of its lines beside it, which are not taken along when it is copied. One of very many
/// lines stands alone.
fn lines(text: &str) -> impl IntoView + use<> {
    // The first line break in a `pre` is not shown, so that one that belongs to the text needs another.
    let count = text.lines().count();
    let numbers = (count <= MAX_NUMBERED).then(|| {
        let numbers: String = (1..=count).map(|number| format!("{number}\n")).collect();
        view! { <pre class="numbers" aria-hidden="true">{numbers}</pre> }
    });
    view! {
        <div class="source" tabindex="0" role="region" aria-label="The text">
            {numbers}
            <pre class="text">{format!("\n{text}")}</pre>
        </div>
    }
}

fn table(mut rows: Vec<Vec<String>>) -> impl IntoView {
    let head = if rows.is_empty() { Vec::new() } else { rows.remove(0) };
    view! {
        <div class="source" tabindex="0" role="region" aria-label="The table">
            <table class="file-table">
                <thead><tr>{head.into_iter().map(|cell| view! { <th scope="col">{cell}</th> }).collect_view()}</tr></thead>
                <tbody>
                    {rows.into_iter().map(|row| view! {
                        <tr>{row.into_iter().map(|cell| view! { <td>{cell}</td> }).collect_view()}</tr>
                    }).collect_view()}
                </tbody>
            </table>
        </div>
    }
}

#[component]
fn DeleteButton(persona: String, session: String, path: String) -> impl IntoView {
    view! {
        <form method="post" action=DeleteFile::url() data-quiet data-told="The file is deleted on this branch.">
            <input type="hidden" name="persona" value=persona/>
            <input type="hidden" name="session" value=session/>
            <input type="hidden" name="path" value=path/>
            <button class="button quiet small"><Glyph icon=Icon::Bin/> "Delete"</button>
        </form>
    }
}

/// One file with its editor, or the form for a new one.
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
    let back = known.then(|| format!("{home}?file={}", escaped(&path)));
    let (persona, session) = (persona.to_string(), session.to_string());
    let (owner, owned, removed) = (persona.clone(), session.clone(), path.clone());
    let revision = info.as_ref().map_or(0, |info| info.revision).to_string();
    let facts = info.map(|info| facts(&info, download));
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
                <p class="row tight">
                    <button class="button">"Save"</button>
                    {back.map(|back| view! { <a class="button quiet" href=back>"Back to the file"</a> })}
                </p>
            </form>
        }
        .into_any(),
    };
    view! {
        <Drawer title home wide=true>
            {facts}
            {editor}
            {known.then(|| view! { <DeleteButton persona=owner session=owned path=removed/> })}
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
            {files.into_iter().map(|file| view! {
                <section class="stack">
                    <h3><code>{file.path}</code> " " <span class="badge">{file.told}</span></h3>
                    {match file.segments {
                        None => view! { <p class="faint small">"Nothing that could be shown as text."</p> }.into_any(),
                        Some(segments) => view! { <div class="code-diff"><Diff segments/></div> }.into_any(),
                    }}
                </section>
            }).collect_view()}
        </Drawer>
    }
}
