//! The public page of a persona: to be read, without a frame, a program, or anything that was not
//! chosen. The server puts it into a document of its own.

use leptos::prelude::*;

use crate::app::components::avatar::Avatar;

/// What the page shows, with its texts rendered.
pub struct ShownPage {
    /// The name.
    pub name: String,
    /// How it looks.
    pub appearance: String,
    /// The system prompt as HTML, if it is shown.
    pub prompt: Option<String>,
    /// What was said, and what was answered as HTML.
    pub examples: Vec<(String, String)>,
}

/// The page.
#[component]
pub fn PublishedPage(
    /// What it shows.
    page: ShownPage,
) -> impl IntoView {
    let ShownPage { name, appearance, prompt, examples } = page;
    let (title, speaker) = (name.clone(), name.clone());
    let seen = !appearance.trim().is_empty();
    view! {
        <main class="public" id="page">
            <header class="public-head">
                // Its pictures are not public.
                <Avatar name face=""/>
                <h1>{title}</h1>
                {seen.then(|| view! { <p class="lines">{appearance}</p> })}
            </header>
            {(!examples.is_empty()).then(|| view! {
                <section aria-labelledby="examples">
                    <h2 id="examples">"In conversation"</h2>
                    {examples.into_iter().map(|(input, answer)| view! {
                        <div class="public-example">
                            <p class="public-asked lines">{input}</p>
                            <div class="public-answer">
                                <p class="small faint">{speaker.clone()}</p>
                                <div class="prose" inner_html=answer></div>
                            </div>
                        </div>
                    }).collect_view()}
                </section>
            })}
            {prompt.map(|prompt| view! {
                <section aria-labelledby="prompt">
                    <h2 id="prompt">"System prompt"</h2>
                    <div class="card prose" inner_html=prompt></div>
                </section>
            })}
            <footer class="small faint">"A persona made with Greenroom."</footer>
        </main>
    }
}

/// What stands where no page is, or is no longer.
#[component]
pub fn NothingPublished() -> impl IntoView {
    view! {
        <main class="public" id="page">
            <section class="empty">
                <h1>"Nothing to see here"</h1>
                <p>"There is no public page at this address. It may have been taken down by whoever published it, or the address may be mistyped."</p>
            </section>
        </main>
    }
}
