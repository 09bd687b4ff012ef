//! The workbench: a sidebar whose tabs change with what is open. Its tabs are links, so that what is
//! open stands in the address, and it works without the browser's program.

use leptos::prelude::*;

use super::icon::{Glyph, Icon};

/// A tab.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tab {
    /// What it is called.
    pub label: &'static str,
    /// Where it is.
    pub href: String,
    /// Whether it is the one that is open.
    pub is_current: bool,
}

impl Tab {
    /// The tabs of a page: each has a word in the address.
    pub fn row<const COUNT: usize>(
        tabs: [(&'static str, &'static str); COUNT],
        current: &str,
        href: impl Fn(&str) -> String,
    ) -> Vec<Self> {
        let tab = |(word, label): (&'static str, &'static str)| Self {
            label,
            href: href(word),
            is_current: word == current,
        };
        tabs.into_iter().map(tab).collect()
    }
}

/// The sidebar.
#[component]
pub fn Workbench(
    /// What it is about.
    #[prop(into)]
    title: String,
    /// Where one goes without it.
    home: String,
    /// What it offers.
    tabs: Vec<Tab>,
    /// What the open tab shows.
    children: Children,
) -> impl IntoView {
    view! {
        <aside class="workbench" id="workbench" aria-labelledby="workbench-title">
            <header class="row apart">
                <h2 id="workbench-title" class="one-line">{title}</h2>
                <a href=home class="icon" aria-label="Close the workbench" data-noscroll><Glyph icon=Icon::Close/></a>
            </header>
            <nav class="segments" aria-label="Workbench">
                {tabs.into_iter().map(|tab| view! {
                    <a href=tab.href aria-current=tab.is_current.then_some("page") data-noscroll>{tab.label}</a>
                }).collect_view()}
            </nav>
            <div class="workbench-body stack">{children()}</div>
        </aside>
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_of_tabs_marks_the_one_that_is_open() {
        let tabs = [("imagine", "Imagine"), ("advanced", "Advanced")];

        let row = Tab::row(tabs, "advanced", |word| format!("/gallery?{word}=1"));

        let seen: Vec<_> = row.iter().map(|tab| (tab.href.as_str(), tab.is_current)).collect();
        assert_eq!(seen, [("/gallery?imagine=1", false), ("/gallery?advanced=1", true)]);
    }
}
