//! The Space's news, for every part of the page that cares.

use leptos::prelude::*;

use crate::{app::platform, domain::news::News};

/// Passes news on to whoever listens. They are told one by one, so that none is missed.
#[derive(Clone, Copy)]
pub struct Live {
    listeners: StoredValue<Vec<(u32, Callback<News>)>>,
    next: StoredValue<u32>,
}

impl Live {
    /// Calls back for every piece of news, until the part of the page goes away.
    pub fn on(self, act: impl Fn(News) + Send + Sync + 'static) {
        let Self { listeners, next } = self;
        let number = next.get_value();
        next.set_value(number + 1);
        listeners.update_value(|all| all.push((number, Callback::new(act))));
        on_cleanup(move || {
            listeners.try_update_value(|all| all.retain(|(other, _)| *other != number));
        });
    }

    /// Begins to listen.
    pub fn start(self) {
        platform::hear_news(move |news| {
            for (_, listener) in self.listeners.try_get_value().unwrap_or_default() {
                listener.run(news.clone());
            }
        });
    }
}

/// Makes the news available to every page.
pub fn provide_live() {
    provide_context(Live { listeners: StoredValue::new(Vec::new()), next: StoredValue::new(0) });
}

/// The news.
pub fn use_live() -> Live {
    expect_context::<Live>()
}
