//! Who may use which address: every one of them, by name. An address that is not named here is for
//! owners only, and fails the test that walks all of them.

use std::{collections::HashMap, sync::LazyLock};

use axum::http::Method;

use crate::accounts::Class::{self, Decider, Editor, Owner, Person, Public, Viewer};

const READ: Option<Class> = Some(Viewer);
const WRITE: Option<Class> = Some(Editor);
const SET: Option<Class> = Some(Owner);
const NONE: Option<Class> = None;

/// Addresses with who may `GET`, `POST`, `PUT`, `PATCH` and `DELETE` them.
type Row = (&'static str, [Option<Class>; 5]);

const READS: [Option<Class>; 5] = [READ, NONE, NONE, NONE, NONE];
const ACTS: [Option<Class>; 5] = [NONE, WRITE, NONE, NONE, NONE];
const DECIDES: [Option<Class>; 5] = [NONE, Some(Decider), NONE, NONE, NONE];
const PUBLIC: [Option<Class>; 5] = [Some(Public), NONE, NONE, NONE, NONE];
const PUBLIC_FORM: [Option<Class>; 5] = [Some(Public), Some(Public), NONE, NONE, NONE];
const OWN: [Option<Class>; 5] = [NONE, Some(Person), NONE, NONE, NONE];
const PEOPLE: [Option<Class>; 5] = [NONE, Some(Owner), NONE, NONE, NONE];
/// A list, and making something for it.
const LIST: [Option<Class>; 5] = [READ, WRITE, NONE, NONE, NONE];
/// A thing that is read, replaced and deleted.
const THING: [Option<Class>; 5] = [READ, NONE, WRITE, NONE, WRITE];
/// A thing that is read, changed in part and deleted.
const PATCHED: [Option<Class>; 5] = [READ, NONE, NONE, WRITE, WRITE];

const ROUTES: &[Row] = &[
    // What anybody may know.
    ("/healthz", PUBLIC),
    ("/readyz", PUBLIC),
    // There is nothing to be done but to read, which is nobody's secret.
    ("/p/{slug}", [Some(Public); 5]),
    // Coming in and going.
    ("/login", PUBLIC_FORM),
    ("/logout", [NONE, Some(Public), NONE, NONE, NONE]),
    ("/enter/{secret}", PUBLIC),
    ("/invite/{secret}", PUBLIC_FORM),
    ("/reset/{secret}", PUBLIC_FORM),
    ("/account", [Some(Person), NONE, NONE, NONE, NONE]),
    ("/account/password", OWN),
    ("/account/sessions/end", OWN),
    ("/account/tokens", OWN),
    ("/account/tokens/revoke", OWN),
    ("/account/space", OWN),
    ("/people", [Some(Owner), NONE, NONE, NONE, NONE]),
    ("/people/role", PEOPLE),
    ("/people/remove", PEOPLE),
    ("/people/invite", PEOPLE),
    ("/people/reset", PEOPLE),
    ("/people/links/drop", PEOPLE),
    // The document, and addresses that are not there.
    ("/api/openapi.json", READS),
    ("/api", [READ; 5]),
    ("/api/{rest}", [READ; 5]),
    // Personas.
    ("/api/storage/personas", LIST),
    ("/api/storage/personas/import", ACTS),
    ("/api/storage/personas/import-file", ACTS),
    ("/api/storage/personas/{id}", THING),
    ("/api/storage/personas/{id}/duplicate", ACTS),
    ("/api/storage/personas/{id}/publication", [READ, WRITE, NONE, NONE, WRITE]),
    ("/api/storage/personas/{id}/versions", READS),
    ("/api/storage/personas/{id}/versions/{revision}", READS),
    ("/api/storage/personas/{id}/versions/{revision}/restore", ACTS),
    ("/api/storage/personas/{id}/diff", READS),
    ("/api/storage/personas/{id}/labels/{label}", [NONE, NONE, WRITE, NONE, WRITE]),
    ("/api/storage/personas/{id}/test-inputs", LIST),
    ("/api/storage/personas/{id}/test-inputs/{testInputId}", THING),
    ("/api/storage/personas/{id}/test-inputs/{testInputId}/answers", LIST),
    ("/api/storage/personas/{id}/answers", LIST),
    ("/api/persona-agent/chat", ACTS),
    ("/api/persona-agent/clear", ACTS),
    ("/api/persona-agent/history", READS),
    // Knowledge.
    ("/api/storage/pages", LIST),
    ("/api/storage/pages/{id}", THING),
    ("/api/storage/pages/{id}/versions", READS),
    ("/api/storage/pages/{id}/versions/{revision}", READS),
    ("/api/storage/pages/{id}/versions/{revision}/restore", ACTS),
    ("/api/storage/refs", LIST),
    ("/api/storage/refs/{id}", THING),
    ("/api/storage/refs/{id}/fetch", ACTS),
    ("/api/storage/refs/{id}/versions", READS),
    ("/api/storage/refs/{id}/versions/{revision}", READS),
    ("/api/storage/refs/{id}/versions/{revision}/restore", ACTS),
    ("/api/storage/tasks", LIST),
    ("/api/storage/tasks/{id}", THING),
    ("/api/storage/tasks/{id}/versions", READS),
    ("/api/storage/tasks/{id}/versions/{revision}", READS),
    ("/api/storage/tasks/{id}/versions/{revision}/restore", ACTS),
    ("/api/search", READS),
    // What is deleted for good is deleted by an owner.
    ("/api/storage/bin", [READ, NONE, NONE, NONE, SET]),
    ("/api/storage/bin/{entityType}/{id}", [NONE, NONE, NONE, NONE, SET]),
    ("/api/storage/bin/{entityType}/{id}/restore", ACTS),
    // Changes, and decisions on them.
    ("/api/audit", READS),
    ("/api/changes/{id}/undo", ACTS),
    ("/api/pending-changes", READS),
    ("/api/pending-changes/{id}", READS),
    ("/api/pending-changes/{id}/approve", DECIDES),
    ("/api/pending-changes/{id}/reject", DECIDES),
    ("/api/pending-changes/{id}/reopen", DECIDES),
    // Talking.
    ("/api/conversations/ambient", READS),
    ("/api/conversations/{id}/messages", LIST),
    ("/api/conversations/{id}/stream", READS),
    ("/api/chats", LIST),
    ("/api/chats/import", ACTS),
    ("/api/chats/import-file", ACTS),
    ("/api/chats/{id}", PATCHED),
    ("/api/chats/{id}/update-persona", ACTS),
    ("/api/chats/{id}/messages", LIST),
    // Where one is in a chat is one's own.
    ("/api/chats/{id}/leaf", [NONE, READ, NONE, NONE, NONE]),
    ("/api/chats/{id}/tree", READS),
    ("/api/chats/{id}/export", READS),
    ("/api/chats/{id}/markdown", READS),
    ("/api/chats/{id}/estimate", READS),
    ("/api/chats/{id}/queue", LIST),
    ("/api/chats/{id}/queue/{nextId}", [NONE, NONE, NONE, WRITE, WRITE]),
    ("/api/messages/{id}", [NONE, NONE, NONE, WRITE, NONE]),
    ("/api/messages/{id}/regenerate", ACTS),
    ("/api/messages/{id}/edit", ACTS),
    ("/api/messages/{id}/prune", ACTS),
    ("/api/messages/{id}/restore", ACTS),
    ("/api/messages/{id}/prompt", READS),
    ("/api/messages/{id}/test-input", ACTS),
    ("/api/messages/{id}/rating", THING),
    ("/api/conversations/{id}/ratings", READS),
    // The terminal's sessions.
    ("/api/terminal/find", READS),
    ("/api/terminal/import", ACTS),
    // They name files and variables of whoever runs the server, so a reader is not told.
    ("/api/terminal/problems", [WRITE, NONE, NONE, NONE, NONE]),
    ("/api/terminal/sessions", LIST),
    ("/api/terminal/sessions/{sessionId}", PATCHED),
    ("/api/terminal/sessions/{sessionId}/discard", ACTS),
    ("/api/terminal/sessions/{sessionId}/drafts", READS),
    ("/api/terminal/sessions/{sessionId}/messages", LIST),
    ("/api/terminal/sessions/{sessionId}/record", READS),
    ("/api/terminal/sessions/{sessionId}/restore", ACTS),
    // Runs, and what they left.
    ("/api/live", READS),
    ("/api/runs/{id}", READS),
    ("/api/runs/{id}/events", READS),
    ("/api/runs/{id}/stop", ACTS),
    ("/api/runs/{id}/retry", ACTS),
    ("/api/runs/{id}/continue", ACTS),
    ("/api/runs/{id}/branch", ACTS),
    ("/api/traces", READS),
    ("/api/traces/{id}", READS),
    ("/api/usage", READS),
    // Pictures.
    ("/api/pictures", LIST),
    ("/api/pictures/{id}", [READ, NONE, NONE, NONE, WRITE]),
    ("/api/pictures/{id}/retry", ACTS),
    ("/api/pictures/{id}/restore", ACTS),
    ("/api/pictures/{id}/face", ACTS),
    ("/api/pictures/{id}/file", READS),
    ("/api/picture-settings", [READ, NONE, SET, NONE, NONE]),
    // The playground.
    ("/api/agents/{id}/playground/chat", ACTS),
    ("/api/agents/{id}/playground/{sessionId}/stream", READS),
    ("/api/agents/{id}/playground/chat/{sessionId}/stream", READS),
    ("/api/agents/{id}/playground/{sessionId}/stop", ACTS),
    ("/api/agents/{id}/playground/sessions", LIST),
    ("/api/agents/{id}/playground/sessions/{sessionId}", PATCHED),
    ("/api/agents/{id}/playground/sessions/{sessionId}/restore", ACTS),
    ("/api/agents/{id}/playground/sessions/{sessionId}/clear", ACTS),
    ("/api/agents/{id}/playground/sessions/{sessionId}/leaf", ACTS),
    ("/api/agents/{id}/playground/sessions/{sessionId}/files", READS),
    ("/api/agents/{id}/playground/sessions/{sessionId}/files/{path}", THING),
    ("/api/agents/{id}/playground/sessions/{sessionId}/files.zip", READS),
    ("/api/agents/{id}/playground/sessions/{sessionId}/upload", ACTS),
    // Services, their keys, and limits are the owners'.
    ("/api/models", [READ, NONE, SET, NONE, SET]),
    ("/api/models/default", [NONE, NONE, SET, NONE, NONE]),
    ("/api/services", [READ, NONE, SET, NONE, SET]),
    ("/api/budgets", [READ, NONE, SET, NONE, NONE]),
    // The companion's rail.
    ("/rail", READS),
    ("/rail/turns", READS),
    ("/rail/runs/{id}", READS),
    ("/rail/drafts/{id}", READS),
    ("/rail/answers/{runs}", READS),
    // Pages.
    ("/", READS),
    ("/personas/{id}", READS),
    ("/personas/{id}/roleplay", READS),
    ("/chats", READS),
    ("/chats/{id}", READS),
    ("/knowledge", READS),
    ("/pages/{id}", READS),
    ("/refs/{id}", READS),
    ("/tasks/{id}", READS),
    ("/search", READS),
    ("/conflicts/{id}", READS),
    ("/playground/{id}", READS),
    ("/playground/{id}/{session}", READS),
    ("/gallery", READS),
    ("/inbox", READS),
    ("/audit", READS),
    ("/traces", READS),
    ("/traces/{id}", READS),
    ("/usage", READS),
    ("/terminal", READS),
    ("/terminal/{id}", READS),
    ("/bin", READS),
    ("/settings", READS),
];

/// What pages ask of the server, by name and by who may.
const FUNCTIONS: &[(Class, &[&str])] = &[
    (
        Viewer,
        &[
            "compare_branches",
            "compare_entry_versions",
            "compare_versions",
            "earlier_answers",
            "find_targets",
            "find_things",
            "go_to_message",
            "last_answers",
            "list_audit",
            "list_bin",
            "list_chats",
            "list_drafts",
            "list_entries",
            "list_entry_versions",
            "list_models",
            "list_personas",
            "list_terminals",
            "list_test_inputs",
            "list_traces",
            "list_versions",
            "map_chat",
            "open_chat",
            "open_conflict",
            "open_enhance",
            "open_gallery",
            "open_page",
            "open_persona",
            "open_playground",
            "open_publish",
            "open_ref",
            "open_session",
            "open_task",
            "open_terminal",
            "open_trace",
            "preview_markdown",
            "read_budgets",
            "read_page",
            "read_picture_settings",
            "read_usage",
            "set_theme",
            "what_was_sent",
        ],
    ),
    (
        Editor,
        &[
            "add_test_input",
            "answer_again",
            "begin_chat",
            "begin_session",
            "clear_session",
            "create_entry",
            "create_persona",
            "delete_chat",
            "delete_entry",
            "delete_file",
            "delete_persona",
            "delete_picture",
            "delete_session",
            "delete_terminal",
            "delete_test_input",
            "describe_terminal",
            "draw_roleplay",
            "drop_next",
            "duplicate_persona",
            "edit_message",
            "edit_paragraph",
            "enhance_persona",
            "fetch_ref",
            "go_on_run",
            "go_to_in_session",
            "hold_next",
            "imagine_picture",
            "keep_as_test",
            "make_face",
            "mark_message",
            "move_test_input",
            "prune_message",
            "publish_persona",
            "publish_version",
            "regenerate_message",
            "release_next",
            "rename_chat",
            "restore_entry_version",
            "restore_from_bin",
            "restore_version",
            "retry_picture",
            "retry_run",
            "run_all_test_inputs",
            "run_on",
            "run_test_input",
            "save_chat",
            "save_entry",
            "save_file",
            "save_kept",
            "save_persona",
            "save_roleplay",
            "save_session",
            "save_test_input",
            "say",
            "say_otherwise",
            "set_label",
            "set_speakers",
            "set_tools",
            "start_afresh",
            "stop_run",
            "undo_change",
            "unpublish_persona",
            "update_chat_persona",
        ],
    ),
    (Decider, &["approve_draft", "decide_drafts", "reject_draft", "reopen_draft"]),
    (
        Owner,
        &[
            "add_model",
            "empty_bin",
            "purge_from_bin",
            "remove_model",
            "reset_service",
            "save_budgets",
            "save_picture_settings",
            "save_service",
            "set_default_model",
        ],
    ),
];

/// Where server functions are.
pub const FUNCTIONS_AT: &str = "/fn/";

static BY_PATH: LazyLock<HashMap<&str, [Option<Class>; 5]>> =
    LazyLock::new(|| ROUTES.iter().copied().collect());
static BY_NAME: LazyLock<HashMap<&str, Class>> = LazyLock::new(|| {
    let rows = FUNCTIONS.iter();
    rows.flat_map(|(class, names)| names.iter().map(|name| (*name, *class))).collect()
});

/// Who may use an address, named as the router does, by this method. Nothing when nobody said so.
pub fn class_of(method: &Method, path: &str) -> Option<Class> {
    if let Some(name) = path.strip_prefix(FUNCTIONS_AT) {
        return BY_NAME.get(name).copied();
    }
    let path = path.replace("{*", "{");
    let row = BY_PATH.get(path.as_str())?;
    let column = match *method {
        Method::GET | Method::HEAD => 0,
        Method::POST => 1,
        Method::PUT => 2,
        Method::PATCH => 3,
        Method::DELETE => 4,
        _ => return None,
    };
    row[column]
}

/// The addresses that are named here, and the server functions.
pub fn named() -> (Vec<&'static str>, Vec<&'static str>) {
    (BY_PATH.keys().copied().collect(), BY_NAME.keys().copied().collect())
}
