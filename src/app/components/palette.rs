//! The palette: type a few letters, go there.

use leptos::{ev::KeyboardEvent, html::Dialog, prelude::*, task::spawn_local};
use leptos_router::hooks::use_navigate;

use super::frame::PLACES;
use crate::app::{platform, server_fns::personas::list_personas};

/// How long to wait after a letter before asking the server.
const PAUSE_MS: u32 = 120;
/// The most personas that are offered.
const MOST: usize = 12;

/// Somewhere to go.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Target {
    path: String,
    label: String,
    kind: &'static str,
}

/// The pages whose names have the letters in them.
fn places(search: &str) -> Vec<Target> {
    let search = search.trim().to_lowercase();
    PLACES
        .iter()
        .filter(|place| place.label.to_lowercase().contains(&search))
        .map(|place| Target { path: place.path.into(), label: place.label.into(), kind: "Page" })
        .collect()
}

/// The dialog. `opened` counts how often it was opened, so that it starts afresh each time.
#[component]
pub fn Palette(
    /// The dialog's place in the page.
    dialog: NodeRef<Dialog>,
    /// Counts how often it was opened.
    opened: RwSignal<u32>,
) -> impl IntoView {
    let search = RwSignal::new(String::new());
    let personas = RwSignal::new(Vec::<Target>::new());
    let problem = RwSignal::new(None::<String>);
    let marked = RwSignal::new(0_usize);
    // Pages stand first, so that nothing moves under the cursor when personas arrive.
    let targets = Memo::new(move |_| {
        let search = search.read().trim().to_lowercase();
        let mut targets = places(&search);
        let fits = |target: &&Target| target.label.to_lowercase().contains(&search);
        targets.extend(personas.read().iter().filter(fits).cloned());
        targets
    });
    let alarm = platform::Alarm::unset();
    let ask = move |wanted: String| {
        spawn_local(async move {
            let found = list_personas(wanted.clone(), None).await;
            // A slow answer to an older question is dropped.
            if search.get_untracked() != wanted {
                return;
            }
            match found {
                Ok(list) => {
                    let found = list.page.items.into_iter().take(MOST).map(|persona| Target {
                        path: format!("/personas/{}", persona.id),
                        label: persona.name,
                        kind: "Persona",
                    });
                    personas.set(found.collect());
                    problem.set(None);
                }
                Err(error) => problem.set(Some(error.to_string())),
            }
        });
    };
    Effect::new(move |_| {
        if opened.get() > 0 {
            search.set(String::new());
            marked.set(0);
            ask(String::new());
            platform::focus("palette-search");
        }
    });
    let type_in = move |text: String| {
        search.set(text.clone());
        marked.set(0);
        alarm.set(PAUSE_MS, move || ask(text));
    };
    let navigate = use_navigate();
    let go = Callback::new(move |path: String| {
        platform::close_dialog(dialog);
        navigate(&path, Default::default());
    });
    let on_key = move |event: KeyboardEvent| {
        let count = targets.read().len();
        match event.key().as_str() {
            "ArrowDown" if count > 0 => marked.update(|at| *at = (*at + 1) % count),
            "ArrowUp" if count > 0 => marked.update(|at| *at = (*at + count - 1) % count),
            "Enter" => {
                let target = targets.read().get(marked.get()).cloned();
                if let Some(target) = target {
                    go.run(target.path);
                }
            }
            _ => return,
        }
        event.prevent_default();
    };
    view! {
        <dialog class="palette" node_ref=dialog aria-label="Go to">
            <input
                id="palette-search"
                type="text"
                role="combobox"
                autocomplete="off"
                aria-expanded="true"
                aria-controls="palette-list"
                aria-label="Go to a persona or a page"
                aria-activedescendant=move || format!("palette-{}", marked.get())
                placeholder="Go to a persona or a page"
                prop:value=search
                on:input=move |event| type_in(event_target_value(&event))
                on:keydown=on_key
            />
            <ul id="palette-list" role="listbox" aria-label="Found">
                {move || targets.get().into_iter().enumerate().map(|(at, target)| {
                    let path = target.path.clone();
                    view! {
                        <li
                            id=format!("palette-{at}")
                            role="option"
                            aria-selected=move || (marked.get() == at).to_string()
                            on:click=move |_| go.run(path.clone())
                        >
                            <span>{target.label}</span>
                            <small>{target.kind}</small>
                        </li>
                    }
                }).collect_view()}
            </ul>
            {move || targets.read().is_empty().then(|| view! { <p class="faint">"Nothing by that name."</p> })}
            {move || problem.get().map(|problem| view! { <p class="problem">{problem}</p> })}
        </dialog>
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_found_by_any_letters_of_their_names() {
        let found =
            |search: &str| places(search).into_iter().map(|target| target.path).collect::<Vec<_>>();

        assert_eq!(found(" BIN "), ["/bin"]);
        assert_eq!(found("s"), ["/", "/settings"]);
        assert_eq!(found("zzz"), Vec::<String>::new());
    }
}
