//! The bar at the bottom, in which one talks to the page.

use leptos::{
    ev::{KeyboardEvent, SubmitEvent},
    html::{Form, Textarea},
    prelude::*,
    server_fn::ServerFn,
    task::spawn_local,
};

use super::{Talk, WORDS};
use crate::{
    app::{
        components::{
            icon::{Glyph, Icon},
            notice::use_notices,
        },
        platform,
        server_fns::{answers::StopRun, rail::Say},
        state::{
            panel::{Event, Shown},
            shortcut::Shortcut,
        },
    },
    domain::error::ApiError,
};

/// The bar.
#[component]
pub fn Composer(
    /// What is talked.
    talk: Talk,
) -> impl IntoView {
    let form = NodeRef::<Form>::new();
    let area = NodeRef::<Textarea>::new();
    let words = RwSignal::new(String::new());
    let marked = RwSignal::new(String::new());
    // What was sent along, or left out, does not go along again by itself.
    let passed = StoredValue::new(String::new());
    let pass = move || {
        passed.set_value(marked.get_untracked());
        marked.set(String::new());
    };
    let take_marked = move |left| {
        let found = platform::marked_text(left);
        if !found.is_empty() && passed.with_value(|passed| *passed != found) {
            marked.set(found);
        }
    };
    Effect::new(move |_| {
        // What was typed while the program was loading, or stood here when the document was left.
        if let Some(text) = platform::typed_early(WORDS).or_else(|| platform::noted(WORDS)) {
            words.set(text);
        }
        platform::on_pointer_down(move |event| {
            // What is marked once more is meant once more.
            if platform::is_in(event, "main") {
                passed.set_value(String::new());
            }
        });
        platform::on_shortcut(move |wish| {
            let talks = wish == Shortcut::Talk;
            if talks {
                // Once the cursor is in the bar, nothing is marked elsewhere.
                take_marked(None);
                platform::focus(WORDS);
            }
            talks
        });
    });
    // What is marked is said of the page it stands on.
    Effect::new(move |_| {
        talk.at.track();
        marked.set(String::new());
    });
    let sending = RwSignal::new(false);
    // In a chat its persona listens; the companion is asked aside.
    let in_chat = Memo::new(move |_| {
        let at = talk.at.read();
        let in_session = |rest: &str| rest.contains('/');
        at.starts_with("/chats/") || at.strip_prefix("/playground/").is_some_and(in_session)
    });
    let notices = use_notices();
    // Set while an answer is in the way of what is to be said: it can wait for it.
    let busy = RwSignal::new(false);
    let send = move |aside: bool, wait: bool| {
        let Some(element) = form.get_untracked() else { return };
        let said = words.get_untracked();
        if said.trim().is_empty() || sending.get_untracked() {
            return;
        }
        sending.set(true);
        spawn_local(async move {
            let sent = platform::send_words(element, aside, wait).await;
            sending.set(false);
            busy.set(false);
            let to_persona = in_chat.get_untracked() && !aside;
            match sent {
                Ok(_) => {
                    // What was typed meanwhile stays.
                    words.update(|words| {
                        *words = words.strip_prefix(&said).unwrap_or(words).to_owned()
                    });
                    pass();
                    if to_persona {
                        platform::show_said();
                        return;
                    }
                    talk.forget();
                    let hidden = talk.panel.read_untracked().shown == Shown::Hidden;
                    talk.on(Event::Sent);
                    // The question waits until its answer is followed.
                    talk.on(Event::Waits(true));
                    if !hidden {
                        talk.load("");
                    }
                }
                Err(ApiError::Busy { .. }) if to_persona => busy.set(true),
                Err(error) => {
                    notices.tell(error.to_string());
                    // What the page does not show yet may be in the way.
                    platform::renew_served();
                }
            }
        });
    };
    let on_key = move |event: KeyboardEvent| {
        if event.key() == "Enter" && !event.shift_key() && !event.is_composing() {
            event.prevent_default();
            send(false, false);
        }
    };
    let to_whom = move || {
        if talk.at.read().starts_with("/personas/") {
            // Its agent listens, or the companion where it is gone.
            "Talk about this persona…"
        } else if in_chat.get() {
            "Say something…"
        } else {
            "Talk to the companion…"
        }
    };
    let stop = move |_| {
        if let Some(run) = talk.running.get_untracked() {
            platform::post(StopRun::url(), &run);
        }
    };
    let unseen = move || talk.panel.read().unseen;
    let rows = Memo::new(move |_| words.read().lines().count().clamp(1, 8).to_string());
    // The panel ends where the bar begins.
    Effect::new(move |_| {
        platform::note(WORDS, &words.read());
        marked.track();
        busy.track();
        platform::measure_bar();
    });
    let plain = move || format!("/rail?whole=1&at={}", talk.at.get());
    view! {
        <form
            id="composer"
            class="composer"
            method="post"
            action=Say::url()
            node_ref=form
            on:submit=move |event: SubmitEvent| { event.prevent_default(); send(false, false); }
        >
            <input type="hidden" name="at" value=talk.at/>
            <input type="hidden" name="marked" prop:value=marked/>
            <input type="hidden" name="parent"/>
            <input type="hidden" name="aside" value="true" disabled/>
            <input type="hidden" name="wait" value="true" disabled/>
            <Show when=move || !marked.read().trim().is_empty()>
                <p class="marked small">
                    <q>{move || marked.read().chars().take(120).collect::<String>()}</q>
                    <button type="button" class="icon tiny" aria-label="Leave the marked passage out" on:click=move |_| pass()>
                        <Glyph icon=Icon::Close/>
                    </button>
                </p>
            </Show>
            <Show when=move || busy.get()>
                <p class="marked small" role="status">
                    "An answer is being given. "
                    <button type="button" class="button quiet small" on:click=move |_| send(false, true)>"Send when the answer is there"</button>
                </p>
            </Show>
            <div class="composer-line">
                <label class="sr" for=WORDS>{to_whom}</label>
                <textarea
                    id=WORDS
                    name="words"
                    node_ref=area
                    rows=rows
                    required
                    maxlength="50000"
                    placeholder=to_whom
                    prop:value=words
                    on:focus=move |event| take_marked(event.related_target())
                    on:input=move |event| words.set(event_target_value(&event))
                    on:keydown=on_key
                ></textarea>
                <Show when=move || talk.running.read().is_some()>
                    <button type="button" class="button quiet" on:click=stop><Glyph icon=Icon::Stop/> "Stop"</button>
                </Show>
                <button class="button" aria-label="Send" disabled=sending><Glyph icon=Icon::Up/></button>
                <Show when=move || in_chat.get()>
                    <button
                        class="button quiet"
                        name="aside"
                        value="true"
                        aria-label="Ask aside"
                        title="Ask the companion about this chat"
                        disabled=sending
                        on:click=move |event| { event.prevent_default(); send(true, false); }
                    >
                        <Glyph icon=Icon::Search/>
                        <span class="wide">"Ask aside"</span>
                    </button>
                </Show>
                <button
                    type="button"
                    class="button quiet needs-script"
                    aria-expanded=move || (talk.panel.read().shown != Shown::Hidden).to_string()
                    aria-controls="rail"
                    on:click=move |_| talk.on(Event::Asked)
                >
                    <Glyph icon=Icon::Talk/>
                    <span class="wide">"Show output"</span>
                    {move || (unseen() > 0).then(|| view! { <span class="badge good">{unseen()}</span> })}
                </button>
                <noscript><a class="button quiet" href=plain>"Show output"</a></noscript>
            </div>
        </form>
    }
}
