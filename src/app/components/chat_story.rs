//! A message of a story: every paragraph of it can be put in other words. The server renders it.

use leptos::{prelude::*, server_fn::ServerFn};

use super::written::written;
use crate::{
    app::server_fns::chat_tree::{EditParagraph, Paragraph},
    domain::id::MessageId,
};

/// The paragraphs of a message.
#[component]
pub fn StoryWords(
    /// The message.
    id: MessageId,
    /// Its paragraphs.
    paragraphs: Vec<Paragraph>,
) -> impl IntoView {
    let one = |(number, paragraph): (usize, Paragraph)| {
        let label = format!("Edit paragraph {}", number + 1);
        let (element, field) = (format!("edit-{id}-{number}"), format!("paragraph-{id}-{number}"));
        let rows = (paragraph.text.chars().count() / 70 + 1).clamp(3, 16);
        view! {
            <div class="paragraph">
                <div class="prose" inner_html=paragraph.html></div>
                <details class="edit" id=element>
                    <summary class="icon tiny" aria-label=label.clone() title=label></summary>
                    <form method="post" action=EditParagraph::url() class="stack" data-quiet data-told="Kept beside the one before.">
                        <input type="hidden" name="id" value=id.to_string()/>
                        <input type="hidden" name="number" value=number.to_string()/>
                        <label class="sr" for=field.clone()>"This paragraph in other words"</label>
                        <textarea id=field name="content" class="grow" rows=rows inner_html=written(&paragraph.text)></textarea>
                        <div class="row tight">
                            <button class="button small">"Save this paragraph"</button>
                            <span class="faint small">"Without words, it is left out."</span>
                        </div>
                    </form>
                </details>
            </div>
        }
    };
    paragraphs.into_iter().enumerate().map(one).collect_view()
}
