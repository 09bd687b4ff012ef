//! A page of knowledge: to write, and to read with its links.

use std::collections::BTreeMap;

use leptos::{prelude::*, server_fn::ServerFn};
use leptos_router::hooks::{use_params_map, use_query_map};

use crate::{
    app::{
        components::{entry_form::EntryForm, problem::PageProblem, written::written},
        server_fns::knowledge::{PageData, ReadPage, open_page, read_page},
    },
    domain::{change::Entity, error::ApiError, id::PageId},
};

/// The page.
#[component]
pub fn PagePage() -> impl IntoView {
    let id = PageId::new(use_params_map().read_untracked().get("id").unwrap_or_default());
    let previews = use_query_map().read_untracked().get("preview").is_some();
    view! {
        <Suspense>
            {Suspend::new(async move {
                let html = match previews {
                    true => Some(read_page(id.clone(), BTreeMap::new()).await),
                    false => None,
                };
                match open_page(id).await {
                    Ok(open) => shown(open, html).into_any(),
                    Err(error) => view! { <PageProblem error/> }.into_any(),
                }
            })}
        </Suspense>
    }
}

fn shown(
    PageData { page, linked_from }: PageData,
    html: Option<Result<String, ApiError>>,
) -> AnyView {
    let entity = Entity::from(&page.id);
    let home = entity.path().unwrap_or_default();
    let preview = format!("{home}?preview=1");
    let current = |here: bool| (html.is_some() == here).then_some("page");
    let (writes, reads) = (current(false), current(true));
    // While something is typed, the two only turn the text over.
    let typed = |to: &'static str| html.is_none().then_some(to);
    let (typed, read) = (typed(""), typed(ReadPage::url()));
    let title = page.fields.title;
    let head = match &html {
        None => view! { <label for="body"><h2>"Text"</h2></label> }.into_any(),
        Some(_) => view! { <h2>"Text"</h2> }.into_any(),
    };
    let text = match html {
        None => view! { <Body text=page.fields.body/> }.into_any(),
        Some(Ok(html)) if html.is_empty() => {
            view! { <p class="faint">"Nothing is written here yet."</p> }.into_any()
        }
        Some(Ok(html)) => view! { <div class="prose" inner_html=html></div> }.into_any(),
        Some(Err(error)) => view! { <p class="problem">{error.to_string()}</p> }.into_any(),
    };
    view! {
        <EntryForm entity revision=page.revision updated_at=page.updated_at name=title.clone() title>
            <section class="card prompt">
                <header class="row apart">
                    {head}
                    <nav class="segments" aria-label="Writing or reading">
                        <a href=home aria-current=writes data-typed=typed>"Write"</a>
                        <a href=preview aria-current=reads data-typed=read>"Preview"</a>
                    </nav>
                </header>
                {text}
            </section>
        </EntryForm>
        {(!linked_from.is_empty()).then(|| view! { <LinkedFrom pages=linked_from/> })}
    }
    .into_any()
}

/// The text, to write.
#[component]
fn Body(text: String) -> impl IntoView {
    let rows = text.lines().count().clamp(16, 40);
    view! {
        <textarea
            id="body"
            class="grow"
            name="fields[body]"
            rows=rows
            spellcheck="true"
            aria-describedby="text-hint"
            placeholder="What should be remembered?"
            inner_html=written(&text)
        ></textarea>
        <div id="typed" class="prose"></div>
        <p id="text-hint" class="faint small">
            "Markdown. " <code>"[[Title]]"</code> " links to the page or the persona with that title."
        </p>
    }
}

/// The pages that link to this one.
#[component]
fn LinkedFrom(pages: Vec<(String, String)>) -> impl IntoView {
    view! {
        <section class="linked" aria-labelledby="linked-title">
            <h2 id="linked-title">"Linked from"</h2>
            <ul>
                {pages.into_iter().map(|(path, title)| view! { <li><a href=path>{title}</a></li> }).collect_view()}
            </ul>
        </section>
    }
}
