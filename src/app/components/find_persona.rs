//! Finding a persona that a list of them leaves out. The server renders it.

use leptos::prelude::*;

use crate::domain::visible::visible_in_prose;

/// A field for a name, below a list that has only the personas that changed last.
#[component]
pub fn FindPersona(
    /// The page it is on.
    action: String,
    /// What else its address says.
    kept: Vec<(&'static str, String)>,
    /// The name that was looked for.
    who: String,
    /// How many personas the list has.
    listed: usize,
    /// Whether there are more than it lists.
    more: bool,
) -> impl IntoView {
    let asked = !who.trim().is_empty();
    let told = match (asked, listed, more) {
        (true, 0, _) => visible_in_prose(format!("No persona has “{who}” in its name.")),
        (true, 1, false) => "1 persona has it in its name.".to_owned(),
        (true, count, false) => format!("{count} personas have it in their names."),
        (true, count, true) => format!("These are {count} of them. A longer name finds fewer."),
        (false, count, _) => format!("The {count} personas that changed last are listed."),
    };
    (asked || more).then(|| view! {
        <form method="get" action=action class="row tight small wraps" role="search" aria-label="Find a persona">
            {kept.into_iter().map(|(name, value)| view! { <input type="hidden" name=name value=value/> }).collect_view()}
            <label class="row tight">
                "Find a persona"
                <input type="search" name="who" autocomplete="off" placeholder="Name" value=who/>
            </label>
            <button class="button quiet small">"Search"</button>
            <span class="faint" role="status">{told}</span>
        </form>
    })
}
