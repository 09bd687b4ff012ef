//! The palette: type a few letters, go there.

use leptos::{ev::KeyboardEvent, html::Dialog, prelude::*, task::spawn_local};
use leptos_router::hooks::use_navigate;

use super::frame::PLACES;
use crate::app::{
    platform,
    server_fns::search::{Target, find_targets},
};

/// How long to wait after a letter before asking the server.
const PAUSE_MS: u32 = 120;

/// The places whose names have the letters in them.
fn places(search: &str) -> Vec<Target> {
    let search = search.trim().to_lowercase();
    PLACES
        .iter()
        .filter(|place| place.label.to_lowercase().contains(&search))
        .map(|place| Target {
            path: place.path.into(),
            label: place.label.into(),
            kind: "place".into(),
        })
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
    // What was found, and by which letters.
    let found = RwSignal::new((String::new(), Vec::<Target>::new()));
    let problem = RwSignal::new(None::<String>);
    let marked = RwSignal::new(0_usize);
    // Places stand first, so that nothing moves under the cursor when the rest arrives; until then, what
    // was found before stays where it still fits.
    let targets = Memo::new(move |_| {
        let (search, found) = (search.read(), found.read());
        let mut targets = places(&search);
        let letters = search.trim().to_lowercase();
        let fits =
            |target: &&Target| found.0 == *search || target.label.to_lowercase().contains(&letters);
        targets.extend(found.1.iter().filter(fits).cloned());
        targets
    });
    let alarm = platform::Alarm::unset();
    let ask = move |wanted: String| {
        spawn_local(async move {
            let targets = find_targets(wanted.clone()).await;
            // A slow answer to an older question is dropped.
            if search.get_untracked() != wanted {
                return;
            }
            match targets {
                Ok(targets) => {
                    found.set((wanted, targets));
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
                aria-label="Go to anything by its words"
                aria-activedescendant=move || format!("palette-{}", marked.get())
                placeholder="Go to anything by its words"
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
            {move || targets.read().is_empty().then(|| view! { <p class="faint">"Nothing found."</p> })}
            {move || problem.get().map(|problem| view! { <p class="problem">{problem}</p> })}
        </dialog>
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_found_by_any_letters_of_their_names() {
        let found =
            |search: &str| places(search).into_iter().map(|target| target.path).collect::<Vec<_>>();

        assert_eq!(found(" BIN "), ["/bin"]);
        assert_eq!(found("s"), ["/", "/chats", "/search", "/traces", "/usage", "/settings"]);
        assert_eq!(found("zzz"), Vec::<String>::new());
    }
}
